//go:build !linux

package cache

import (
	"io/fs"
	"time"
)

// identify says that size and time alone are not trusted here: the content
// decides.
func identify(fs.FileInfo, *mark) (time.Time, bool) { return time.Time{}, false }
