package repl_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/repl"
)

func open(t *testing.T, fs fstest.MapFS) *repl.Session {
	t.Helper()
	s, err := repl.New(repl.Options{Open: func() (*repl.Source, error) {
		p, err := render.ParseProject(fs["writ.yaml"].Data)
		return &repl.Source{FS: fs, Dir: ".", Project: p, Evaluators: render.FrontEnds()}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func project() fstest.MapFS {
	return fstest.MapFS{
		"writ.yaml": {Data: []byte("units: {c: c.cue, j: j.jsonnet, y: y.yaml}\nenvironments: {dev: {inputs: {who: me}}, prod: {}}\n")},
		"c.cue": {Data: []byte(`
			web: {"a-b": 1, name: "n", list: [{x: 1}, 2]}
			"top-level": 3
			who: *"nobody" | string @tag(who)
		`)},
		"j.jsonnet": {Data: []byte("{ web: { 'a-b': 1, name: 'n', list: [{ x: 1 }, 2] } }")},
		"y.yaml":    {Data: []byte("kind: A\nmetadata: {name: a, labels: {app/name: x}}\n---\nkind: B\n")},
	}
}

// do answers lines and shows what came of each.
func do(t *testing.T, s *repl.Session, lines ...string) string {
	t.Helper()
	out := ""
	for _, line := range lines {
		a, err := s.Do(t.Context(), line)
		switch {
		case err != nil:
			d := diag.From(err)[0]
			out = fmt.Sprintf("error: %s (%s)", d.Message, d.Hint)
		case a.Value != nil:
			out = string(a.Value.AppendJSON(nil))
		default:
			out = a.Text
		}
	}
	return out
}

func TestDo(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{".web.list[0]", `{"x":1}`},
		{".web.list[2]", `error: there is nothing at .web.list[2] (.web.list is a list of 2)`},
		{".web.name.x", `error: there is nothing at .web.name.x (.web.name is a string)`},
		{".webb", `error: there is nothing at .webb (the value has top-level, web, who)`},
		{".web[", `error: .web[ is no path (paths are like .a.b[0]["c/d"])`},
		{":nothing", `error: there is no command :nothing (:help lists the commands)`},
		{":", `error: there is no command : (:help lists the commands)`},
		{":quit now", `error: :quit takes no argument ()`},
		{":load nothing", `error: there is no unit "nothing" in environment dev (:units lists them)`},
		{":env test", `error: no environment "test" (there is dev, prod)`},
		{":set who", `error: "who" gives no input (write :set NAME=VALUE)`},
		{":unset who", `error: who was not given here (:set lists the inputs)`},
		{":set who=you|who", `"you"`},
		{":set who=you|:unset who|who", `"me"`},
		{":set who=you|:env prod|who", `"you"`},
		{":env prod|who", `"nobody"`},
		{":load y|kind", `error: there is nothing at .kind (the value is a list of 2)`},
		{":load y|[1].kind", `"B"`},
		{":load j|.web.list[1]", "2"},
		{":load y|:type [0].metadata", "object"},
	} {
		t.Run(c.lines, func(t *testing.T) {
			if got := do(t, open(t, project()), strings.Split(c.lines, "|")...); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestFresh: what is shown is never older than the files.
func TestFresh(t *testing.T) {
	fs := project()
	s := open(t, fs)
	if got := do(t, s, ".who"); got != `"me"` {
		t.Fatal(got)
	}
	fs["c.cue"] = &fstest.MapFile{Data: []byte("who: 1")}
	if got := do(t, s, ".who"); got != "1" {
		t.Errorf("the file has changed, and the value is %s", got)
	}
	fs["writ.yaml"] = &fstest.MapFile{Data: []byte("units: {j: j.jsonnet}\n")}
	if got := do(t, s, ":reload"); !strings.Contains(got, `no environment "dev"`) {
		t.Errorf("an environment that is gone: %s", got)
	}
	if got := do(t, s, ":units"); got != "* j  j.jsonnet" {
		t.Errorf("after :reload there is\n%s", got)
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ unit, line, want string }{
		{"c", ":l", ":load"},
		{"c", ":", ":env :help :load :quit :reload :set :type :units :unset :why"},
		{"c", ":load ", "c j y"},
		{"c", ":env p", "prod"},
		{"c", ":set w", "who="},
		{"c", ":why .we", ".web"},
		{"c", "w", "web who"},
		{"c", "t", ""},
		{"c", "web.", ".list .name"},
		{"c", "web[", `["a-b"]`},
		{"c", ".web.a", ".a-b"},
		{"c", "1 + web.n", ".name"},
		{"c", "web.list[", "[0] [1]"},
		{"c", "web.list[0].", ".x"},
		{"c", "web.nothing.", ""},
		{"c", "(web", "web"},
		{"j", "$.", ".web"},
		{"j", "$.web.", ".list .name"},
		{"j", "$.web[", `["a-b"]`},
		{"j", "std.", ""},
		{"j", "w", ""},
		{"j", ".web.list[0]", ""},
		{"y", "[0].m", ".metadata"},
		{"y", "[0].metadata.labels", ".labels"},
		{"y", "[0].metadata.labels[", `["app/name"]`},
		{"y", "", "[0] [1]"},
	} {
		t.Run(c.unit+" "+c.line, func(t *testing.T) {
			s := open(t, project())
			do(t, s, ":load "+c.unit)
			start, all := s.Complete(t.Context(), c.line+" rest", len(c.line))
			if d := cmp.Diff(strings.Fields(c.want), all, cmp.Transformer("", func(l []string) string { return strings.Join(l, " ") })); d != "" {
				t.Fatalf("(-want +got):\n%s", d)
			}
			for _, candidate := range all {
				if !strings.HasPrefix(candidate, c.line[start:]) {
					t.Errorf("%s does not begin with %s", candidate, c.line[start:])
				}
			}
		})
	}
}

// FuzzSession: no line breaks a session.
func FuzzSession(f *testing.F) {
	for _, s := range []string{".web.list[0]", ":set a=b", "web & {x: 1}", "$.web", ".[", `["a`, ":type (", "#a", "{", ":why .web.list[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 200 {
			return
		}
		for _, unit := range []string{"c", "j", "y"} {
			s := open(t, project())
			do(t, s, ":load "+unit)
			_, err := s.Do(t.Context(), line)
			for _, d := range diag.From(err) {
				if strings.HasSuffix(d.Code, "000") {
					t.Errorf("%s: %v", unit, d)
				}
			}
			for pos := range line {
				s.Complete(t.Context(), line, pos)
			}
		}
	})
}
