package lang

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// TestsField is the member of a test file that holds its tests.
const TestsField = "tests"

// SnapshotsSuffix is what the directory of a test file's snapshots ends in,
// after the file's name.
const SnapshotsSuffix = ".snapshots"

// IsTest reports whether a file, by its name, holds tests.
func IsTest(name string) bool {
	return strings.HasSuffix(name, "_test.cue") || strings.HasSuffix(name, "_test.jsonnet")
}

// Fault is a part of a test file that could not be evaluated. Path is where,
// below the tests; in the result's Value it is null.
type Fault struct {
	Path        string    `json:"path"`
	Diagnostics diag.List `json:"diagnostics"`
}

// vendored reports whether a file is a copy of somebody else's.
func vendored(name string) bool {
	parts := strings.Split(name, "/")
	return slices.Contains(parts[:len(parts)-1], "vendor") || slices.Contains(parts[:len(parts)-1], "cue.mod")
}

// NoTests is the diagnostic of a test file without tests. Others are the
// fields that it has instead.
func NoTests(file string, others []string) diag.List {
	d := diag.Diagnostic{
		Code: "LANG006", Pos: diag.Position{File: file}, Message: "the test file has no field " + TestsField,
		Hint: "write " + TestsField + `: {"what must hold": {got: ..., want: ...}}`,
	}
	for _, name := range others {
		if strings.EqualFold(strings.TrimRight(name, "s"), "test") {
			d.Hint = "rename the field " + name + " to " + TestsField
		}
	}
	return diag.List{d}
}
