package check_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render/check"
)

// report has one finding of every sort.
func report() *check.Report {
	r := &check.Report{
		Findings: []check.Finding{
			{Severity: check.Error, Environments: []string{"dev", "prod"}, Diagnostic: diag.Diagnostic{
				Code: "UnknownField", Pos: diag.Position{File: "a dir/a.yaml", Line: 2, Column: 9}, Object: "Service default/s", Path: ".spec.x",
				Message: "100% wrong:\nreally", Hint: "remove it", Notes: []diag.Note{{Pos: diag.Position{File: "p.cue", Line: 1}, Text: "the policy"}, {Text: "no place"}},
			}},
			{Severity: check.Warning, Diagnostic: diag.Diagnostic{Code: "policy:a,b", Pos: diag.Position{File: "b.yaml"}, Object: "Thing t", Message: "hm"}},
			{Severity: check.Error, Diagnostic: diag.Diagnostic{Message: "about nothing & <nobody>\x01"}},
		},
		Documents: []check.Document{
			{Object: "Service default/s", Pos: diag.Position{File: "a dir/a.yaml", Line: 1}, Environment: "dev", Checked: true},
			{Object: "Service default/s", Pos: diag.Position{File: "a dir/a.yaml", Line: 1}, Environment: "prod", Checked: true},
			{Object: "Thing t", Pos: diag.Position{File: "b.yaml", Line: 1}, Environment: "prod"},
		},
	}
	return r
}

func write(t *testing.T, f func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	got := write(t, func(b *bytes.Buffer) error { return report().WriteText(b, nil) })
	want := `error: a dir/a.yaml:2:9: Service default/s: .spec.x: 100% wrong:
really [UnknownField]
  p.cue:1: the policy
  no place
  in dev, prod
  fix: remove it
warning: b.yaml: Thing t: hm [policy:a,b]
error: about nothing & <nobody>` + "\x01" + `
unchecked: b.yaml:1: nothing is known about Thing (1 document): give its CustomResourceDefinition with --crd
2 documents checked, 1 unchecked: 2 errors, 1 warning
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	same := report()
	same.Findings = append(same.Findings, same.Findings[0], same.Findings[0])
	got = write(t, func(b *bytes.Buffer) error { return same.WriteText(b, nil) })
	if strings.Count(got, "really") != 1 || !strings.Contains(got, "really (and in 2 other documents) [UnknownField]") || !strings.Contains(got, "4 errors") {
		t.Errorf("got:\n%s", got)
	}
	got = write(t, func(b *bytes.Buffer) error {
		return (&check.Report{Documents: report().Documents[:1]}).WriteText(b, nil)
	})
	if got != "1 document checked, 0 unchecked: nothing is wrong\n" {
		t.Errorf("got %q", got)
	}
}

func TestGitHub(t *testing.T) {
	got := write(t, func(b *bytes.Buffer) error { return report().WriteGitHub(b) })
	want := `::error file=a dir/a.yaml,line=2,col=9,title=UnknownField::Service default/s: .spec.x: 100%25 wrong:%0Areally%0Ap.cue:1: the policy%0Ano place%0Afix: remove it%0Ain dev, prod
::warning file=b.yaml,title=policy%3Aa%2Cb::Thing t: hm
::error ::about nothing & <nobody>` + "\x01" + `
::notice file=b.yaml,line=1,title=unchecked::Thing t: nothing is known about this kind
2 documents checked, 1 unchecked: 2 errors, 1 warning
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestJSON(t *testing.T) {
	got := write(t, func(b *bytes.Buffer) error { return report().WriteJSON(b) })
	var out struct {
		Checked, Unchecked, Errors, Warnings int
		Findings                             []check.Finding
		Documents                            []check.Document
	}
	if err := json.Unmarshal([]byte(got), &out); err != nil {
		t.Fatal(err)
	}
	if out.Checked != 2 || out.Unchecked != 1 || out.Errors != 2 || out.Warnings != 1 || len(out.Findings) != 3 || len(out.Documents) != 3 {
		t.Errorf("got %+v", out)
	}
	if f := out.Findings[0]; f.Severity != check.Error || f.Path != ".spec.x" || f.Pos.Line != 2 || f.Hint != "remove it" || len(f.Environments) != 2 {
		t.Errorf("the first finding is %+v", f)
	}
	if got := write(t, func(b *bytes.Buffer) error { return (&check.Report{}).WriteJSON(b) }); !strings.Contains(got, `"findings": []`) {
		t.Errorf("an empty report is %s", got)
	}
}

func TestJUnit(t *testing.T) {
	got := write(t, func(b *bytes.Buffer) error { return report().WriteJUnit(b) })
	type testcase struct {
		Name     string     `xml:"name,attr"`
		Failures []string   `xml:"failure"`
		Errors   []string   `xml:"error"`
		Skipped  []struct{} `xml:"skipped"`
		Out      string     `xml:"system-out"`
	}
	var out struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string     `xml:"name,attr"`
			Tests int        `xml:"tests,attr"`
			Cases []testcase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(got), &out); err != nil {
		t.Fatalf("%v in:\n%s", err, got)
	}
	// What is about nothing is in each environment.
	if out.Tests != 5 || out.Failures != 2 || out.Errors != 2 || out.Skipped != 1 || len(out.Suites) != 2 {
		t.Fatalf("got %+v", out)
	}
	prod := out.Suites[1]
	if prod.Name != "prod" || prod.Tests != 3 || len(prod.Cases[0].Failures) != 1 || len(prod.Cases[1].Skipped) != 1 ||
		!strings.Contains(prod.Cases[1].Out, "warning: b.yaml") || len(prod.Cases[2].Errors) != 1 {
		t.Errorf("prod is %+v", prod)
	}
}

