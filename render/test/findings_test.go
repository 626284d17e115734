package test_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/render/check"
	"github.com/writ-dev/writ/render/test"
)

func TestFindings(t *testing.T) {
	dir := tree(t, map[string]string{
		"main.jsonnet": "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { n: '1' } }",
		"a_test.jsonnet": `{ tests: {
  good: true,
  wrong: false,
  also: { got: 1, want: 2 },
  document: { expect: [{ name: 'a', match: { data: { n: '2' } } }] },
} }`,
		"b_test.jsonnet":                    "{ tests: ",
		"c_test.jsonnet":                    "{ tests: { good: true } }",
		"c_test.jsonnet.snapshots/old.yaml": "a: 1\n",
	})
	report, err := test.Run(t.Context(), test.Options{Path: dir, Base: dir})
	if err != nil {
		t.Fatal(err)
	}
	found := report.Findings()
	type line struct {
		Severity     check.Severity
		Code, Object string
		Line         int
		File         string
	}
	var got []line
	for _, f := range found.Findings {
		got = append(got, line{f.Severity, f.Code, f.Object, f.Pos.Line, f.Pos.File})
		if f.Code[:4] == "TEST" && test.Describe(f.Code) == "" {
			t.Errorf("nobody says what %s is", f.Code)
		}
	}
	want := []line{
		{check.Error, "TEST003", `test "wrong"`, 3, "a_test.jsonnet"},
		{check.Error, "TEST003", `test "also"`, 4, "a_test.jsonnet"},
		{check.Error, "TEST004", `test "document": ConfigMap default/a`, 5, "a_test.jsonnet"},
		{check.Error, "JSONNET001", "", 1, "b_test.jsonnet"},
		{check.Warning, "TEST008", "", 0, "c_test.jsonnet.snapshots/old.yaml"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
	if n := len(found.Documents); n != 5 || found.Unchecked() != 0 {
		t.Errorf("%d tests, %d unchecked: %v", n, found.Unchecked(), found.Documents)
	}
	// Asking changes nothing of the report.
	if d := cmp.Diff(found, report.Findings()); d != "" {
		t.Errorf("asked again (-first +second):\n%s", d)
	}
}
