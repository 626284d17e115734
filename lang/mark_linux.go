package lang

import (
	"io/fs"
	"syscall"
)

// identify adds which file it is, and when its status changed.
func (m *Mark) identify(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	m.Inode, m.Device, m.Status = st.Ino, uint64(st.Dev), st.Ctim.Nano()
	return true
}
