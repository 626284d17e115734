package image

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
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
	err = windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{})
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
