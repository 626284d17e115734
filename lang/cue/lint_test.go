package cue

import (
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"clean", "package p\nimport \"strings\"\nlet x = 1\ny: x\nz: strings.ToUpper(\"a\")\n_h: 1\nw: _h\nfor i, v in [1] {\"\\(i)\": v}\n#D: {_n: 1}\nq: #D._n\n", ""},
		{"unused import", "package p\nimport \"strings\"\nx: 1\n", "a.cue:2:8 UnusedImport"},
		{"duplicate import", "package p\nimport \"list\"\nimport l2 \"list\"\nx: list.Max([1])\ny: l2.Max([1])\n", "a.cue:3:8 DuplicateImport"},
		{"unused let", "package p\nlet a = 1\nx: 2\n", "a.cue:2:1 UnusedLet"},
		{"let used only in itself further in", "package p\nx: {\n\tlet a = 1\n\ty: a\n}\nlet a = 2\n", "a.cue:6:1 UnusedLet"},
		{"unused field", "package p\n_a: 1\n_b: 2\nx: _b\n", "a.cue:2:1 UnusedField"},
		{"assertion", "package p\n_a: true & (x > 1)\nx: 2\n", ""},
		{"input", "package p\n_a: string @tag(a)\nx: _a\ny: string @tag(y)\n", ""},
		{"unused input", "package p\n_a: string @tag(a)\n", "a.cue:2:1 UnusedTag"},
		{"shadowed let", "package p\nlet a = 1\nx: {\n\tlet a = 2\n\ty: a\n}\nz: a\n", "a.cue:4:6 ShadowedName"},
		{"shadowed by a loop", "package p\nimport \"list\"\nx: [for list in [1] {list}]\ny: list.Max([1])\n", "a.cue:3:9 ShadowedName"},
		{"shadowed builtin", "package p\nlet len = 1\nx: len\n", "a.cue:2:5 ShadowedName"},
		{"siblings shadow nothing", "package p\nx: {let a = 1, y: a}\nz: {let a = 1, y: a}\n", ""},
		{"self", "package p\nname: \"a\"\nx: {\n\tname: name\n}\n", "a.cue:4:8 SelfReference"},
		{"not self", "package p\nname: \"a\"\nx: {other: name}\n", ""},
		{"lists", "package p\nx: [1] + [2]\ny: 2 * [1]\n", "a.cue:2:8 ListArithmetic\na.cue:3:6 ListArithmetic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := Lint(map[string][]byte{"a.cue": []byte(c.src)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range found {
				got = append(got, d.Pos.String()+" "+d.Code)
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

// A hidden field belongs to the package, so a use in another file counts.
func TestLintPackage(t *testing.T) {
	found, err := Lint(map[string][]byte{
		"a.cue": []byte("package p\n_a: 1\n"), "b.cue": []byte("package p\nx: _a\n"), "broken.cue": []byte("package p\nx: {\n"),
	})
	if len(found) != 0 || err == nil || !strings.Contains(err.Error(), "broken.cue") {
		t.Errorf("found %v, error %v", found, err)
	}
}

func FuzzLint(f *testing.F) {
	f.Add("package p\nlet a = 1\nx: {name: name}\ny: [1]+[2]\nfor i in [1] {}\n")
	f.Add("X=a: {[Y=string]: Y}\n")
	f.Fuzz(func(t *testing.T, src string) {
		_, _ = Lint(map[string][]byte{"a.cue": []byte(src)})
	})
}
