package yaml_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/lang/langtest"
	"github.com/writ-dev/writ/lang/yaml"
)

func TestCases(t *testing.T) { langtest.Run(t, yaml.Evaluator{}, "testdata/*.txtar") }

// TestLikeKubectl compares every plain scalar with the library of kubectl.
func TestLikeKubectl(t *testing.T) {
	scalars := strings.Fields(`yes y Y N no On off TRUE tRUE ~ null NULL nULL 0755 0o755 0O7 0x1F -0x1f 0X1f
		0b11 0B1 -0b11 +0b1 0b 1_000 1__0 1_ _1 0_755 0x1_F +5 -5 +0755 -0755 08 09 0o8 1e3 1e+3 1E-3 12e03
		+12e3 .5 5. +.5 -.5e1 .5_0 ._5 0.10 1.5_0 -0 0x 1e400 12345678901234567890 0xFFFFFFFFFFFFFFFF
		0xFFFFFFFFFFFFFFFFF 2001-01-01 2001-01-01T00:00:00Z 1:20 190:20:30 = + --1 1.2.3 v1 a/b 1Gi 500m
		.inf. 0777777777777777777777777 infinity nan inf e1 .e1 1.e1 +. 0. 00 -00 0_ 0b2 0x_1 +0x1`)
	for _, s := range scalars {
		want, err := k8syaml.YAMLToJSON([]byte("a: " + s))
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		got, err := yaml.Parse("a.yaml", []byte("a: "+s))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: got %v, %v; kubectl has %s", s, got, err, want)
			continue
		}
		// kubectl's library goes through float64, so compare as that.
		var w, g any
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got[0].AppendJSON(nil), &g); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if d := cmp.Diff(w, g); d != "" {
			t.Errorf("%s (-kubectl +writ):\n%s", s, d)
		}
	}
}

func TestRefusedBytes(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for name, c := range map[string]struct{ file, text, code, pos string }{
		"UTF-8":         {"a.yaml", "a: 1\nbb: \xff\n", "YAML002", "a.yaml:2:5"},
		"UTF-8 in JSON": {"a.json", "{\n\"a\": \"\xff\"}", "JSON002", "a.json:2:7"},
		"depth":         {"a.yaml", deep, "YAML004", "a.yaml:1:502"},
		"depth in JSON": {"a.json", deep, "JSON001", "a.json:1:502"},
		"flow depth":    {"a.yaml", strings.Repeat("[", 200000), "YAML003", "a.yaml"},
		"blocks":        {"a.yaml", strings.Repeat("- ", 200000), "YAML003", "a.yaml"},
		"surrogate":     {"a.json", `["\ud800"]`, "JSON001", "a.json:1:9"},
		"control":       {"a.json", "[\"\x01\"]", "JSON001", "a.json:1:3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := yaml.Parse(c.file, []byte(c.text))
			l := diag.From(err)
			if len(l) != 1 || l[0].Code != c.code || !strings.HasPrefix(l[0].Pos.String(), c.pos) {
				t.Errorf("got %v, want %s at %s", err, c.code, c.pos)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	large := fstest.MapFS{"a.yaml": {Data: make([]byte, lang.MaxFileSize+1)}}
	_, err := yaml.Evaluator{}.Eval(t.Context(), lang.Program{FS: large, Entry: "a.yaml"})
	if l := diag.From(err); len(l) != 1 || !strings.Contains(l[0].Message, "larger than 8 MiB") {
		t.Errorf("a file that is too large: got %v", err)
	}
	_, err = yaml.Evaluator{}.Eval(t.Context(), lang.Program{FS: large, Entry: "../a.yaml"})
	if l := diag.From(err); len(l) != 1 || l[0].Code != "LANG002" {
		t.Errorf("an entry outside: got %v", err)
	}
}

// FuzzParse checks that no input panics, and that what is read can be written
// as JSON and read again as the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a: 1\n---\nb: [x, 0755, no]\n", "&a [*a]", "a: &x {b: 1}\n<<: *x\n", "? a\n: b", "%YAML 1.1\n--- !!str a",
		"\"\\ud83d\"", "{a: {b: [1, .inf]}}", "- |\n  a\n- >-\n  b\n", "\uFEFFa: 1", "a: !!binary aGk=\n",
		"a:\n\t- b", "--- # c\n...\n", "{\"a\": 1e5, \"b\": \"\\u0000\"}", "a: \u0085b", "<<: [{a: 1}, {a: 2}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{"a.yaml", "a.json"} {
			documents, err := yaml.Parse(file, []byte(text))
			if err != nil {
				if len(diag.From(err)) == 0 || diag.From(err)[0].Code == "" {
					t.Errorf("an error without a code: %v", err)
				}
				continue
			}
			for _, v := range documents {
				first := v.AppendJSON(nil)
				again, err := lang.ParseJSON("a.json", first)
				if err != nil {
					t.Fatalf("%s is not JSON: %v", first, err)
				}
				if second := again.AppendJSON(nil); string(second) != string(first) {
					t.Errorf("%s became %s", first, second)
				}
			}
		}
	})
}
