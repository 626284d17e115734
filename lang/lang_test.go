package lang_test

import (
	"encoding/json"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

func TestCanonicalNumber(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "-0e9": "0", "007": "7", "+7": "7", ".5": "0.5", "5.": "5",
		"1e3": "1000", "1E+3": "1000", "1000.0": "1000", "1.50": "1.5", "2.50e-1": "0.25", "-12.5": "-12.5",
		"1e6": "1000000", "1e-7": "0.0000001", "18446744073709551615": "18446744073709551615",
		"9007199254740993": "9007199254740993", "123.456e2": "12345.6", "1e399": "1" + strings.Repeat("0", 399),
		"0.1234567890123456789012345678901234567890": "0.123456789012345678901234567890123456789",
	} {
		if got, err := lang.CanonicalNumber(in); got != want || err != nil {
			t.Errorf("CanonicalNumber(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-", "e3", "1e", "x", "1x", "--1", "1_0", "1e999999999999", "1e400", "1e-401", "0x1", "1e+-3", "NaN", " 1"} {
		if got, err := lang.CanonicalNumber(in); err == nil {
			t.Errorf("CanonicalNumber(%q) = %q, want an error", in, got)
		}
	}
}

// FuzzCanonicalNumber checks that canonical text is a JSON number of the same
// value, and is its own canonical text.
func FuzzCanonicalNumber(f *testing.F) {
	for _, seed := range []string{"1e3", "-0.50", "+.5e-3", "1e-400", "99999999999999999999.5", "5.e1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := lang.CanonicalNumber(in)
		if err != nil {
			return
		}
		if !json.Valid([]byte(got)) || strings.ContainsAny(got, "eE+") {
			t.Fatalf("%q became %q", in, got)
		}
		if again, err := lang.CanonicalNumber(got); again != got || err != nil {
			t.Fatalf("%q became %q and that %q, %v", in, got, again, err)
		}
		want, ok := new(big.Rat).SetString(in)
		have, _ := new(big.Rat).SetString(got)
		if !ok || want.Cmp(have) != 0 {
			t.Fatalf("%q became %q", in, got)
		}
	})
}

func TestParseJSON(t *testing.T) {
	v, err := lang.ParseJSON("a.json", []byte("{\"b\": [1.0, -2e2, \"x\\n\\u00e9\"],\n \"a\": {\"n\": null, \"t\": true}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":{"n":null,"t":true},"b":[1,-200,"x\né"]}`
	if got := string(v.AppendJSON(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for path, pos := range map[string]string{
		"": "a.json:1:1", ".b": "a.json:1:7", ".b[2]": "a.json:1:19", ".a.t": "a.json:2:24",
	} {
		if got, ok := v.At(path); !ok || got.Pos.String() != pos {
			t.Errorf("%s is at %s, %v, want %s", path, got.Pos, ok, pos)
		}
	}
	for _, path := range []string{".x", ".b[3]", ".b.c", "[0]", ".a[0]", ".b[-1]", "x", ".", "[", `["b`, `["b"`} {
		if got, ok := v.At(path); ok {
			t.Errorf("At(%q) = %+v, want nothing", path, got)
		}
	}
}

func TestParseJSONErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "0 JSON values",
		"1 2":                     "a.json:1:3: there are 2 JSON values",
		"{\"a\":1,\n\"a\":2}":     `a.json:2:1: duplicate key "a"`,
		"[1,]":                    "a.json:1:4: nothing follows the comma",
		"{\"a\":1,}":              "a.json:1:8: nothing follows the comma",
		"[1 2]":                   "a.json:1:4: a comma",
		"{a:1}":                   "a.json:1:2: a member's name",
		"{\"a\" 1}":               "a.json:1:6: a colon",
		"nul":                     "no JSON value starts with 'n'",
		"nullx":                   "unknown word after null",
		"01":                      "does not start with zeros",
		"1.":                      "a digit belongs here",
		"-":                       "a digit belongs here",
		"1e":                      "a digit belongs here",
		"1e99999":                 "400 digits",
		"\"":                      "does not end",
		"\"\\x\"":                 "unknown escape",
		"\"\\":                    "unknown escape",
		"\"\\u12":                 "four hexadecimal digits",
		"\"\\u12g4\"":             "four hexadecimal digits",
		"\"\\udc00\"":             "unpaired surrogate",
		"\"\\ud800\\u0041\"":      "unpaired surrogate",
		"\"a\nb\"":                "control characters",
		"[":                       "ends where a value belongs",
		"{":                       "a member's name",
		"\"\xff\"":                "invalid UTF-8",
		strings.Repeat("[", 1000): "nest deeper",
	} {
		_, err := lang.ParseJSON("a.json", []byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseJSON(%.20q): got %v, want %q", in, err, want)
		}
	}
}

