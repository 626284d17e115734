package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// runDir is the private directory of one `writ up`: its lock, its kubeconfig
// and, unless --data keeps them elsewhere, the state of server and agent.
type runDir struct {
	path string
	lock *os.File
}

// openRunDir makes and locks the directory for a project. A second `writ up`
// on the same project is refused for as long as the first one lives; what a
// killed one left is cleared.
func openRunDir(project string) (*runDir, error) {
	base, err := stateHome()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(project))
	path := filepath.Join(base, "up", filepath.Base(project)+"-"+hex.EncodeToString(sum[:4]))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the project: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s is already up (process %s); stop that one first, or use 'writ apply %s' to change it",
				project, lockHolder(lock), project)
		}
		return nil, fmt.Errorf("lock the project: %w", err)
	}
	if err := os.RemoveAll(path); err != nil {
		return nil, fmt.Errorf("clear what an earlier run left: %w", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the run directory: %w", err)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	return &runDir{path: path, lock: lock}, nil
}

func lockHolder(lock *os.File) string {
	b := make([]byte, 16)
	n, _ := lock.ReadAt(b, 0)
	if n == 0 {
		return "unknown"
	}
	return string(b[:n])
}

// close removes the directory and then gives the lock up.
func (d *runDir) close() error {
	err := os.RemoveAll(d.path)
	_ = os.Remove(d.path + ".lock")
	_ = d.lock.Close()
	return err
}

// kubeconfig is where the run's admin kubeconfig is found by other commands.
func (d *runDir) kubeconfig() string { return filepath.Join(d.path, kubeconfigName) }
