//go:build unix

package image

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock takes the store for a change of its index; call the result to give it
// back. The kernel gives it back too when the process dies.
func (s *Store) lock() (unlock func(), err error) {
	s.mu.Lock()
	file, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("lock image store: %w", err)
	}
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		file.Close()
		s.mu.Unlock()
		return nil, fmt.Errorf("lock image store %s: %w", s.dir, err)
	}
	return func() {
		file.Close()
		s.mu.Unlock()
	}, nil
}
