package langtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/lang"
)

// Explain has every part of the value of every archive that matches pattern
// explained: see CheckExplained.
func Explain(t *testing.T, e lang.Evaluator, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("find cases %s: %d files, %v", pattern, len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			CheckExplained(t, e, Program(a))
		})
	}
}

// CheckExplained has every part of a program's value explained. The value must
// be the same as without, and the first step that gives one must give that of
// the part.
func CheckExplained(t *testing.T, e lang.Evaluator, p lang.Program) {
	t.Helper()
	p.Tests, p.Cover, p.Explain, p.Expression = false, false, nil, ""
	plain, err := e.Eval(t.Context(), p)
	if err != nil {
		return // there is nothing to explain
	}
	for at := range plain.Value.All() {
		if p.Explain = append(p.Explain, at); len(p.Explain) == lang.MaxExplain {
			break
		}
	}
	r, err := e.Eval(t.Context(), p)
	if err != nil {
		t.Fatalf("with explanations: %v", err)
	}
	if d := cmp.Diff(string(plain.Value.AppendJSON(nil)), string(r.Value.AppendJSON(nil))); d != "" {
		t.Fatalf("the value with explanations (-without +with):\n%s", d)
	}
	if len(r.Explained) != len(p.Explain) {
		t.Fatalf("%d explanations of %d paths", len(r.Explained), len(p.Explain))
	}
	for i, x := range r.Explained {
		part, ok := plain.Value.At(p.Explain[i])
		if !ok || x.Path != p.Explain[i] {
			t.Fatalf("explanation %d is of %q, not %q", i, x.Path, p.Explain[i])
		}
		checkSteps(t, x, part)
	}
}

func checkSteps(t *testing.T, x lang.Explanation, part lang.Value) {
	t.Helper()
	depth := 0
	for _, s := range x.Steps {
		if s.Depth > depth || s.Kind == "" || s.Effect == "" {
			t.Errorf("%s: a step that does not follow: %+v", x.Path, s)
		}
		depth = s.Depth + 1
	}
	if part.Kind == lang.Object || part.Kind == lang.List {
		return // they are of several parts
	}
	want := string(part.AppendJSON(nil))
	for _, s := range x.Steps {
		if s.Effect == lang.Gives && len(s.Value) > 0 {
			if got := string(s.Value); got != want {
				t.Errorf("%s: the first step that gives a value gives %s, not %s\n%s", x.Path, got, want, explained([]lang.Explanation{x}))
			}
			return
		}
	}
	if x.Gap == "" {
		t.Errorf("%s: no step gives %s\n%s", x.Path, want, explained([]lang.Explanation{x}))
	}
}
