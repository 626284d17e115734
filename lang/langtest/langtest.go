// Package langtest runs the cases of the front ends: txtar archives that hold
// a program, its inputs, and what must come of it.
//
// The comment of an archive says "entry: NAME" (else ".") and "input: K=V",
// one a line; "jpath: DIR", "modcache: DIR" and "code: K=EXPR" are settings;
// "evaluate: tests" asks for the tests of the entry, "evaluate:
// cover" for coverage, "explain: PATH" for how a value came to be, "expression:
// TEXT" for the value of an expression; other lines tell what the case is
// about. Files below lib/ are the library
// and files below want/ the outcome: want/json is the value, want/errors what a
// user is shown, want/positions the position of every value and key, want/reads
// the names of the files read, want/faults the tests that cannot be evaluated,
// want/coverage every point and whether it was used, want/explained the steps of
// each explanation, want/shape what data does not tell of a value. All but one of
// json and errors may be missing.
//
// WRIT_UPDATE=1 writes what came out into the archives; a new want/ file is
// added empty first.
package langtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Run runs every archive that matches pattern against e. Each program is
// evaluated twice, and both must agree.
func Run(t *testing.T, e lang.Evaluator, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("find cases %s: %d files, %v", pattern, len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) { runCase(t, e, file) })
	}
}

// Program is the program of an archive.
func Program(a *txtar.Archive) lang.Program {
	module, library := fstest.MapFS{}, fstest.MapFS{}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "lib/"); ok {
			library[name] = &fstest.MapFile{Data: f.Data}
		} else if !strings.HasPrefix(f.Name, "want/") {
			module[f.Name] = &fstest.MapFile{Data: f.Data, Mode: fs.ModePerm}
		}
	}
	p := lang.Program{FS: module, Library: library, Entry: ".", Inputs: map[string]string{}}
	for line := range strings.Lines(string(a.Comment)) {
		line = strings.TrimSpace(line)
		if entry, ok := strings.CutPrefix(line, "entry: "); ok {
			p.Entry = entry
		}
		if what, ok := strings.CutPrefix(line, "evaluate: "); ok {
			p.Tests, p.Cover = p.Tests || what == "tests", p.Cover || what == "cover"
		}
		if at, ok := strings.CutPrefix(line, "explain: "); ok {
			p.Explain = append(p.Explain, at)
		}
		if text, ok := strings.CutPrefix(line, "expression: "); ok {
			p.Expression = text
		}
		if dir, ok := strings.CutPrefix(line, "modcache: "); ok {
			p.Settings.Modules = dir
		}
		if dir, ok := strings.CutPrefix(line, "jpath: "); ok {
			p.Settings.Search = append(p.Settings.Search, dir)
		}
		if input, ok := strings.CutPrefix(line, "code: "); ok {
			k, v, _ := strings.Cut(input, "=")
			p.Inputs[k] = v
			p.Settings.Code = append(p.Settings.Code, k)
		}
		if input, ok := strings.CutPrefix(line, "input: "); ok {
			k, v, _ := strings.Cut(input, "=")
			p.Inputs[k] = v
		}
	}
	return p
}

func runCase(t *testing.T, e lang.Evaluator, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := Program(a)
	got := outcome(t, e, p)
	if d := cmp.Diff(got, outcome(t, e, p)); d != "" {
		t.Fatalf("two evaluations differ:\n%s", d)
	}
	sameWhenCovered(t, e, p, got)
	update, decided := os.Getenv("WRIT_UPDATE") != "", false
	for i, f := range a.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			continue
		}
		decided = decided || f.Name == "want/json" || f.Name == "want/errors"
		if _, ok := got[f.Name]; !ok {
			t.Errorf("there is no %s; the outcome is\n%s%s", f.Name, got["want/errors"], got["want/json"])
			continue
		}
		if update {
			a.Files[i].Data = []byte(got[f.Name])
		} else if d := cmp.Diff(string(f.Data), got[f.Name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, d)
		}
	}
	if !decided {
		t.Errorf("%s has neither want/json nor want/errors", file)
	}
	if update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sameWhenCovered checks that counting what is used does not change the result,
