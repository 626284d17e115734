package lang

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ/lang/diag"
)

// LibraryPrefix starts the name of a file of Writ's own library wherever files
// are named: in positions and in the read-set. No file of a module can have
// such a name, because "@writ" is refused as a directory of one.
const LibraryPrefix = "@writ/"

// Bounds on what an evaluator reads.
const (
	MaxFileSize  = 8 << 20  // bytes of one file
	MaxTotalSize = 64 << 20 // bytes of all files of one evaluation
	MaxFiles     = 10_000   // files and directories of one evaluation
)

// Reader is how an evaluator sees a Program's files. It adds the library under
// LibraryPrefix, keeps every file in memory as first read, so that one
// evaluation sees one state, bounds what is read, and records it. It is safe
// for concurrent use.
type Reader struct {
	module, library fs.FS
	overlay         map[string][]byte
	listings        *Listings

	mu    sync.Mutex
	files map[string]file
	dirs  map[string]listing
	names map[string]names // by directory and "*" and extension
	total int
}

type file struct {
	data []byte
	err  error
}

type listing struct {
	entries []fs.DirEntry
	err     error
}

type names struct {
	names []string
	err   error
}

// NewReader makes a Reader of a program's files.
func NewReader(p Program) *Reader {
	return &Reader{
		module:  p.FS,
		library: p.Library,
		overlay: p.Overlay,
		files:   map[string]file{},
		dirs:    map[string]listing{},
		names:   map[string]names{},
	}
}

// Remember has r take from l what a directory holds, as long as nothing in it
// has changed, and add to it.
func (r *Reader) Remember(l *Listings) { r.listings = l }

// IsLibrary reports whether a file name is one of Writ's library.
func IsLibrary(name string) bool { return strings.HasPrefix(name, LibraryPrefix) }

// locate finds the file system that holds name and its name there.
func (r *Reader) locate(op, name string) (fs.FS, string, error) {
	if !fs.ValidPath(name) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: ErrOutside}
	}
	fsys := r.module
	if inner, ok := strings.CutPrefix(name, LibraryPrefix); ok {
		fsys, name = r.library, inner
	}
	if fsys == nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return fsys, name, nil
}

// ErrOutside says that a path leaves the module root.
var ErrOutside = errors.New("path is outside of the module root")

// OutsideHint is what to do about ErrOutside.
const OutsideHint = "copy it into the module, or have a jsonnetfile.json or cue.mod/module.cue in a directory above both, which is the module root then; links that leave the module are refused too"

// ReadFile returns the content of a file, which the caller must not change.
func (r *Reader) ReadFile(name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.files[name]; ok {
		return f.data, f.err
	}
	if err := r.full(name); err != nil {
		return nil, err
	}
	fsys, inner, err := r.locate("open", name)
	if err != nil {
		return nil, err
	}
	data, computed := r.overlay[name]
	if !computed {
		data, err = readBounded(fsys, inner)
	}
	if err == nil && r.total+len(data) > MaxTotalSize {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("the program's files are larger than %d MiB together", MaxTotalSize>>20)}
	}
	if err != nil {
		data = nil
	}
	r.total += len(data)
	r.files[name] = file{data, err}
	return data, err
}

func (r *Reader) full(name string) error {
	if len(r.files)+len(r.dirs)+len(r.names) < MaxFiles {
		return nil
	}
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("the program reads more than %d files", MaxFiles)}
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, outside(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// A pipe or a device would block or never end.
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFileSize {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("file is larger than %d MiB", MaxFileSize>>20)}
	}
	return data, nil
}

// outside names the error of os.Root for a path that leaves it, which has no
// exported value.
func outside(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes") {
		return &fs.PathError{Op: p.Op, Path: p.Path, Err: ErrOutside}
	}
	return err
}