// TestSARIF checks what SARIF 2.1.0 requires of a log, and what readers of it
// rely on.
func TestSARIF(t *testing.T) {
	source := func(file string) ([]byte, error) {
		if file == "a dir/a.yaml" {
			// The ninth byte of the second line is its sixth unit of UTF-16.
			return []byte("x\n𝄞ä  y: 1\n"), nil
		}
		return nil, os.ErrNotExist
	}
	got := write(t, func(b *bytes.Buffer) error {
		return report().WriteSARIF(b, check.SARIFOptions{Version: "1.2.3", Source: source})
	})
	var log map[string]any
	if err := json.Unmarshal([]byte(got), &log); err != nil {
		t.Fatal(err)
	}
	if err := validSARIF(log); err != nil {
		t.Errorf("%v in:\n%s", err, got)
	}
	results := log["runs"].([]any)[0].(map[string]any)["results"].([]any)
	first := results[0].(map[string]any)
	region := first["locations"].([]any)[0].(map[string]any)["physicalLocation"].(map[string]any)["region"].(map[string]any)
	if region["startColumn"] != 6.0 {
		t.Errorf("the column is %v, want 6", region["startColumn"])
	}
	if len(first["relatedLocations"].([]any)) != 1 {
		t.Errorf("related locations are %v", first["relatedLocations"])
	}
	if text := first["message"].(map[string]any)["text"].(string); !strings.HasPrefix(text, "Service default/s: .spec.x: 100% wrong") || !strings.Contains(text, "fix: remove it") {
		t.Errorf("the message is %q", text)
	}
}

// validSARIF follows the "required" and "enum" of sarif-schema-2.1.0 for the
// objects that are used here.
func validSARIF(log map[string]any) error {
	var errs []error
	want := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	want(log["version"] == "2.1.0", "version is required to be 2.1.0")
	runs, _ := log["runs"].([]any)
	want(len(runs) == 1, "runs is required")
	for _, r := range runs {
		run := r.(map[string]any)
		tool, _ := run["tool"].(map[string]any)
		driver, _ := tool["driver"].(map[string]any)
		want(driver["name"] == "writ", "tool.driver.name is required")
		want(slices.Contains([]any{"utf16CodeUnits", "unicodeCodePoints"}, run["columnKind"]), "columnKind is one of two")
		rules, _ := driver["rules"].([]any)
		seen := map[any]bool{}
		for _, rule := range rules {
			id := rule.(map[string]any)["id"]
			want(id != nil && id != "" && !seen[id], "a rule's id is required and unique")
			seen[id] = true
		}
		results, ok := run["results"].([]any)
		want(ok, "results is an array")
		for _, x := range results {
			result := x.(map[string]any)
			message, _ := result["message"].(map[string]any)
			want(message["text"] != nil && message["text"] != "", "message.text is required")
			want(slices.Contains([]any{"none", "note", "warning", "error"}, result["level"]), "level is one of four")
			i := int(result["ruleIndex"].(float64))
			want(i >= 0 && i < len(rules) && rules[i].(map[string]any)["id"] == result["ruleId"], "ruleIndex leads to ruleId")
			locations, _ := result["locations"].([]any)
			related, _ := result["relatedLocations"].([]any)
			for _, l := range slices.Concat(locations, related) {
				physical, ok := l.(map[string]any)["physicalLocation"].(map[string]any)
				if !ok {
					continue
				}
				artifact, _ := physical["artifactLocation"].(map[string]any)
				u, err := url.Parse(artifact["uri"].(string))
				want(err == nil && u.String() == artifact["uri"], "artifactLocation.uri is a URI")
				if region, ok := physical["region"].(map[string]any); ok {
					want(region["startLine"].(float64) >= 1, "startLine is at least 1")
					column, has := region["startColumn"].(float64)
					want(!has || column >= 1, "startColumn is at least 1")
				}
			}
		}
		for _, x := range run["invocations"].([]any) {
			_, ok := x.(map[string]any)["executionSuccessful"].(bool)
			want(ok, "executionSuccessful is required")
		}
	}
	return errors.Join(errs...)
}
