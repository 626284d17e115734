package test_test

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/render/test"
)

// BenchmarkThousandFacts runs a thousand facts of a Jsonnet file, a thousand of
// a CUE file and a thousand renderings, in this process.
func BenchmarkThousandFacts(b *testing.B) {
	for _, c := range []struct {
		name, file string
		cover      bool
	}{
		{"jsonnet", "lib_test.jsonnet", false}, {"jsonnet/cover", "lib_test.jsonnet", true},
		{"cue", "app_test.cue", false}, {"cue/cover", "app_test.cue", true},
		{"renderings", "doc_test.jsonnet", false}, {"renderings/cover", "doc_test.jsonnet", true},
	} {
		b.Run(c.name, func(b *testing.B) {
			files := thousand()
			if strings.HasPrefix(c.name, "renderings") {
				delete(files, "app.cue") // the program is the Jsonnet one
			}
			dir := tree(b, files)
			for b.Loop() {
				report, err := test.Run(b.Context(), test.Options{Path: dir + "/" + c.file, Cover: c.cover})
				if err != nil || report.Passed != 1000 {
					b.Fatalf("%v, %+v", err, report)
				}
			}
		})
	}
}