// ReadDir lists a directory, sorted by name.
func (r *Reader) ReadDir(name string) ([]fs.DirEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, ok := r.dirs[name]; ok {
		return l.entries, l.err
	}
	if err := r.full(name); err != nil {
		return nil, err
	}
	fsys, inner, err := r.locate("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(fsys, inner)
	r.dirs[name] = listing{entries, outside(err)}
	return entries, outside(err)
}

// ReadNames lists the files in a directory whose names end in ext, such as
// ".cue", sorted. Nothing else in the directory can make a difference, so
// nothing else is recorded.
func (r *Reader) ReadNames(dir, ext string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := path.Join(dir, "*"+ext)
	if n, ok := r.names[key]; ok {
		return n.names, n.err
	}
	if err := r.full(dir); err != nil {
		return nil, err
	}
	fsys, inner, err := r.locate("readdir", dir)
	if err != nil {
		return nil, err
	}
	found, err := r.listings.read(fsys, inner, ext)
	r.names[key] = names{found, outside(err)}
	return found, outside(err)
}

// Stat describes a file or directory. It does not count as reading: whoever
// depends on the answer also reads or lists.
func (r *Reader) Stat(name string) (fs.FileInfo, error) {
	fsys, inner, err := r.locate("stat", name)
	if err != nil {
		return nil, err
	}
	if data, ok := r.overlay[name]; ok {
		return overlaid{path.Base(name), int64(len(data))}, nil
	}
	info, err := fs.Stat(fsys, inner)
	return info, outside(err)
}

// overlaid describes a file of a Program's Overlay.
type overlaid struct {
	name string
	size int64
}

func (o overlaid) Name() string     { return o.name }
func (o overlaid) Size() int64      { return o.size }
func (overlaid) Mode() fs.FileMode  { return 0o444 }
func (overlaid) ModTime() time.Time { return time.Time{} }
func (overlaid) IsDir() bool        { return false }
func (overlaid) Sys() any           { return nil }

// Reads is what was read so far, as Result.Reads demands.
func (r *Reader) Reads() []Read {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads := make([]Read, 0, len(r.files)+len(r.dirs)+len(r.names))
	for name, f := range r.files {
		read := Read{File: name}
		if f.err == nil {
			read.SHA256 = Digest(f.data)
		}
		reads = append(reads, read)
	}
	for name, l := range r.dirs {
		read := Read{File: name + "/"}
		if l.err == nil {
			read.SHA256 = digestListing(l.entries)
		}
		reads = append(reads, read)
	}
	for name, n := range r.names {
		read := Read{File: name}
		if n.err == nil {
			read.SHA256 = digestNames(n.names)
		}
		reads = append(reads, read)
	}
	slices.SortFunc(reads, func(a, b Read) int { return cmp.Compare(a.File, b.File) })
	return reads
}

// Digest is the lower-case hexadecimal SHA-256 of data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func digestNames(names []string) string { return Digest([]byte(strings.Join(names, "\n"))) }

// Again returns the digest that reading r anew has in module: what
// Read.SHA256 would be now.
func (r Read) Again(module, library fs.FS) string {
	reader := NewReader(Program{FS: module, Library: library})
	base := path.Base(r.File)
	switch ext, pattern := strings.CutPrefix(base, "*"); {
	case strings.HasSuffix(r.File, "/"):
		_, _ = reader.ReadDir(strings.TrimSuffix(r.File, "/"))
	case pattern:
		_, _ = reader.ReadNames(path.Dir(r.File), ext)
	default:
		_, _ = reader.ReadFile(r.File)
	}
	if again := reader.Reads(); len(again) == 1 {
		return again[0].SHA256
	}
	return ""
}

// digestListing is the digest of a directory: its names, those of directories
// with a "/", one a line.
func digestListing(entries []fs.DirEntry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name())
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return Digest([]byte(b.String()))
}

// Failure makes a diagnostic of an error from reading a file. At is where the
// file is asked for, if anywhere.
func Failure(at diag.Position, name string, err error) diag.List {
	d := diag.Diagnostic{Code: "LANG001", Pos: at}
	reason := err
	var p *fs.PathError
	if errors.As(err, &p) {
		reason = p.Err
	}
	d.Message = fmt.Sprintf("read %s: %v", name, reason)
	switch {
	case errors.Is(err, ErrOutside):
		d.Code = "LANG002"
		d.Message = fmt.Sprintf("%s is outside of the module root", name)
		d.Hint = OutsideHint
	case errors.Is(err, fs.ErrNotExist):
		d.Message = fmt.Sprintf("%s does not exist", name)
	}
	return diag.List{d}
}
