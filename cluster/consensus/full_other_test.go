//go:build !linux

package consensus_test

import "errors"

const fullVariable = "WRIT_TEST_FULL_DIR"

func fillDisk(string) error { return errors.ErrUnsupported }
