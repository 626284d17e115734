package api

import "testing"

func TestFix(t *testing.T) {
	for _, c := range []struct {
		code, hint, name, value string
		quote                   bool
	}{
		{CodeUnknownField, DidYouMean("replicas"), "replicas", "", false},
		{CodeUnsupported, DidYouMean(`A"ways`), "", `"A\"ways"`, false},
		{CodeInvalid, RenameTo("cpu"), "cpu", "", false},
		{CodeType, QuoteIt("true"), "", `"true"`, true},
		{CodeType, WithoutQuotes("8080"), "", "8080", false},
		{CodeType, WithoutQuotes("true"), "", "true", false},
		{CodeInvalid, WriteInstead("128Mi"), "", `"128Mi"`, false},
		{CodeType, WriteInstead("3"), "", "3", false},
		{CodeInvalid, UseVersion("apps/v1"), "", `"apps/v1"`, false},
		// What is only advice is no fix.
		{CodeInvalid, "", "", "", false},
		{CodeInvalid, "remove it", "", "", false},
		{CodeInvalid, "write a number with a unit, such as 500m, 2, 128Mi or 1Gi", "", "", false},
		{CodeInvalid, `use "a" or "b"`, "", "", false},
		{CodeInvalid, "encode it, or put the plain text in stringData", "", "", false},
	} {
		fix, ok := Problem{Code: c.code, Path: ".spec.x", Message: "is wrong", Hint: c.hint}.Fix()
		if ok != (c.name+c.value != "") || fix.Name != c.name || string(fix.Value) != c.value || fix.Quote != c.quote {
			t.Errorf("%s: got %+v, %t", c.hint, fix, ok)
		}
	}
}
