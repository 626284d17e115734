package cue_test

import (
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
)

// FuzzCover checks that counting what is used changes neither the value of a
// program nor whether it fails, and that all points are in the program.
func FuzzCover(f *testing.F) {
	for _, seed := range []string{
		`a: *1 | int, b: {c: a, if a > 0 {d: "x"}}, e: [for x in [1, 2] if x > 1 {x}]`,
		`#D: {k: "a" | "b", o?: {p: 1}}, d: #D & {k: "a", o: {}}, _h: d.k, let L = _h, z: L`,
		`a: [string]: int, a: x: 1, b: (#F & {in: 2}).out, #F: {in: int, out: in * 2}`,
		`x: {"s" | "t"} & "s", y: [...(1 | 2)], y: [1, 2], z: "\(x)!", q: len(y) > 1 || false`,
		`if true {a: 1}, b: [if false {1}, 2][0], c: {#A, extra: 1}, #A: {...}, d: null | {e: 1}, d: {}`,
		`a: b, b: a & 1, c: or([1, 2]) & 2, e: >1 & <5 & (3 | 9), f: {g: f.h, h: 1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p := lang.Program{FS: fstest.MapFS{"main.cue": {Data: []byte(src)}}, Entry: "main.cue"}
		plain, err := cue.Evaluator{}.Eval(t.Context(), p)
		p.Cover = true
		covered, coveredErr := cue.Evaluator{}.Eval(t.Context(), p)
		if (err == nil) != (coveredErr == nil) {
			t.Fatalf("without coverage %v, with it %v", err, coveredErr)
		}
		if err != nil {
			return
		}
		if a, b := string(plain.Value.AppendJSON(nil)), string(covered.Value.AppendJSON(nil)); a != b {
			t.Errorf("without coverage %s, with it %s", a, b)
		}
		for _, c := range covered.Coverage {
			for _, point := range c.Points {
				if point.Line < 1 || point.Column < 1 || point.EndLine < point.Line || point.EndLine == point.Line && point.EndColumn < point.Column {
					t.Errorf("a point is nowhere: %+v", point)
				}
			}
		}
	})
}
