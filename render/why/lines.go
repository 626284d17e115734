package why

import (
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/stdlib"
)

// maxLine bounds a line of source that is shown, in bytes.
const maxLine = 200

// lines reads lines of source files, each file once.
type lines struct {
	module, library fs.FS
	mu              sync.Mutex
	files           map[string][]string // guarded by mu
}

func newLines(module fs.FS) *lines {
	return &lines{module: module, library: stdlib.FS(), files: map[string][]string{}}
}

// at is the line that a position is in; empty when it cannot be read.
func (l *lines) at(p diag.Position) string {
	if !p.IsValid() || p.Line < 1 {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	file, ok := l.files[p.File]
	if !ok {
		file = l.read(p.File)
		l.files[p.File] = file
	}
	if p.Line > len(file) {
		return ""
	}
	line := strings.TrimRight(file[p.Line-1], "\r \t")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

func (l *lines) read(name string) []string {
	fsys := l.module
	if inner, ok := strings.CutPrefix(name, lang.LibraryPrefix); ok {
		fsys, name = l.library, inner
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, lang.MaxFileSize))
	if err != nil {
		return nil
	}
	return strings.Split(string(b), "\n")
}
