//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func lookupEnv(env []string, name string) string {
	for _, v := range env {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// lookPath finds a command as execvp does, in the container's own PATH. An
// empty element of PATH means the working directory.
func lookPath(name, path string) (string, error) {
	if name == "" {
		return "", errors.New("the command is empty")
	}
	if strings.Contains(name, "/") {
		return name, nil
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, name)
		if !strings.Contains(file, "/") {
			file = "./" + file
		}
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if err := unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS); err != nil {
			denied = fmt.Errorf("run %s: %s is not executable", name, file)
			continue
		}
		return file, nil
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("run %s: not found in the container's PATH (%s)", name, path)
}

// execError says in words why a command could not be run.
func execError(name string, err error) error {
	var why string
	switch {
	case errors.Is(err, unix.ENOENT):
		if _, statErr := os.Stat(name); statErr == nil {
			why = "it needs an interpreter or dynamic loader that the image does not have"
		} else {
			why = "no such file in the image"
		}
	case errors.Is(err, unix.EACCES):
		why = "it is not executable, or not for this user"
	case errors.Is(err, unix.ENOEXEC):
		why = "it is not a program for this machine"
	case errors.Is(err, unix.ENOTDIR):
		why = "its path leads through a file"
	default:
		return fmt.Errorf("run %s: %w", name, err)
	}
	return fmt.Errorf("run %s: %s", name, why)
}
