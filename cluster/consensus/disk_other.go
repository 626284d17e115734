//go:build !unix

package consensus

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked")

// lockFile refuses: the guarantees of this package were made for unix systems.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("a server needs a unix system")
}

func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }

func syncDir(string) error { return errors.ErrUnsupported }
