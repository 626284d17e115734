package seal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// CreateFile makes a key file with one new key. It replaces none.
func CreateFile(path string) (ID, error) {
	k := randomKey()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return ID{}, fmt.Errorf("make key file: %w", err)
	}
	_, err = f.Write(encodeKeys([]key{k}))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return ID{}, fmt.Errorf("make key file %s: %w", path, errors.Join(err, os.Remove(path)))
	}
	return k.id, syncDir(filepath.Dir(path))
}

// OpenOrCreateFile reads a key file, or makes it.
func OpenOrCreateFile(path string) (*Ring, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := CreateFile(path); err != nil {
			return nil, err
		}
	}
	return OpenFile(path)
}

// Rotate puts a new key in front of those of a file.
func Rotate(path string) (ID, error) {
	s, err := readFile(path)
	if err != nil {
		return ID{}, err
	}
	k := randomKey()
	return k.id, replace(path, append([]key{k}, s.keys...))
}

// Prune takes all keys but the first out of a file, and returns how many.
func Prune(path string) (int, error) {
	s, err := readFile(path)
	if err != nil || len(s.keys) == 1 {
		return 0, err
	}
	return len(s.keys) - 1, replace(path, s.keys[:1])
}

func randomKey() key {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails, see crypto/rand
	return newKey(secret)
}

// replace writes the file whole or not at all, and durably.
func replace(path string, keys []key) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write key file %s: %w", path, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	if _, err = f.Write(encodeKeys(keys)); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name durable; where directories cannot be synced the
// system does it by itself.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}

// checkMode refuses a key file that others can read.
func checkMode(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read key file: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return fmt.Errorf("key file %s: others can read it (mode %04o); run: chmod 600 %s", path, mode, path)
	}
	return nil
}
