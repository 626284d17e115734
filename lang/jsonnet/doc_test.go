package jsonnet_test

import (
	"testing"

	"github.com/writ-dev/writ/lang/jsonnet"
)

// TestDocumentComments finds the comment that is about a field, and no other.
func TestDocumentComments(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"line", "{\n  // one\n  // two\n  f: 1,\n}", "one\ntwo"},
		{"hash", "{\n  # one\n  f: 1,\n}", "one"},
		{"block", "{\n  /* one\n   * two */\n  f: 1,\n}", "one\ntwo"},
		{"after an empty line", "{\n  // other\n\n  f: 1,\n}", ""},
		{"of the line before", "{\n  a: 1, // other\n  f: 1,\n}", ""},
		{"in the line", "{ /* other */ a: 1, f: 1 }", ""},
		{"code stays indented", "{\n  // one\n  //   f()\n  f(x):: x,\n}", "one\n  f()"},
		{"text that looks like one", "{\n  a: |||\n    // other\n  |||,\n  f: 1,\n}", ""},
		{"behind locals and sums", "local a = 1;\n{} + {\n  // one\n  'f': a,\n}", "one"},
	} {
		page, err := jsonnet.Document("a.libsonnet", []byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, found := "", false
		for _, s := range page.Symbols {
			if s.Name == "f" {
				got, found = s.Text, true
			}
		}
		if !found || got != c.want {
			t.Errorf("%s: %q (found: %v), want %q", c.name, got, found, c.want)
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		"// a\n{\n  // f is\n  f(x, y={ a: 1 }):: x,\n}", "function(a='x', b=|||\n  t\n|||) a", "/*", "#\n{}", "{ a+: { b: std.extVar('x') } }", "local f(x) = x; f", "(import 'a') + { c: 1 }",
	} {
		f.Add("a.libsonnet", s)
		f.Add("a.jsonnet", s)
	}
	f.Fuzz(func(_ *testing.T, name, text string) {
		_, _ = jsonnet.Document(name, []byte(text))
	})
}
