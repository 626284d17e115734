package jsonnet_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/jsonnet"
	"github.com/writ-dev/writ/lang/langtest"
)

func TestExplain(t *testing.T) { langtest.Explain(t, jsonnet.Evaluator{}, "testdata/*.txtar") }

// TestExplainLibrary has what the standard library makes explained, all of it.
func TestExplainLibrary(t *testing.T) {
	files, err := filepath.Glob("../../stdlib/testdata/*/app.jsonnet")
	if err != nil || len(files) == 0 {
		t.Fatalf("find programs: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			p := lang.Program{
				FS: fstest.MapFS{"app.jsonnet": {Data: data}}, Entry: "app.jsonnet", Library: os.DirFS("../../stdlib"),
				Offers: map[string]string{"image_web": "web:1"},
			}
			langtest.CheckExplained(t, jsonnet.Evaluator{}, p)
			wantNoGap(t, p)
		})
	}
}

// wantNoGap demands that all of a program is followed to its end.
func wantNoGap(t *testing.T, p lang.Program) {
	t.Helper()
	r, err := jsonnet.Evaluator{}.Eval(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for at, v := range r.Value.All() {
		if len(v.Items)+len(v.Fields) == 0 {
			p.Explain = append(p.Explain, at)
		}
	}
	p.Explain = p.Explain[:min(len(p.Explain), lang.MaxExplain)]
	if r, err = (jsonnet.Evaluator{}).Eval(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Explained {
		if x.Gap != "" {
			t.Errorf("%s: %s", x.Path, x.Gap)
		}
	}
}

// TestExplainStd has go-jsonnet's own functions explained: each entry is a
// program that the tracer must follow without a gap.
func TestExplainStd(t *testing.T) {
	for _, program := range []string{
		`std.join("-", ["a", "b"])`, `std.join([0], [[1], [2]])`, `"%s-%03d" % ["a", 7]`, `"%(x)s" % {x: 1}`,
		`std.map(function(x) x + 1, [1, 2])`, `std.mapWithIndex(function(i, x) i + x, [1])`, `std.mapWithKey(function(k, v) k + v, {a: "b"})`,
		`std.filter(function(x) x > 1, [1, 2])`, `std.foldl(function(a, b) a + b, [1, 2], 0)`, `std.foldr(function(a, b) a + b, ["x", "y"], "")`,
		`std.mergePatch({a: 1, b: {c: 2}}, {a: null, b: {d: 3}})`, `std.prune({a: null, b: [null, 1], c: {}})`,
		`std.sort([3, 1, 2])`, `std.sort([{a: 2}, {a: 1}], keyF=function(x) x.a)`, `std.uniq([1, 1, 2])`, `std.set(["b", "a", "b"])`,
		`std.setUnion(["a"], ["b"])`, `std.setDiff(["a", "b"], ["b"])`, `std.setInter(["a", "b"], ["b"])`, `std.setMember("a", ["a"])`,
		`std.split("a/b", "/")`, `std.splitLimit("a/b/c", "/", 1)`, `std.strReplace("abc", "b", "x")`, `std.asciiUpper("abc")`,
		`std.stringChars("äb")`, `std.substr("äbc", 1, 1)`, `std.startsWith("abc", "a")`, `std.lstripChars("  a", " ")`, `std.trim(" a ")`,
		`std.manifestJsonMinified({a: [1, "x"]})`, `std.manifestYamlDoc({a: {b: [1]}})`, `std.manifestJsonEx({a: 1}, "  ")`, `std.manifestIni({main: {a: 1}, sections: {}})`,
		`std.toString({a: [1.5, null]})`, `"" + 1.5`, `std.parseJson('{"a": [1]}').a[0]`, `std.parseYaml("a: 1").a`, `std.parseInt("12")`,
		`std.base64("x")`, `std.md5("x")`, `std.sha256("x")`, `std.encodeUTF8("ä")`, `std.length({a: 1, b:: 2})`,
		`std.objectFields({b: 1, a:: 2})`, `std.objectFieldsAll({b: 1, a:: 2})`, `std.objectValues({b: 1})`, `std.objectHas({a:: 1}, "a")`, `"a" in {a:: 1}`,
		`std.get({a: 1}, "a", 2)`, `std.get({a: 1}, "b", 2)`, `std.objectKeysValues({a: 1})`, `std.objectRemoveKey({a: 1, b: 2}, "a")`,
		`std.range(1, 3)`, `std.makeArray(2, function(i) i * 2)`, `std.reverse([1, 2])`, `std.flattenArrays([[1], [2]])`, `std.flattenDeepArray([1, [2]])`,
		`std.repeat("a", 3)`, `std.slice([1, 2, 3], 1, 3, 1)`, `[1, 2, 3][1:]`, `"abc"[1:2]`, `"abc"[1]`, `std.count([1, 1], 1)`, `std.find(1, [1])`,
		`std.member([1], 1)`, `std.member("abc", "b")`, `std.contains([1], 1)`, `std.remove([1, 2], 1)`, `std.removeAt([1, 2], 0)`,
		`std.minArray([2, 1])`, `std.maxArray([2, 1])`, `std.max(1, 2)`, `std.clamp(5, 1, 3)`, `std.sum([1, 2])`, `std.avg([1, 3])`, `std.abs(-1)`, `std.sign(-2)`,
		`std.pow(2, 3)`, `7 % 3`, `std.floor(1.5)`, `std.round(1.5)`, `1 << 3`, `~1`, `5 & 4`, `5 | 2`, `5 ^ 1`, `-1`, `!true`, `1 <= 2`, `[1, 2] < [1, 3]`,
		`{a: 1} == {a: 1}`, `[1] != [2]`, `std.equals(1, 1)`, `std.type(null)`, `std.isString("a")`, `std.all([true])`, `std.any([false])`, `std.xor(true, false)`,
		`std.thisFile`, `std.codepoint("a")`, `std.char(97)`, `std.escapeStringJson("a")`, `std.id(1)`, `std.lines(["a"])`, `std.deepJoin(["a", ["b"]])`,
		`{a: 1} + {a+: 1}`, `{a: "x"} + {a+: "y"}`, `{a: [1]} + {a+: [2]}`, `{a: {b: 1}} + {a+: {c: 2}}`, `{a+: 1}`, `{a: 1, b: super.a}["a"]`,
		`({a: 1} + {b: super.a}).b`, `({a: 1} + {b: "a" in super}).b`, `({a: 1} + {a: 2, b: super.a + self.a}).b`, `{a: 1, b: $.a, c: {d: $.a}}`,
		`{local x = 1, a: x}`, `{[k]: 1 for k in ["a", "b"]}`, `{["x" + k]: v for k in ["a"] for v in [1] if v > 0}`, `[x + y for x in [1, 2] for y in [10]]`,
		`{[if false then "a"]: 1, b: 2}`, `local f(x, y=x) = x + y; f(1)`, `local f(x) = x; f(x=2)`, `(function(x) x)(1) tailstrict`,
		`local f(n) = if n == 0 then 0 else f(n - 1); f(5)`, `{assert self.a > 0, a: 1}`, `assert true; 1`, `{a:: 1, b: self.a}`, `{a::: 1} + {a: 2}`,
		`{f(x):: x + 1, a: self.f(1)}`, `std.mapWithKey(function(k, v) v, {a: 1} + {a: 2})`, `std.filterMap(function(x) x > 1, function(x) x * 2, [1, 2])`,
		`std.manifestPython({a: true})`, `std.manifestXmlJsonml(["a"])`, `std.manifestTomlEx({a: 1}, " ")`, `std.isEven(2)`, `std.trace("x", 1)`,
	} {
		t.Run(program, func(t *testing.T) {
			p := lang.Program{FS: fstest.MapFS{"a.jsonnet": {Data: []byte(program)}}, Entry: "a.jsonnet"}
			langtest.CheckExplained(t, jsonnet.Evaluator{}, p)
			wantNoGap(t, p)
		})
	}
}

func FuzzExplain(f *testing.F) {
	for _, s := range []string{
		"{a: 1} + {a+: 2, b: super.a}", "local f(x, y=1) = {[x]: y}; f('a') + {a: std.join('', [self.b, 'x']), b: 'c'}",
		"{[k]: k + std.length(k) for k in ['a', 'bb'] if k != 'a'}", "function(n='2') {a: std.parseInt(n), b: if self.a > 1 then 'x' else 'y'}",
		"{a: {b: 1}} + {a: {c: 2}} + {a+: {d: $.a.c}}", "std.foldl(function(a, b) a + b, [{x: 1}, {y: 2}], {})", "'%d %s' % [1, {a: [true, null]}]",
		"local a = [1, self]; a", "std.mergePatch({a: 1}, {b: {c: 2}})", "[x * 2 for x in std.range(1, 3)][1:]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1000 {
			return
		}
		langtest.CheckExplained(t, jsonnet.Evaluator{}, lang.Program{
			FS: fstest.MapFS{"a.jsonnet": {Data: []byte(source)}}, Entry: "a.jsonnet", Offers: map[string]string{"n": "2"},
		})
	})
}
