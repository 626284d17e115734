package docs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// index is the file that lists the pages of a directory.
const index = "README.md"

// Files are what Write makes of pages: one file, when out ends in .md, and
// otherwise one for each page and a list of them, slash-separated below out.
func Files(pages []lang.Page, out string) map[string][]byte {
	if path.Ext(out) == ".md" {
		return map[string][]byte{path.Base(filepath.ToSlash(out)): append([]byte(Marker), Markdown(pages)...)}
	}
	files := map[string][]byte{}
	list := Marker + "# Contents\n\n"
	for _, p := range pages {
		name := fileName(p)
		for files[name] != nil || name == index {
			name = strings.TrimSuffix(name, ".md") + "_.md" // two packages in one directory
		}
		files[name] = append([]byte(Marker), Markdown([]lang.Page{p})...)
		title := p.Name
		if p.Import != "" {
			title = p.Import
		}
		list += fmt.Sprintf("- [%s](%s)", escape(title), strings.ReplaceAll(name, " ", "%20"))
		if s := firstSentence(p.Text); s != "" {
			list += ": " + escape(s)
		}
		list += "\n"
	}
	files[index] = []byte(list)
	return files
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	if s, _, ok := strings.Cut(text, ". "); ok {
		return s + "."
	}
	return text
}

// Outdated names what in out is not as Write would leave it, with the reason.
func Outdated(pages []lang.Page, out string) ([]string, error) {
	files, dir := Files(pages, out), directory(out)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found = append(found, filepath.Join(dir, name)+": is missing")
		case err != nil:
			return nil, fmt.Errorf("read documentation: %w", err)
		case !bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), files[name]):
			found = append(found, filepath.Join(dir, name)+": is not up to date")
		}
	}
	old, err := leftovers(files, out)
	for _, name := range old {
		found = append(found, filepath.Join(dir, name)+": is of sources that are gone")
	}
	return found, err
}

// Write writes the files and removes those that it wrote there before and that
// are of nothing any more. A file that it did not write is not replaced. It
// returns how many files there are, and how many of them are new or changed.
func Write(pages []lang.Page, out string) (total, changed int, err error) {
	files, dir := Files(pages, out), directory(out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if have, err := os.ReadFile(full); err == nil && !bytes.HasPrefix(have, []byte(strings.TrimSpace(Marker))) {
			return 0, 0, diag.List{{Message: full + " was not made by writ docs", Hint: "remove it, or write to another place"}}
		}
	}
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if have, err := os.ReadFile(full); err == nil && bytes.Equal(have, text) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return 0, 0, fmt.Errorf("make directory: %w", err)
		}
		if err := os.WriteFile(full, text, 0o644); err != nil {
			return 0, 0, fmt.Errorf("write documentation: %w", err)
		}
		changed++
	}
	old, err := leftovers(files, out)
	for _, name := range old {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return 0, 0, fmt.Errorf("remove documentation: %w", err)
		}
	}
	return len(files), changed, err
}

func directory(out string) string {
	if path.Ext(out) == ".md" {
		return filepath.Dir(out)
	}
	return out
}

// leftovers are files in a directory that Write made and would not make now.
func leftovers(files map[string][]byte, out string) ([]string, error) {
	if path.Ext(out) == ".md" {
		return nil, nil
	}
	var old []string
	err := fs.WalkDir(os.DirFS(out), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == ".":
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular() || path.Ext(name) != ".md" || files[name] != nil:
			return nil
		}
		data, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		if err == nil && bytes.HasPrefix(data, []byte(strings.TrimSpace(Marker))) {
			old = append(old, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for old documentation: %w", err)
	}
	return old, nil
}
