package test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
)

func parse(t testing.TB, text string) lang.Value {
	t.Helper()
	v, err := lang.ParseJSON("x.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, got, want string
		partial         bool
		differ          []string
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1.0,{"b":null}]}`, false, nil},
		{"scalars", `{"a":1,"b":"x","c":true}`, `{"a":2,"b":"y","c":false}`, false, []string{".a is 1, want 2", `.b is "x", want "y"`, ".c is true, want false"}},
		{"kinds", `{"a":1}`, `{"a":"1"}`, false, []string{`.a is 1, want "1"`}},
		{"more and less", `{"a":1,"b":2}`, `{"b":2,"c":3}`, false, []string{".c is missing, want 3", ".a is 1, want none"}},
		{"lists", `[1,2,3]`, `[1,5]`, false, []string{"[1] is 2, want 5", "[2] is 3, want none"}},
		{"short list", `[1]`, `[1,5]`, false, []string{"[1] is missing, want 5"}},
		{"part of an object", `{"a":{"b":1,"c":2},"d":3}`, `{"a":{"b":1}}`, true, nil},
		{"null is absent", `{"a":{"b":1}}`, `{"a":{"c":null},"d":null}`, true, nil},
		{"null is not there", `{"a":1}`, `{"a":null}`, true, []string{".a is 1, want none"}},
		{"null is null", `{"a":null}`, `{"a":null}`, true, nil},
		{"null is a value", `{}`, `{"a":null}`, false, []string{".a is missing, want null"}},
		{"lists are whole", `{"a":[{"x":1,"y":2},3]}`, `{"a":[{"x":1}]}`, true, []string{".a[1] is 3, want none"}},
		{"large numbers", `9007199254740993`, `9007199254740992`, false, []string{" is 9007199254740993, want 9007199254740992"}},
		{"texts", `"a\nb"`, `"a\nc"`, false, []string{" is another text"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var differ []string
			for _, d := range Compare(parse(t, c.got), parse(t, c.want), c.partial).Differences {
				differ = append(differ, d.Path+" "+d.Text)
				if strings.Contains(d.Text, "another text") && !strings.Contains(d.Lines, "-c\n+b") {
					t.Errorf("the lines are %q", d.Lines)
				}
			}
			if d := cmp.Diff(c.differ, differ); d != "" {
				t.Errorf("differences (-want +got):\n%s", d)
			}
		})
	}
}

func TestCompareIsBounded(t *testing.T) {
	got := parse(t, "["+strings.Repeat("1,", 999)+"1]")
	want := parse(t, "["+strings.Repeat("2,", 999)+"2]")
	c := Compare(got, want, false)
	if len(c.Differences) != maxDifferences || c.More != 1000-maxDifferences {
		t.Errorf("%d differences and %d more", len(c.Differences), c.More)
	}
	long := parse(t, `"`+strings.Repeat("é", 1000)+`"`)
	if text := short(long); len(text) > maxShown+3 || !strings.HasSuffix(text, "é...") {
		t.Errorf("short gives %q", text)
	}
	if text := lines("a", strings.Repeat("x\n", 500), "b", strings.Repeat("y\n", 500)); strings.Count(text, "\n") > maxLines+1 {
		t.Errorf("the difference of lines has %d", strings.Count(text, "\n"))
	}
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"Web, in production!": "web-in-production", "a": "a", "--": "", "é": "", "x é y": "x-y",
		strings.Repeat("ab ", 100): strings.TrimSuffix(strings.Repeat("ab-", 27)[:80], "-"),
	} {
		if got := slug(name); got != want {
			t.Errorf("slug(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzSpec reads any JSON as a test: a problem or a test that can be run, never
// both, and no panic.
func FuzzSpec(f *testing.F) {
	for _, seed := range []string{
		`true`, `{"got":1,"want":2}`, `{"value":1,"fail":"x"}`, `{"holds":true,"message":"m"}`, `{"inputs":{"a":1},"expect":[{"kind":"x","count":2,"match":{}}],"snapshot":true}`,
		`{"expect":{"fields":{".a[b=c]":1,"":2,"[":3}}}`, `{"fail":"("}`, `{"snapshot":"../x"}`, `[]`, `{}`,
	} {
		f.Add("a test", seed)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		v, err := lang.ParseJSON("x", []byte(text))
		if err != nil {
			return
		}
		s, problems := readSpec(name, v)
		for _, d := range problems {
			if d.Message == "" || d.Code == "" {
				t.Errorf("a problem without message or code: %+v", d)
			}
		}
		if len(problems) == 0 {
			if v.Kind != lang.Bool && len(s.fields) == 0 {
				t.Errorf("%s is taken for a test", text)
			}
			if s.snapshot != "" && !snapshotName.MatchString(s.snapshot) {
				t.Errorf("the snapshot is called %q", s.snapshot)
			}
			if s.has("fail") && s.fail == nil {
				t.Error("fail is lost")
			}
		}
	})
}