// FuzzParseJSON checks that no input panics, that whatever is accepted
// encoding/json accepts too, and that writing and reading again changes
// nothing.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,-3e2,"x\u00e9\ud83d\ude00"],"b":{"c":null,"d":true}}`, `[]`, `{}`, `""`, "1", `{"a":1,"a":2}`,
		"\uFEFF1", `"\u2028\b\f"`, "[1e-7,18446744073709551615]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := lang.ParseJSON("a.json", in)
		if err != nil {
			if l := diag.From(err); len(l) == 0 || l[0].Code == "" || l[0].Message == "" {
				t.Errorf("an error without code or message: %v", err)
			}
			return
		}
		if !json.Valid(trimBOM(in)) {
			t.Errorf("accepted %q", in)
		}
		first := v.AppendJSON(nil)
		again, err := lang.ParseJSON("a.json", first)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", in, first, err)
		}
		if second := again.AppendJSON(nil); string(first) != string(second) {
			t.Errorf("%q was written as %q and then %q", in, first, second)
		}
		for path, inner := range v.All() {
			if at, ok := v.At(path); !ok || at.Kind != inner.Kind || at.Pos != inner.Pos {
				t.Errorf("At(%q) = %v, %v, want %v", path, at, ok, inner)
			}
		}
		wire, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back lang.Value
		if err := json.Unmarshal(wire, &back); err != nil {
			t.Fatal(err)
		}
		if got := back.AppendJSON(nil); string(got) != string(first) {
			t.Errorf("%q came over the wire as %q", first, got)
		}
	})
}

func trimBOM(b []byte) []byte { return []byte(strings.TrimPrefix(string(b), "\uFEFF")) }

func TestPaths(t *testing.T) {
	got := lang.JoinIndex(lang.JoinField(lang.JoinField("", "spec"), "containers"), 0)
	got = lang.JoinField(lang.JoinField(got, `app.kubernetes.io/"name"`), "x-y")
	if want := `.spec.containers[0]["app.kubernetes.io/\"name\""].x-y`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReader(t *testing.T) {
	r := lang.NewReader(lang.Program{
		FS:      fstest.MapFS{"a.cue": {Data: []byte("a")}, "dir/b": {Data: []byte("b")}},
		Library: fstest.MapFS{"cue/x.cue": {Data: []byte("x")}},
	})
	for name, want := range map[string]string{"a.cue": "a", "dir/b": "b", "@writ/cue/x.cue": "x"} {
		if got, err := r.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("ReadFile(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := r.ReadDir("dir"); err != nil {
		t.Error(err)
	}
	for name, code := range map[string]string{"../x": "LANG002", "/etc/passwd": "LANG002", "a/../../x": "LANG002", "nope": "LANG001", "dir": "LANG001"} {
		_, err := r.ReadFile(name)
		if l := lang.Failure(diag.Position{}, name, err); err == nil || l[0].Code != code {
			t.Errorf("ReadFile(%s): got %v, want %s", name, l, code)
		}
	}
	want := []lang.Read{
		{File: "@writ/cue/x.cue", SHA256: lang.Digest([]byte("x"))},
		{File: "a.cue", SHA256: lang.Digest([]byte("a"))},
		{File: "dir"},
		{File: "dir/", SHA256: lang.Digest([]byte("b\n"))},
		{File: "dir/b", SHA256: lang.Digest([]byte("b"))},
		{File: "nope"},
	}
	if d := cmp.Diff(want, r.Reads()); d != "" {
		t.Errorf("reads (-want +got):\n%s", d)
	}
	other := append([]lang.Read(nil), want...)
	other[5].SHA256 = lang.Digest(nil)
	if lang.DigestReads(want, nil) == lang.DigestReads(other, nil) {
		t.Error("a file that appeared does not change the digest")
	}
	if lang.DigestReads(want, nil) == lang.DigestReads(want, map[string]string{"a": ""}) {
		t.Error("an input does not change the digest")
	}
}

// TestReaderOnDisk checks links and special files, which only a disk has.
func TestReaderOnDisk(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"module/sub", "secret"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "secret", "s"), []byte("s"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "module", "sub", "f"), []byte("f"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"inside": "sub/f", "outside": "../secret/s", "absolute": filepath.Join(dir, "secret", "s"),
		"dir": "../secret", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "module", link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(dir, "module"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r := lang.NewReader(lang.Program{FS: root.FS()})
	if got, err := r.ReadFile("inside"); string(got) != "f" || err != nil {
		t.Errorf("a link that stays inside: got %q, %v", got, err)
	}
	for _, name := range []string{"outside", "absolute", "dir/s"} {
		_, err := r.ReadFile(name)
		if l := lang.Failure(diag.Position{}, name, err); err == nil || l[0].Code != "LANG002" {
			t.Errorf("%s: got %v, want LANG002", name, l)
		}
	}
	if _, err := r.ReadDir("dir"); err == nil {
		t.Error("listed a directory outside of the root")
	}
	if _, err := r.ReadFile("loop"); err == nil {
		t.Error("read a link to itself")
	}
}

func TestReaderBounds(t *testing.T) {
	many := fstest.MapFS{}
	name := func(i int) string { return "f" + string(rune('a'+i)) }
	for i := range 9 {
		many[name(i)] = &fstest.MapFile{Data: make([]byte, lang.MaxFileSize)}
	}
	many["huge"] = &fstest.MapFile{Data: make([]byte, lang.MaxFileSize+1)}
	many["pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	r := lang.NewReader(lang.Program{FS: many})
	for _, bad := range []string{"huge", "pipe"} {
		if _, err := r.ReadFile(bad); err == nil {
			t.Errorf("read %s", bad)
		}
	}
	var err error
	for i := range 9 {
		if _, err = r.ReadFile(name(i)); err != nil && i < 8 {
			t.Fatal(err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "together") {
		t.Errorf("nine files of the largest size: got %v", err)
	}
}
