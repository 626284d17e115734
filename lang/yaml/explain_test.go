package yaml_test

import (
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/langtest"
	"github.com/writ-dev/writ/lang/yaml"
)

func TestExplain(t *testing.T) { langtest.Explain(t, yaml.Evaluator{}, "testdata/*.txtar") }

func FuzzExplain(f *testing.F) {
	for _, s := range []string{
		"a: &x {b: 1}\nc: {<<: *x, b: 2}\n---\n- *x", "a: &a [1]\nb: {<<: [{c: *a}, {c: 2}]}", "# c\n---\n---\na: 1\n...\nb: 2",
		"? a\n: b", "a: &x\n  <<: &y {b: 1}\n<<: [*x, *y]", "&a a: *a", "- &x 1\n- *x", "\xEF\xBB\xBFa: b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		langtest.CheckExplained(t, yaml.Evaluator{}, lang.Program{FS: fstest.MapFS{"a.yaml": {Data: []byte(source)}}, Entry: "a.yaml"})
	})
}
