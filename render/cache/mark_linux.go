package cache

import (
	"io/fs"
	"syscall"
	"time"
)

// identify adds which file it is, and when its status changed, which nobody can
// set.
func identify(info fs.FileInfo, m *mark) (status time.Time, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	m.Inode, m.Device, m.Status = st.Ino, uint64(st.Dev), st.Ctim.Nano()
	return time.Unix(0, m.Status), true
}
