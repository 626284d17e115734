package nodeagent

import "golang.org/x/sys/unix"

func inspect() (machine, error) {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return machine{}, err
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return machine{}, err
	}
	return machine{
		memory: int64(s.Totalram) * int64(s.Unit),
		kernel: unix.ByteSliceToString(u.Release[:]),
	}, nil
}
