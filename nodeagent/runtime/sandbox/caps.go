//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// kept are the capabilities of root in a container: those that concern its
// own files, users and ports. Docker's NET_RAW is left out because raw packets
// could carry another pod's address, MKNOD because no device cgroup guards
// the host's disks, SYS_CHROOT, SETFCAP and AUDIT_WRITE for want of a need.
var kept = []int{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL,
	unix.CAP_NET_BIND_SERVICE, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP,
}

// dropBounding takes all but kept out of the bounding set for good.
func dropBounding() error {
	// 63 is the highest number that the interface has room for.
	for c := range 64 {
		if slices.Contains(kept, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // The kernel knows no more.
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}

// keepCapabilities sets the thread's own sets. Whoever is not root has none.
func keepCapabilities(uid int) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	var mask uint64
	if uid == 0 {
		for _, c := range kept {
			mask |= 1 << c
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{
		{Effective: uint32(mask), Permitted: uint32(mask)},
		{Effective: uint32(mask >> 32), Permitted: uint32(mask >> 32)},
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("set capabilities: %w", err)
	}
	return nil
}
