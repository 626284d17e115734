//go:build !linux

package image

import (
	"errors"
	"os"
)

// Layers are unpacked for overlayfs, which only Linux has.
var errLinuxOnly = errors.New("unpacking this image needs Linux")

func makeWhiteout(*os.File, string) error { return errLinuxOnly }

func markOpaque(*os.File) error { return errLinuxOnly }

func makeFifo(*os.File, string) error { return errLinuxOnly }

func keepsOwners() bool { return false }
