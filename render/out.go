package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// Manifest is the name of the file in which WriteDir remembers what it wrote.
const Manifest = ".writ-render.json"

// clusterDir holds the documents of kinds that live in no namespace. No
// namespace can have that name.
const clusterDir = "_cluster"

// maxName bounds a file's name, in bytes; file systems end at 255.
const maxName = 200

// Written is what WriteDir did.
type Written struct {
	Files, Changed, Removed int
}

// WriteDir writes each document into a file of its own,
// NAMESPACE/KIND.GROUP-NAME.yaml below dir, and removes the files that it wrote
// there earlier and that are no longer rendered. Files that it did not write
// are left alone; where one is in the way, nothing is written. What does not
// change is not touched. Each file is complete or absent at any moment.
func WriteDir(dir string, docs []Document) (Written, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Written{}, fmt.Errorf("make directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Written{}, fmt.Errorf("open directory: %w", err)
	}
	defer root.Close()
	before, err := readManifest(root)
	if err != nil {
		return Written{}, err
	}
	want, names, err := contents(docs)
	if err != nil {
		return Written{}, err
	}
	if err := refuseStrangers(root, dir, names, before); err != nil {
		return Written{}, err
	}
	// The list comes first and is of both, so that an interrupted run loses no
	// file out of sight.
	if err := writeManifest(root, slices.Concat(before, names)); err != nil {
		return Written{}, err
	}
	w := Written{Files: len(names)}
	for _, name := range names {
		changed, err := writeFile(root, name, want[name])
		if err != nil {
			return w, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
		}
		if changed {
			w.Changed++
		}
	}
	for _, name := range before {
		if _, ok := want[name]; ok {
			continue
		}
		if err := root.Remove(filepath.FromSlash(name)); err == nil {
			w.Removed++
			_ = root.Remove(path.Dir(name)) // only when it is empty
		} else if !errors.Is(err, fs.ErrNotExist) {
			return w, fmt.Errorf("remove %s: %w", filepath.Join(dir, name), err)
		}
	}
	return w, writeManifest(root, names)
}

// contents is the text of every file.
func contents(docs []Document) (want map[string][]byte, names []string, err error) {
	want = map[string][]byte{}
	for _, d := range docs {
		name := FileName(d.Object.Key())
		if _, taken := want[name]; taken {
			return nil, nil, diag.List{{Code: "RENDER007", Pos: d.Origin.Pos, Object: d.Object.Key().String(), Message: "would be written to the same file as another document: " + name}}
		}
		var b bytes.Buffer
		WriteYAML(&b, d.Object.Tree())
		want[name] = b.Bytes()
		names = append(names, name)
	}
	slices.Sort(names)
	return want, names, nil
}

// FileName is the file, slash-separated, that WriteDir puts an object into. It
// depends on nothing else, differs for different objects also where file
// systems do not tell upper and lower case apart, and has no character that
// some file system refuses.
func FileName(k object.Key) string {
	dir := clusterDir
	if k.Namespace != "" {
		dir = portable(k.Namespace)
	}
	kind := strings.ToLower(k.Kind)
	if k.Group != "" {
		kind += "." + k.Group
	}
	return dir + "/" + portable(kind+"-"+k.Name) + ".yaml"
}

// portable writes all but lower-case letters, digits, '-' and inner dots as %xx.
func portable(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if name := b.String(); len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(s))
	return b.String()[:maxName-17] + "%" + hex.EncodeToString(sum[:8])
}

type manifest struct {
	Files []string `json:"files"`
}

// readManifest lists what an earlier run wrote, leaving out what it cannot
// have written.
func readManifest(root *os.Root) ([]string, error) {
	b, err := root.ReadFile(Manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", Manifest, err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w; remove it and the rendered files", Manifest, err)
	}
	return slices.DeleteFunc(m.Files, func(name string) bool {
		return !fs.ValidPath(name) || strings.Count(name, "/") != 1 || path.Ext(name) != ".yaml"
	}), nil
}

func writeManifest(root *os.Root, names []string) error {
	slices.Sort(names)
	b, err := json.MarshalIndent(manifest{Files: slices.Compact(names)}, "", " ")
	if err != nil {
		return err
	}
	if _, err := writeFile(root, Manifest, append(b, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", Manifest, err)
	}
	return nil
}

// refuseStrangers refuses to overwrite files that WriteDir did not write.
func refuseStrangers(root *os.Root, dir string, names, before []string) error {
	var problems diag.List
	for _, name := range names {
		if slices.Contains(before, name) {
			continue
		}
		if _, err := root.Lstat(filepath.FromSlash(name)); err == nil {
			problems = append(problems, diag.Diagnostic{
				Code: "RENDER007", Pos: diag.Position{File: path.Join(filepath.ToSlash(dir), name)},
				Message: "is in the way: it was not written by an earlier run",
				Hint:    "remove it, or write to another directory",
			})
		}
	}
	return problems.Err()
}

// writeFile makes a file's content data, and reports whether it was not
// already.
func writeFile(root *os.Root, name string, data []byte) (bool, error) {
	name = filepath.FromSlash(name)
	if have, err := root.ReadFile(name); err == nil && bytes.Equal(have, data) {
		return false, nil
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	temporary := name + ".new"
	if err := root.WriteFile(temporary, data, 0o644); err != nil {
		return false, err
	}
	return true, root.Rename(temporary, name)
}
