package jsonnet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/writ-dev/writ/lang"
)

const libraryDir = lang.LibraryPrefix + "jsonnet"

// importer satisfies jsonnet.Importer over a Reader.
type importer struct {
	reader *lang.Reader
	// search is directories to look in, of which the last one counts most.
	search   []string
	contents map[string]content
	// same is the files of contents that the reader has seen to be the same.
	same map[string]bool
	// changed says that a file is not what it was for a program before.
	changed bool
	// meter answers the imports that it put into a program; nil without one.
	meter *meter
}

type content struct {
	data     []byte
	contents jsonnet.Contents
}

func newImporter() *importer { return &importer{contents: map[string]content{}} }

// begin makes ready for another program.
func (i *importer) begin(r *lang.Reader, search []string) {
	i.reader, i.search, i.same = r, search, map[string]bool{}
}

// Import finds what the file from calls name.
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	if i.meter != nil && from == meterFile {
		return i.meter.answer(name)
	}
	candidates := i.candidates(from, name)
	if len(candidates) == 0 {
		return jsonnet.Contents{}, "", fmt.Errorf("%s is outside of the module root", name)
	}
	for _, file := range candidates {
		if i.same[file] {
			return i.contents[file].contents, file, nil
		}
		data, err := i.reader.ReadFile(file)
		switch {
		case err == nil:
			c, err := i.content(file, data, !strings.HasSuffix(name, ".json"))
			return c, file, err
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, lang.ErrOutside):
			return jsonnet.Contents{}, "", fmt.Errorf("%s is outside of the module root", name)
		default:
			return jsonnet.Contents{}, "", err
		}
	}
	err := fmt.Errorf("cannot find %s; looked for %s", name, strings.Join(candidates, ", "))
	if i.notInstalled() {
		err = fmt.Errorf("%w; %s", err, noPackages)
	}
	return jsonnet.Contents{}, "", err
}

// noPackages says why an import may not be found.
const noPackages = "jsonnetfile.json asks for packages, and none is in vendor"

// notInstalled tells whether the module is one of jsonnet-bundler whose packages
// are not there.
func (i *importer) notInstalled() bool {
	if _, err := i.reader.ReadFile("jsonnetfile.json"); err != nil {
		return false
	}
	_, err := i.reader.ReadDir("vendor")
	return errors.Is(err, fs.ErrNotExist)
}

// content is what the evaluator gets of a file: the same each time, for it
// takes its word for what it has made of it.
func (i *importer) content(file string, data []byte, code bool) (jsonnet.Contents, error) {
	have, ok := i.contents[file]
	switch {
	case ok && !bytes.Equal(have.data, data):
		i.changed = true
		return jsonnet.Contents{}, fmt.Errorf("%s has changed", file)
	case !ok:
		if line := tooDeep(data); line > 0 && code {
			return jsonnet.Contents{}, fmt.Errorf("%s:%d:1 brackets or operators nest deeper than %d", file, line, maxNesting)
		}
		have = content{data, jsonnet.MakeContentsRaw(data)}
		i.contents[file] = have
	}
	i.same[file] = true
	return have.contents, nil
}

// candidates are the files that name may mean, in order.
func (i *importer) candidates(from, name string) []string {
	if path.IsAbs(name) {
		return nil
	}
	var files []string
	add := func(dir string) {
		if file := path.Join(dir, name); fs.ValidPath(file) {
			files = append(files, file)
		}
	}
	add(path.Dir(from))
	if !lang.IsLibrary(from) {
		for _, dir := range slices.Backward(i.search) {
			add(dir)
		}
		add("lib")
		add("vendor")
	}
	if file := path.Join(libraryDir, name); strings.HasPrefix(file, libraryDir+"/") {
		files = append(files, file)
	}
	// "../x" from a file at the root names nothing; that the library or a
	// vendor directory could make it name something would only confuse.
	if local := path.Join(path.Dir(from), name); !fs.ValidPath(local) || lang.IsLibrary(from) && !strings.HasPrefix(local, libraryDir+"/") {
		return nil
	}
	return files
}

// maxNesting bounds brackets inside brackets and operators before operators in
// a source file: go-jsonnet recurses over them without a limit of its own, and
// a Go stack that overflows cannot be recovered.
const maxNesting = 2000

// tooDeep returns the line on which a source nests too deep, or 0. It does not
// know strings from code; real programs stay far below the limit all the same.
func tooDeep(src []byte) int {
	depth, run, line := 0, 0, 1
	for _, c := range src {
		switch c {
		case ' ', '\t', '\r':
			continue
		case '\n':
			line++
			continue
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
			run = 0
		case '!', '-', '+', '~':
			run++
		default:
			run = 0
		}
		if max(depth, run) > maxNesting {
			return line
		}
	}
	return 0
}
