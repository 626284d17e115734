package git

import (
	"context"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/windows"
)

// ownGroup leaves cmd as it is: only git itself is killed here.
func ownGroup(*exec.Cmd) {}

// lock takes a file for this process; the system gives it back when that dies.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	for {
		err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if err != windows.ERROR_LOCK_VIOLATION {
			_ = f.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
