package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hazard is one of testdata/hazards.txt.
type hazard struct {
	id     string
	claims []string
}

func hazards(t *testing.T) []hazard {
	t.Helper()
	text, err := os.ReadFile("testdata/hazards.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []hazard
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t' && len(all) > 0:
			h := &all[len(all)-1]
			h.claims = append(h.claims, line[1:])
		default:
			id, _, _ := strings.Cut(line, " ")
			all = append(all, hazard{id: id})
		}
	}
	return all
}

// TestHazards: every hazard has its tests, and every part of the scripts about
// them is of one.
func TestHazards(t *testing.T) {
	var want, got []string
	for i := range 24 {
		want = append(want, strconv.Itoa(i+1))
	}
	for i := range 14 {
		want = append(want, "L"+strconv.Itoa(i+1))
	}
	claimed := map[string][]string{} // hazards, by "script: heading"
	for _, h := range hazards(t) {
		got = append(got, h.id)
		held := 0
		for _, claim := range h.claims {
			what, rest, _ := strings.Cut(claim, " ")
			switch what {
			case "script":
				heading := theHeading(t, h.id, rest)
				claimed[heading] = append(claimed[heading], h.id)
				held++
			case "test":
				held += theTests(t, h.id, strings.Fields(rest))
			case "case":
				held += theCases(t, h.id, strings.Fields(rest))
			case "differs:":
				if rest == "" {
					t.Errorf("hazard %s: say what differs", h.id)
				}
			default:
				t.Errorf("hazard %s: what is %q?", h.id, claim)
			}
		}
		if held == 0 {
			t.Errorf("hazard %s is held by no test", h.id)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("hazards are %v, want %v", got, want)
	}
	for _, script := range []string{"hazards", "check_hazards", "apply_hazards"} {
		for _, heading := range headings(t, script) {
			numbers, _, ok := strings.Cut(heading, ":")
			if !ok || !numbered.MatchString(numbers) {
				continue
			}
			for _, n := range regexp.MustCompile(`\d+`).FindAllString(numbers, -1) {
				if !slices.Contains(claimed[script+": "+heading], n) {
					t.Errorf("%s.txtar has %q, which hazard %s does not name", script, heading, n)
				}
			}
		}
	}
}

var numbered = regexp.MustCompile(`^\d+((, | and )\d+)*$`)

// headings are the comments of a script, each the first line of its own.
func headings(t *testing.T, script string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/script", script+".txtar"))
	if err != nil {
		t.Error(err)
		return nil
	}
	var all []string
	last := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "-- ") {
			break
		}
		if heading, ok := strings.CutPrefix(line, "# "); ok && !strings.HasPrefix(last, "#") {
			all = append(all, strings.TrimSpace(heading))
		}
		last = line
	}
	return all
}

// theHeading is the one that a claim "SCRIPT: TEXT" means.
func theHeading(t *testing.T, id, claim string) string {
	t.Helper()
	script, text, _ := strings.Cut(claim, ": ")
	for _, heading := range headings(t, script) {
		if rest, ok := strings.CutPrefix(heading, text); ok && text != "" && (rest == "" || !numbered.MatchString(text) || rest[0] == ':') {
			return script + ": " + heading
		}
	}
	t.Errorf("hazard %s: %s.txtar has no part %q", id, script, text)
	return ""
}

// theTests counts Go tests of a package that are there.
func theTests(t *testing.T, id string, claim []string) int {
	t.Helper()
	dir := filepath.Join("../..", filepath.FromSlash(claim[0]))
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	n := 0
	for _, name := range claim[1:] {
		if !strings.Contains(text.String(), "\nfunc "+name+"(") {
			t.Errorf("hazard %s: %s has no test %s", id, claim[0], name)
			continue
		}
		n++
	}
	return n
}

// theCases counts cases of a language that are there.
func theCases(t *testing.T, id string, claim []string) int {
	t.Helper()
	n := 0
	for _, name := range claim[1:] {
		if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(claim[0]), "testdata", name+".txtar")); err != nil {
			t.Errorf("hazard %s: %v", id, err)
			continue
		}
		n++
	}
	return n
}
