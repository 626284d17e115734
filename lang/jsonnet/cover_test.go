package jsonnet_test

import (
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/jsonnet"
)

// FuzzCover checks that counting what is used changes neither the value of a
// program nor whether it fails, and that all points are in the program.
func FuzzCover(f *testing.F) {
	for _, seed := range []string{
		"{ a: if true then 1, b:: self.a, c+: { d: super.d } } + { c: { d: 1 } }",
		"local f(x, y=x) = [i for i in [x, y] if i > 0 && i < 9]; { [k]: f(1) for k in ['a'] }",
		"assert 1 > 0 || error 'x'; { assert self.a == 1, a: 1, m(x): x }.m(2)",
		"local o = { a: $.b, b: 2 }; o { b+: 1 } + (if o.b == 2 then {} else null)",
		"std.foldl(function(a, b) a + b, [1, 2], 0) + ({ x: 1 }['x']) + [1, 2, 3][1:2][0]",
		"local a = { local b = 1, c: b }, d = a.c; (function(x) x)(d) tailstrict",
		"{ f: { ['x' + i]: i, for i in [1, 2] if i in [1] } }", "'x' in { x: 1 } && !false", "[[x, y] for x in [1] for y in [x] if y == 1]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p := lang.Program{FS: fstest.MapFS{"main.jsonnet": {Data: []byte(src)}}, Entry: "main.jsonnet"}
		plain, err := jsonnet.Evaluator{}.Eval(t.Context(), p)
		p.Cover = true
		covered, coveredErr := jsonnet.Evaluator{}.Eval(t.Context(), p)
		if (err == nil) != (coveredErr == nil) {
			t.Fatalf("without coverage %v, with it %v", err, coveredErr)
		}
		if err != nil {
			if a, b := diag.From(err)[0].Message, diag.From(coveredErr)[0].Message; a != b {
				t.Errorf("without coverage %q, with it %q", a, b)
			}
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
