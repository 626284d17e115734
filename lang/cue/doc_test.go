package cue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/cue"
)

// TestDocumentTypes tells what a field may be from how it is written.
func TestDocumentTypes(t *testing.T) {
	for _, c := range []struct {
		value string
		want  lang.Symbol
	}{
		{`int`, lang.Symbol{Type: "int"}},
		{`*1 | int`, lang.Symbol{Type: "int", Default: "1"}},
		{`int | *1`, lang.Symbol{Type: "int", Default: "1"}},
		{`*"a" | "b" | error("neither")`, lang.Symbol{Type: `"a" | "b"`, Values: []string{`"a"`, `"b"`}, Default: `"a"`}},
		{`"a" | *"a" | "b"`, lang.Symbol{Type: `"a" | "b"`, Values: []string{`"a"`, `"b"`}, Default: `"a"`}},
		{`*-1 | (int & >=0)`, lang.Symbol{Type: "int & >=0", Default: "-1"}},
		{`(int | string) & !=""`, lang.Symbol{Type: `(int | string) & !=""`}},
		{`3`, lang.Symbol{Type: "3"}},
		{`*3`, lang.Symbol{Type: "3", Default: "3"}},
		{`[...string]`, lang.Symbol{Type: "[...string]"}},
		{`"\(x)-\(y)"`, lang.Symbol{Computed: true}},
		{`(#A & {b: 1}).c`, lang.Symbol{Computed: true}},
		{`[for x in y {x}]`, lang.Symbol{Computed: true}},
		{`{for k, v in y {(k): v}}`, lang.Symbol{Computed: true}},
		{`strings.MinRunes(3)`, lang.Symbol{Type: "strings.MinRunes(3)"}},
		{`p.#X`, lang.Symbol{Type: "p.#X"}},
		{`{...}`, lang.Symbol{Type: "{...}"}},
		{`[string]: int | *2`, lang.Symbol{Type: "{[string]: int}"}},
		{`[#N]: {...}`, lang.Symbol{Type: "{[#N]: {...}}"}},
		{"{\n// one\na!: 1\n}", lang.Symbol{Fields: []lang.Symbol{{Name: "a", Kind: "field", Text: "one", Type: "1", Required: true}}}},
		{`a: b?: bool`, lang.Symbol{Fields: []lang.Symbol{{Name: "a", Kind: "field", Fields: []lang.Symbol{{Name: "b", Kind: "field", Type: "bool"}}}}}},
	} {
		page, err := cue.Document(map[string][]byte{"a.cue": []byte("package a\n#D: f: " + c.value + "\n")})
		if err != nil {
			t.Fatalf("%s: %v", c.value, err)
		}
		c.want.Name, c.want.Kind = "f", "field"
		got := page.Symbols[0].Fields
		for i := range got {
			forgetPlaces(&got[i])
		}
		if d := cmp.Diff([]lang.Symbol{c.want}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.value, d)
		}
	}
}

func forgetPlaces(s *lang.Symbol) {
	s.Pos = lang.Symbol{}.Pos
	for i := range s.Fields {
		forgetPlaces(&s.Fields[i])
	}
}

func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		"// Package a\npackage a\n\n// #A is\n#A: {b!: *1 | int, ...}\n", "#A: {\n\t#B\n\t\"x y\"?: [string]: int\n}", "_x: string @tag(x,type=int)",
		"#A: [X=string]: {a: X}", "#A: {[for x in y {x}]}", "#A: (1).b.c", "#A: *(*1|2) | 3", "a: 1 // c\n#B: // d\n\t2", "#A: \"\"\"\n\tx\n\t\"\"\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		page, err := cue.Document(map[string][]byte{"a.cue": []byte(text)})
		if err != nil && !page.IsEmpty() {
			t.Errorf("a page of what is no CUE: %+v", page)
		}
		for _, s := range page.Symbols {
			if !strings.HasPrefix(s.Name, "#") || !s.Pos.IsValid() {
				t.Errorf("%+v", s)
			}
		}
	})
}
