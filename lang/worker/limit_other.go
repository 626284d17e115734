//go:build !linux

package worker

// limitMemory leaves it to the watch: there is no dependable limit of the
// system to set.
func limitMemory(int64) error { return nil }
