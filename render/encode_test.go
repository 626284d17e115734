package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/object"
)

// hazards are strings that some YAML reads as something else.
var hazards = []string{
	"", " ", "no", "No", "NO", "n", "y", "on", "off", "yes", "true", "null", "~", "Null", "0755", "0o755", "0x1F", "1e3", "1E3", "1.0", ".5", "1_000",
	"12:30:45", "2222:22", "2026-12-01", "2026-12-01T00:00:00Z", "=", "<<", "<", ".inf", "-.Inf", ".nan", ".NaN", "-", "--", "---", "...", "- a", "? a", ": a", "a: b", "a #b", "#a",
	"a:", "&a", "*a", "!a", "!!str a", "%a", "@a", "`a", "|", ">", "{a}", "[a]", "a, b", "'a'", `"a"`, `a\b`, "\t", "a\tb", "\ttab first", " lead", "trail ", "a\nb", "a\n", "\na", "a\n\n", "a\n\nb\n", " a\nb", "a \nb",
	"a\r\nb", "\x00", "\x1b[31m", "\x7f", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "日本語", "🚀 rocket", "é", "a/b.c-d_e", "1a", "-1", "+1", "0", "inf", "nan", "Infinity", "123456789012345678901234567890",
	"#!/bin/sh\nset -e\n# comment\nexec app --x=\"1\"\n", "key: value\n- item\n---\nnext\n", strings.Repeat("long ", 300), "0b1", "1__0", "0.1e1", "+.inf", "190:20:30", "c:\\", "a:b", "a:b:", "a@b:c=d+e", "/", "/:", "//", "a'b", "\"", "\\",
}

// TestYAMLReadsBack writes every hazardous string as value, key and element,
// and reads it with a YAML 1.2 parser and with the YAML 1.1 rules of kubectl.
func TestYAMLReadsBack(t *testing.T) {
	for _, s := range hazards {
		in := map[string]any{"v": s, "l": []any{s, map[string]any{"in": s, "z": []any{s}}, []any{s, []any{s}}}, "m": map[string]any{s: s, "x" + s: map[string]any{s: []any{}}}}
		readBack(t, in)
	}
}

func TestYAMLNumbers(t *testing.T) {
	for _, n := range []string{"0", "-1", "1000000", "12345678901234567890", "9007199254740993", "1.5", "1e100", "1.5E-7", "-0.25", "1e+6"} {
		var out bytes.Buffer
		WriteYAML(&out, map[string]any{"num": json.Number(n)})
		text, err := sigsyaml.YAMLToJSON(out.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", &out, err)
		}
		var got struct{ Num any }
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		want, err := json.Number(n).Float64()
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := got.Num.(float64); !ok || f != want {
			t.Errorf("%s is written %q and read as %v", n, out.String(), got.Num)
		}
		if !strings.ContainsAny(n, ".eE") && strings.TrimSpace(out.String()) != "num: "+n {
			t.Errorf("integer %s is written %q", n, out.String())
		}
	}
}

// readBack fails when a parser reads something else than was written.
func readBack(t *testing.T, in map[string]any) {
	t.Helper()
	var out bytes.Buffer
	WriteYAML(&out, in)
	want, err := object.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sigsyaml.YAMLToJSONStrict(out.Bytes())
	if err != nil {
		t.Errorf("YAML 1.1 refuses %q: %v", out.String(), err)
		return
	}
	if d := cmp.Diff(normal(t, want), normal(t, got)); d != "" {
		t.Errorf("YAML 1.1 reads %q otherwise:\n%s", out.String(), d)
	}
	var tree any
	if err := yamlv3.Unmarshal(out.Bytes(), &tree); err != nil {
		t.Errorf("YAML 1.2 refuses %q: %v", out.String(), err)
		return
	}
	got, err = json.Marshal(tree)
	if err != nil {
		t.Errorf("YAML 1.2 reads %q as no JSON: %v", out.String(), err)
		return
	}
	if d := cmp.Diff(normal(t, want), normal(t, got)); d != "" {
		t.Errorf("YAML 1.2 reads %q otherwise:\n%s", out.String(), d)
	}
}

func normal(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzYAML(f *testing.F) {
	for _, s := range hazards {
		text, err := json.Marshal(map[string]any{s: []any{s, map[string]any{"a": s}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"a":[[],{},[[1]],[{"b":null}],true],"":{"":""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			t.Skip()
		}
		tree, ok := v.(map[string]any)
		if !ok || hasNumber(tree) {
			t.Skip()
		}
		readBack(t, tree)
	})
}

// hasNumber skips numbers, which json.Unmarshal rounds in this test.
func hasNumber(v any) bool {
	switch x := v.(type) {
	case float64:
		return true
	case []any:
		for _, e := range x {
			if hasNumber(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range x {
			if hasNumber(e) {
				return true
			}
		}
	}
	return false
}
