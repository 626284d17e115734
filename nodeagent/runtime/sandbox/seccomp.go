//go:build linux

package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that no container needs and that reach past it:
// into the kernel's own code, its keys, its mounts or other processes'
// memory. Most of them need a capability that is gone already; the filter is
// the second lock, and the only one on those that anybody may use.
var refused = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME,
	unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE,
	unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_KCMP,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_NFSSERVCTL,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIVOT_ROOT,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PTRACE, unix.SYS_QUOTACTL,
	unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME,
	unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG,
	unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

const (
	// newNamespaces are the flags of clone(2) that make namespaces.
	newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	// Offsets in struct seccomp_data (linux/seccomp.h); the low half of the
	// first argument comes first on the machines we run on.
	offNumber, offArch, offArg0 = 0, 4, 16
	// x32 marks calls of amd64's third, unused, interface.
	x32 = 0x40000000
)

// seccompProgram is the filter: refused calls fail as if not permitted, calls
// of another interface of the machine (32-bit) and clone3, whose flags a
// filter cannot see, as if the kernel did not have them; libraries then use
// clone.
func seccompProgram() ([]unix.SockFilter, error) {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("filter system calls: not known how on %s", runtime.GOARCH)
	}
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atMost = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		anyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		give   = unix.BPF_RET | unix.BPF_K

		allow  = unix.SECCOMP_RET_ALLOW
		noCall = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		noPerm = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	p := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: equal, Jt: 1, K: arch},
		{Code: give, K: noCall},
		{Code: load, K: offNumber},
		{Code: atMost, Jf: 1, K: x32},
		{Code: give, K: noCall},
		{Code: equal, Jf: 1, K: unix.SYS_CLONE3},
		{Code: give, K: noCall},
		{Code: equal, Jf: 4, K: unix.SYS_CLONE},
		{Code: load, K: offArg0},
		{Code: anyBit, Jf: 1, K: newNamespaces},
		{Code: give, K: noPerm},
		{Code: give, K: allow},
	}
	calls := slices.Sorted(slices.Values(refused))
	for _, call := range calls {
		p = append(p, unix.SockFilter{Code: equal, Jf: 1, K: call}, unix.SockFilter{Code: give, K: noPerm})
	}
	return append(p, unix.SockFilter{Code: give, K: allow}), nil
}

// installFilter puts the filter on this thread, for good.
func installFilter(p []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