// but for positions: those of what refers and of what is referred to.
func sameWhenCovered(t *testing.T, e lang.Evaluator, p lang.Program, want map[string]string) {
	t.Helper()
	p.Cover = !p.Cover
	got := outcome(t, e, p)
	for _, name := range []string{"want/json", "want/errors", "want/reads"} {
		if d := cmp.Diff(want[name], got[name]); d != "" {
			t.Errorf("with cover %t, %s differs:\n%s", p.Cover, name, d)
		}
	}
}

// outcome is everything that a case may want.
func outcome(t *testing.T, e lang.Evaluator, p lang.Program) map[string]string {
	t.Helper()
	result, err := e.Eval(t.Context(), p)
	if err != nil {
		for _, d := range diag.From(err) {
			if d.Code == "" || d.Message == "" {
				t.Errorf("a diagnostic without code or message: %+v", d)
			}
		}
		var shown bytes.Buffer
		diag.Print(&shown, err)
		all := map[string]string{"want/errors": shown.String()}
		if p.Cover && result != nil {
			all["want/coverage"] = coverage(result.Coverage)
		}
		return all
	}
	compact := result.Value.AppendJSON(nil)
	var pretty, positions, reads bytes.Buffer
	if err := json.Indent(&pretty, compact, "", "  "); err != nil {
		t.Fatalf("the value is not JSON: %v", err)
	}
	pretty.WriteByte('\n')
	for path, v := range result.Value.All() {
		fmt.Fprintf(&positions, "%s %s\n", orDot(path), v.Pos)
		for _, f := range v.Fields {
			fmt.Fprintf(&positions, "%s key %s\n", lang.JoinField(path, f.Name), f.Pos)
		}
	}
	for _, r := range result.Reads {
		mark := ""
		if r.SHA256 == "" {
			mark = " absent"
		}
		fmt.Fprintf(&reads, "%s%s\n", r.File, mark)
	}
	return map[string]string{
		"want/json": pretty.String(), "want/positions": positions.String(), "want/reads": reads.String(),
		"want/faults": faults(result.Faults), "want/coverage": coverage(result.Coverage),
		"want/explained": explained(result.Explained), "want/shape": result.Shape.Type + "\n" + result.Shape.Source + "\n",
	}
}

func explained(all []lang.Explanation) string {
	var b bytes.Buffer
	for _, e := range all {
		fmt.Fprintln(&b, e.Path)
		for _, s := range e.Steps {
			line := fmt.Sprintf("%s%s %s %s", strings.Repeat("  ", s.Depth+1), s.Pos, s.Kind, s.Effect)
			for _, part := range []string{s.Name, string(s.Value), s.Text, s.Note} {
				if part != "" {
					line += " | " + part
				}
			}
			fmt.Fprintln(&b, line)
		}
		if e.Gap != "" {
			fmt.Fprintln(&b, "  gap:", e.Gap)
		}
	}
	return b.String()
}

func faults(faults []lang.Fault) string {
	var b bytes.Buffer
	for _, f := range faults {
		fmt.Fprintln(&b, f.Path)
		diag.Print(&b, f.Diagnostics)
	}
	return b.String()
}

func coverage(c lang.Coverage) string {
	var b bytes.Buffer
	for _, f := range c {
		for _, p := range f.Points {
			used := "unused"
			if p.Hit {
				used = "used"
			}
			fmt.Fprintf(&b, "%s:%d:%d-%d:%d %s %s\n", f.File, p.Line, p.Column, p.EndLine, p.EndColumn, p.Kind, used)
		}
	}
	return b.String()
}

func orDot(path string) string {
	if path == "" {
		return "."
	}
	return path
}
