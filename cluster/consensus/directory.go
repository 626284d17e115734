package consensus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/cluster/store"
)

// dirFormat is the version of everything in a data directory: the log, its
// entries and the snapshots.
const dirFormat = 1

// directory is an open data directory:
//
//	lock       held while open
//	version    "writ data N", N being dirFormat; written first
//	member     this server's identity, made once
//	sealed     the key that everything is sealed with, if any
//	wal/       the log
//	snapshots/ the snapshots
type directory struct {
	path   string
	member string
	lock   *os.File
}

func openDirectory(path string) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	if err := makeDir(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(path, "lock"))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("open data directory %s: it is in use by another server; stop that one or choose another directory", path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", path, err)
	}
	d := &directory{path: path, lock: lock}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// load reads the version and the member, or makes them in a new directory.
func (d *directory) load() error {
	version, err := os.ReadFile(d.file("version"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(d.file("wal")); err == nil {
			return fmt.Errorf("open data directory %s: it holds a log but no version file; restore the file from a backup", d.path)
		}
		if err := d.write("version", fmt.Sprintf("writ data %d\n", dirFormat)); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("open data directory: %w", err)
	default:
		if err := d.checkVersion(string(version)); err != nil {
			return err
		}
	}
	member, err := os.ReadFile(d.file("member"))
	switch {
	case err == nil && len(member) > 0:
		d.member = strings.TrimSpace(string(member))
		return nil
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read member identity in %s: %w", d.path, cmpError(err))
	}
	if _, err := os.Stat(d.file("wal")); err == nil {
		return fmt.Errorf("open data directory %s: it holds a log but no member file; restore the file from a backup", d.path)
	}
	d.member = rand.Text()
	return d.write("member", d.member+"\n")
}

func cmpError(err error) error {
	if err == nil {
		return errors.New("the file is empty")
	}
	return err
}

func (d *directory) checkVersion(text string) error {
	number, ok := strings.CutPrefix(strings.TrimSpace(text), "writ data ")
	got, err := strconv.Atoi(number)
	if !ok || err != nil {
		return fmt.Errorf("open data directory %s: the version file says %q: this is no data directory of writ", d.path, strings.TrimSpace(text))
	}
	if got != dirFormat {
		return fmt.Errorf("open data directory %s: %w: it has data version %d, this writ reads version %d; run the writ that wrote it, or choose another directory", d.path, store.ErrUnknownFormat, got, dirFormat)
	}
	return nil
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

// write makes a small file that is complete or absent after a power cut.
func (d *directory) write(name, content string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", d.file(name), err)
		}
	}()
	temporary := d.file(name + ".new")
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, d.file(name)); err != nil {
		return err
	}
	return syncDir(d.path)
}

// Close releases the lock.
func (d *directory) Close() error { return d.lock.Close() }

// checkFree refuses when less than reserve bytes are free.
func (d *directory) checkFree(reserve uint64) error {
	free, err := freeSpace(d.path)
	if err != nil {
		return fmt.Errorf("measure free space of %s: %w", d.path, err)
	}
	if free < reserve {
		return fmt.Errorf("%w: the disk of %s has %d MiB free and must keep %d MiB; make room", store.ErrNoSpace, d.path, free>>20, reserve>>20)
	}
	return nil
}

// describeFree is a note for the error of a failed write.
func (d *directory) describeFree() string {
	free, err := freeSpace(d.path)
	if err != nil {
		return "free space unknown"
	}
	return fmt.Sprintf("%d KiB free", free>>10)
}

// makeDir makes path and its parents, each durable in its own parent.
func makeDir(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory: %w", err)
	}
	return syncDir(parent)
}
