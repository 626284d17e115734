package worker

import "syscall"

// slack is what the kernel allows beyond the limit that the process watches
// itself: the stacks of threads and the unused rest of arenas count for the
// kernel, and normally the watch is to act first.
const slack = 512 << 20

// limitMemory makes the kernel refuse memory beyond the limit, for growth that
// is faster than the watch. RLIMIT_DATA counts what is writable, unlike
// RLIMIT_AS, which would count the address space that Go only reserves.
func limitMemory(limit int64) error {
	const rlimitData = 2
	var r syscall.Rlimit
	if err := syscall.Getrlimit(rlimitData, &r); err != nil {
		return err
	}
	if want := uint64(limit + slack); want < r.Cur {
		r.Cur = want
	}
	if r.Cur > r.Max {
		r.Cur = r.Max
	}
	return syscall.Setrlimit(rlimitData, &r)
}
