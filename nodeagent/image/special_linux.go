package image

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// makeWhiteout hides a name of the layers below, as overlayfs reads it: a
// character device 0/0, which needs no privilege.
func makeWhiteout(dir *os.File, name string) error {
	if err := removeAt(dir, name); err != nil {
		return err
	}
	if err := unix.Mknodat(int(dir.Fd()), name, unix.S_IFCHR, 0); err != nil {
		return fmt.Errorf("mark %s as deleted: %w", name, err)
	}
	return nil
}

// markOpaque hides everything the layers below have in a directory.
func markOpaque(dir *os.File) error {
	if err := unix.Fsetxattr(int(dir.Fd()), "user.overlay.opaque", []byte("y"), 0); err != nil {
		return fmt.Errorf("mark directory as replaced: the file system of the image store must support user extended attributes: %w", err)
	}
	return nil
}

func makeFifo(dir *os.File, name string) error {
	return unix.Mknodat(int(dir.Fd()), name, unix.S_IFIFO|0o600, 0)
}

// removeAt removes a file that an earlier entry of the same layer made.
func removeAt(dir *os.File, name string) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// keepsOwners tells whether files can be given to any user: for root outside
// a user namespace, whose map covers every ID.
func keepsOwners() bool {
	if os.Geteuid() != 0 {
		return false
	}
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(data))
	return len(fields) == 3 && fields[0] == "0" && fields[2] == "4294967295"
}
