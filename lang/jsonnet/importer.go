package jsonnet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/writ-dev/writ/lang"
)

const libraryDir = lang.LibraryPrefix + "jsonnet"

// importer satisfies jsonnet.Importer over a Reader.
type importer struct {
	reader   *lang.Reader
	contents map[string]jsonnet.Contents
	// meter answers the imports that it put into a program; nil without one.
	meter *meter
}

func newImporter(r *lang.Reader) *importer {
	return &importer{reader: r, contents: map[string]jsonnet.Contents{}}
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
		if c, ok := i.contents[file]; ok {
			return c, file, nil
		}
		data, err := i.reader.ReadFile(file)
		switch {
		case err == nil:
			if line := tooDeep(data); line > 0 && !strings.HasSuffix(name, ".json") {
				return jsonnet.Contents{}, "", fmt.Errorf("%s:%d:1 brackets or operators nest deeper than %d", file, line, maxNesting)
			}
			c := jsonnet.MakeContentsRaw(data)
			i.contents[file] = c
			return c, file, nil
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, lang.ErrOutside):
			return jsonnet.Contents{}, "", fmt.Errorf("%s is outside of the module root", name)
		default:
			return jsonnet.Contents{}, "", err
		}
	}
	return jsonnet.Contents{}, "", fmt.Errorf("cannot find %s; looked for %s", name, strings.Join(candidates, ", "))
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
		add("vendor")
		add("lib")
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
