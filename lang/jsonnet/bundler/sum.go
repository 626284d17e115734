package bundler

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"

	"github.com/writ-dev/writ/lang"
)

// Bounds on the packages of a module together.
const (
	maxFiles = 200_000
	maxBytes = 4 << 30
)

// errNoFile says that a name leads to no file: there jb stops to count, and
// takes what it has for the sum.
var errNoFile = errors.New("not a file")

// sum is the sum of a package as jb computes it: the base64 of the SHA-256 of
// the content of all files, one after the other, in the order of their names,
// directory by directory. Neither names nor modes are part of it.
func (v *verifier) sum(dir string) (string, error) {
	h := sha256.New()
	if err := v.tree(dir, h); err != nil && !errors.Is(err, errNoFile) {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

func (v *verifier) tree(dir string, h hash.Hash) error {
	entries, err := fs.ReadDir(v.fs, dir)
	if err != nil {
		return err
	}
	v.list(dir)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			err = v.tree(name, h)
		} else {
			err = v.content(name, h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list notes that the names in a directory matter.
func (v *verifier) list(dir string) {
	r := lang.Read{File: dir + "/"}
	r.SHA256 = r.Again(v.fs, nil)
	v.read[r.File] = r
}

func (v *verifier) content(name string, h hash.Hash) error {
	if v.files++; v.files > maxFiles {
		return fmt.Errorf("there are more than %d files", maxFiles)
	}
	f, err := v.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile // a link that leads nowhere
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errNoFile // a link to a directory
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	own := sha256.New()
	n, err := io.Copy(io.MultiWriter(h, own), io.LimitReader(f, maxBytes))
	if err != nil {
		return err
	}
	if v.bytes += n; v.bytes >= maxBytes {
		return fmt.Errorf("there are more than %d MiB", maxBytes>>20)
	}
	v.read[name] = lang.Read{File: name, SHA256: hex.EncodeToString(own.Sum(nil))}
	return nil
}
