//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// buildRoot makes the container's file system in the mount namespace that
// this process has to itself, and enters it. It works inside the new root,
// with the host visible below s.OldRoot until the end, so that links in the
// image lead nowhere but into the image.
func buildRoot(s *spec) error {
	// Nothing done here shows outside, nor the other way round.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate mounts: %w", err)
	}
	if err := mountOverlay(s); err != nil {
		return err
	}
	if err := pivot(s); err != nil {
		return err
	}
	old := "/" + s.OldRoot
	for _, step := range []func() error{
		mountProc,
		func() error { return mountDev(old) },
		func() error { return makeDir("/tmp", 0o1777) },
		func() error { return mountVolumes(old, s.Mounts) },
		hideProc,
		func() error { return makeDir(s.Dir, 0o755) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	if err := os.Remove(old); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	if s.ReadOnlyRoot {
		return readOnly("/", 0)
	}
	return nil
}

// mountOverlay puts the image's layers and a fresh writable one together.
func mountOverlay(s *spec) error {
	// Relative names keep the option short: the kernel takes one page.
	if err := os.Chdir(s.LayerDir); err != nil {
		return fmt.Errorf("find image layers: %w", err)
	}
	// userxattr works for root and others alike; volatile, because nobody
	// needs these files after a crash.
	data := "lowerdir=" + strings.Join(s.Layers, ":") +
		",upperdir=" + escape(s.Upper) + ",workdir=" + escape(s.Work) + ",userxattr,volatile"
	if len(data) >= os.Getpagesize() {
		return fmt.Errorf("mount image: its %d layers are too many to mount at once", len(s.Layers))
	}
	err := unix.Mount("overlay", s.Root, "overlay", unix.MS_NODEV, data)
	switch {
	case errors.Is(err, unix.ENODEV):
		return errors.New("mount image: this kernel has no overlay file system (try `sudo modprobe overlay`)")
	case errors.Is(err, unix.EPERM):
		return errors.New("mount image: this kernel does not let ordinary users mount overlay file systems (Linux 5.11 and later do); run as root")
	case err != nil:
		return fmt.Errorf("mount image: overlay below %s: %w (the directory must be on a file system that overlayfs can write to, not on another overlay or NFS)", filepath.Dir(s.Upper), err)
	}
	return nil
}

// escape protects the separators of overlayfs options.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace(dir)
}

func pivot(s *spec) error {
	if err := os.Chdir(s.Root); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := os.Mkdir(s.OldRoot, 0o700); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := unix.PivotRoot(".", s.OldRoot); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	return nil
}

func mountProc() error {
	if err := makeDir("/proc", 0o755); err != nil {
		return err
	}
	err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if errors.Is(err, unix.EPERM) {
		return errors.New("mount /proc: not permitted; if writ itself runs in a container, that container hides parts of /proc, which the kernel then does not let others see (docker: --security-opt systempaths=unconfined)")
	}
	if err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// mountDev makes a /dev of the few devices that every program may expect.
func mountDev(old string) error {
	if err := makeDir("/dev", 0o755); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := bind(path.Join(old, "dev", name), path.Join("/dev", name)); err != nil {
			return err
		}
	}
	for _, m := range []struct{ dir, kind, data string }{
		{"/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"},
		{"/dev/shm", "tmpfs", "mode=1777,size=64m"},
	} {
		if err := makeDir(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.dir, m.kind, flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	for _, l := range [][2]string{
		{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"},
	} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			return fmt.Errorf("make %s: %w", l[1], err)
		}
	}
	return nil
}

func mountVolumes(old string, mounts []runtime.Mount) error {
	for _, m := range mounts {
		if err := bind(old+m.Source, m.Target); err != nil {
			return err
		}
		if m.ReadOnly {
			if err := readOnly(m.Target, unix.AT_RECURSIVE); err != nil {
				return err
			}
		}
	}
	return nil
}

// bind shows source at target, which is made if it is not there.
func bind(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("mount at %s: %w", target, err)
	}
	if info.IsDir() {
		err = makeDir(target, 0o755)
	} else {
		err = makeFile(target)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount at %s: %w", target, err)
	}
	return nil
}

// readOnly forbids writing to a mount, whatever else it forbids already.
func readOnly(target string, flags uint) error {
	err := unix.MountSetattr(unix.AT_FDCWD, target, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("make %s read-only: needs Linux 5.12 or later", target)
	}
	if err != nil {
		return fmt.Errorf("make %s read-only: %w", target, err)
	}
	return nil
}

// hideProc takes away what /proc shows of the machine, and the switches in it.
func hideProc() error {
	for _, file := range []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/kallsyms"} {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := unix.Mount("/dev/null", file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hide %s: %w", file, err)
		}
	}
	for _, file := range []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"} {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := unix.Mount(file, file, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("protect %s: %w", file, err)
		}
		if err := readOnly(file, unix.AT_RECURSIVE); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes a directory and those above it; a new one gets mode.
func makeDir(dir string, mode uint32) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(path.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	// os.Mkdir has its own idea of the sticky bit.
	if err := unix.Mkdir(dir, mode); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	return nil
}

// makeFile makes an empty file to mount on. A link in its place is replaced:
// images link /etc/resolv.conf to where another system would keep it.
func makeFile(file string) error {
	info, err := os.Lstat(file)
	switch {
	case err == nil && info.Mode().IsRegular():
		return nil
	case err == nil && info.Mode()&fs.ModeSymlink != 0 && slices.Contains([]string{"/etc"}, path.Dir(file)):
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("make file: %w", err)
		}
	case err == nil:
		return nil
	}
	if err := os.MkdirAll(path.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	return f.Close()
}
