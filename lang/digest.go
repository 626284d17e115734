package lang

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// DigestReads is the digest of a read-set together with the inputs: equal for
// evaluations that saw the same files and parameters. Writ's version is not
// part of it.
func DigestReads(reads []Read, inputs map[string]string) string {
	var b strings.Builder
	for _, r := range reads {
		b.WriteString(strconv.Quote(r.File) + " " + r.SHA256 + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		b.WriteString(strconv.Quote(name) + "=" + strconv.Quote(inputs[name]) + "\n")
	}
	return Digest([]byte(b.String()))
}
