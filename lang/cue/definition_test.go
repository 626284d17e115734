package cue_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
	"github.com/writ-dev/writ/lang/diag"
)

func TestDefinitions(t *testing.T) {
	fsys := fstest.MapFS{
		"p/a.cue":   {Data: []byte("package p\n\nx: 1\n#A: {a: 1} @policy(severity=warning, hint=\"do this, then that\")\n#B: {\n\t@policy(kind=Deployment)\n\t...\n}\n#C: string\n_#D: 1\n")},
		"p/bad.cue": {Data: []byte("package p\n\n#A: {\n")},
	}
	pkg, list, err := cue.Definitions(fsys, "p/a.cue")
	if err != nil || pkg != "p" {
		t.Fatalf("package %q, %v", pkg, err)
	}
	want := []cue.Definition{
		{Name: "#A", Pos: diag.Position{File: "p/a.cue", Line: 4, Column: 1}, Attributes: map[string]string{"severity": "warning", "hint": "do this, then that"}},
		{Name: "#B", Pos: diag.Position{File: "p/a.cue", Line: 5, Column: 1}, Attributes: map[string]string{"kind": "Deployment"}},
		{Name: "#C", Pos: diag.Position{File: "p/a.cue", Line: 9, Column: 1}},
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Errorf("definitions (-want +got):\n%s", d)
	}
	_, _, err = cue.Definitions(fsys, "p/bad.cue")
	if l := diag.From(err); len(l) == 0 || l[0].Pos.File != "p/bad.cue" || l[0].Pos.Line < 3 {
		t.Errorf("got %v, want an error in bad.cue", err)
	}
	if _, _, err = cue.Definitions(fsys, "p/none.cue"); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// TestOverlay evaluates a computed file of tests in a package on disk.
func TestOverlay(t *testing.T) {
	r, err := cue.Evaluator{}.Eval(t.Context(), lang.Program{
		FS:      fstest.MapFS{"p/a.cue": {Data: []byte("package p\n\n#A: {n: >1, ...}\n")}},
		Entry:   "p/computed_test.cue",
		Overlay: map[string][]byte{"p/computed_test.cue": []byte("package p\n\ntests: {\n\tt0: #A & {n: 2}\n\tt1: #A & {n: 1}\n}\n")},
		Tests:   true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Faults) != 1 || !strings.HasPrefix(r.Faults[0].Path, ".t1") {
		t.Fatalf("faults are %+v, want one of .t1", r.Faults)
	}
	if d := r.Faults[0].Diagnostics[0]; d.Path != ".tests.t1.n" || !strings.Contains(d.Message, "out of bound") {
		t.Errorf("got %+v", d)
	}
}
