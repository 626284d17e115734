package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// staleProject has every kind of thing that an answer can depend on.
var staleProject = map[string]string{
	"cue.mod/module.cue": "module: \"example.com/shop\"\nlanguage: version: \"v0.9.0\"\n",
	"writ.yaml": `name: shop
namespace: base
inputs: {tier: low}
units:
  cue: {entry: cueapp}
  jsonnet: {entry: jsonnetapp/main.jsonnet, inputs: {who: me}}
  yaml: {entry: manifests}
  more: {entry: "more/*"}
environments:
  dev: {inputs: {env: dev}}
  prod: {inputs: {env: prod}}
policies: [policies/all.yaml, policies/more.cue]
schemas: [crds]
`,
	"cueapp/a.cue": "package app\n\nimport \"example.com/shop/lib\"\n\n_env: string @tag(env)\na: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"cue\", data: v: lib.v + _env}\n",
	"lib/lib.cue":  "package lib\n\nv: \"lib-1-\"\n",
	"jsonnetapp/main.jsonnet": `function(who, tier) [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'jsonnet' }, data: { v: v } }
  for v in [(import 'lib.libsonnet').v + (importstr 'text.txt') + who + tier + (import 'pkg/x.libsonnet').v + (import '../now/v.libsonnet')]
]
`,
	"jsonnetapp/lib.libsonnet": "{ v: 'a' }\n",
	"jsonnetapp/text.txt":      "text",
	"vendor/pkg/x.libsonnet":   "{ v: 'vendored' }\n",
	"one/v.libsonnet":          "'link one'\n",
	"two/v.libsonnet":          "'link two'\n",
	"manifests/a.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {v: \"1\"}\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {size: 1}\n",
	"more/m.jsonnet":           "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { v: 'm' } }\n",
	"policies/all.yaml":        "policies:\n- name: says\n  match: {kinds: [ConfigMap]}\n  rule: \"false\"\n  messageExpression: object.metadata.namespace + \"/\" + object.metadata.name + \"=\" + object.data.v\n",
	"policies/more.cue":        "package policies\n\n#ConfigMap: {metadata: {name: !=\"nobody\", ...}, ...}\n",
	"crds/thing.yaml":          crdOf("integer"),
	"shop_test.jsonnet":        "{ tests: { all: { env: 'dev', expect: [{ kind: 'ConfigMap', match: { data: { v: '?' } } }] } } }\n",
}

func crdOf(size string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: ` + size + `}}}}}}}]
`
}

// project is a directory with a project, and a cache.
type project struct {
	t          *testing.T
	dir, cache string
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	p := &project{t, filepath.Join(t.TempDir(), "shop"), t.TempDir()}
	for name, content := range files {
		p.write(name, content)
	}
	return p
}

func (p *project) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) path(name string) string { return filepath.Join(p.dir, name) }

func (p *project) write(name, content string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	p.must(os.WriteFile(p.path(name), []byte(content), 0o644))
}

// edit changes a file, most often to something of the same length, and gives it
// the time that it had.
func (p *project) edit(name, old, new string) {
	p.t.Helper()
	info, err := os.Stat(p.path(name))
	p.must(err)
	before, err := os.ReadFile(p.path(name))
	p.must(err)
	after := strings.Replace(string(before), old, new, 1)
	if after == string(before) {
		p.t.Fatalf("%s has no %q", name, old)
	}
	p.write(name, after)
	p.must(os.Chtimes(p.path(name), info.ModTime(), info.ModTime()))
}

// writ runs the command in the project and returns all that it says.
func (p *project) writ(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(binDir, "writ"), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "WRIT_CACHE="+p.cache, "NO_COLOR=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		p.t.Fatal(err)
	}
	return fmt.Sprintf("%sexit code %d\n", out.String(), cmd.ProcessState.ExitCode())
}

// withoutTimes finds how long something took.
var withoutTimes = regexp.MustCompile(`\d+\.\d+s`)

// TestNothingIsStale changes each kind of thing that an answer depends on, one
// after the other, and asks again through one cache: the answer is that of a run
// without a cache, and it is another one than before.
func TestNothingIsStale(t *testing.T) {
	p := newProject(t, staleProject)
	p.must(os.Symlink("one", p.path("now")))
	time.Sleep(2100 * time.Millisecond) // so that times are trusted

	verbs := map[string][]string{
		"render": {"render", "-o", "jsonl"},
		"check":  {"check"},
		"test":   {"test"},
	}
	flags := []string{"-e", "dev"}
	ask := func(verb string, more ...string) string {
		args := append(verbs[verb], more...)
		if verb != "test" {
			args = append(args, flags...)
		}
		out := p.writ(args...)
		if verb == "test" { // it says how long it took
			out = withoutTimes.ReplaceAllString(out, "")
		}
		return out
	}
	last := map[string]string{}
	for verb := range verbs {
		last[verb] = ask(verb)
		if again := ask(verb); again != last[verb] {
			t.Fatalf("%s says something else without a change:\n%s\n%s", verb, last[verb], again)
		}
	}
	for _, want := range []string{"lib-1-dev", "atextmelowvendored", "link one", `"v":"m"`} {
		if !strings.Contains(last["render"], want) {
			t.Fatalf("want %s in what is rendered:\n%s", want, last["render"])
		}
	}
	// writ test keeps nothing: it is asked after one change of each language and
	// of the project.
	everything, all := "render check", "render check test"
	for _, c := range []struct {
		name    string
		change  func()
		changes string // the verbs that say something else now
	}{
		{"the entry's file", func() { p.edit("cueapp/a.cue", `name: "cue"`, `name: "cuf"`) }, all},
		{"an imported package", func() { p.edit("lib/lib.cue", "lib-1", "lib-2") }, all},
		{"a file that joins the package", func() { p.write("cueapp/b.cue", "package app\n\na: metadata: labels: joined: \"yes\"\n") }, "render"},
		{"a file that joins the imported package", func() { p.write("lib/more.cue", "package lib\n\nv: \"another\"\n") }, everything},
		{"that file removed", func() { p.must(os.Remove(p.path("lib/more.cue"))) }, everything},
		{"a file that adds a document", func() {
			p.write("cueapp/c.cue", "package app\n\nc: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"joined\", data: v: \"j\"}\n")
		}, all},
		{"that file removed", func() { p.must(os.Remove(p.path("cueapp/c.cue"))) }, everything},
		{"an import", func() { p.edit("jsonnetapp/lib.libsonnet", "'a'", "'b'") }, everything},
		{"an importstr", func() { p.edit("jsonnetapp/text.txt", "text", "Text") }, all},
		{"a vendored file", func() { p.edit("vendor/pkg/x.libsonnet", "vendored", "Vendored") }, everything},
		{"a file that was not there", func() { p.write("jsonnetapp/pkg/x.libsonnet", "{ v: 'nearer' }\n") }, all},
		{"that file removed again", func() { p.must(os.RemoveAll(p.path("jsonnetapp/pkg"))) }, everything},
		{"a link that leads elsewhere", func() {
			p.must(os.Remove(p.path("now")))
			p.must(os.Symlink("two", p.path("now")))
		}, all},
		{"a link instead of a file", func() {
			p.must(os.Rename(p.path("jsonnetapp/lib.libsonnet"), p.path("jsonnetapp/old.libsonnet")))
			p.write("other.libsonnet", "{ v: 'c' }\n")
			p.must(os.Symlink("../other.libsonnet", p.path("jsonnetapp/lib.libsonnet")))
		}, everything},
		{"an older file moved in", func() { p.must(os.Rename(p.path("jsonnetapp/old.libsonnet"), p.path("jsonnetapp/lib.libsonnet"))) }, everything},
		{"a YAML file", func() { p.edit("manifests/a.yaml", `"1"`, `"2"`) }, all},
		{"a YAML file more", func() {
			p.write("manifests/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml2}\ndata: {v: b}\n")
		}, everything},
		{"a unit that a pattern matches", func() {
			p.write("more/n.jsonnet", "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'n' }, data: { v: 'n' } }\n")
		}, all},
		{"an input of the project", func() { p.edit("writ.yaml", "low", "top") }, everything},
		{"an input of a unit", func() { p.edit("writ.yaml", "who: me", "who: us") }, everything},
		{"an input of the environment", func() { p.edit("writ.yaml", "env: dev", "env: DEV") }, all},
		{"the namespace", func() { p.edit("writ.yaml", "namespace: base", "namespace: Base") }, everything},
		{"the namespace, which has to be a name", func() { p.edit("writ.yaml", "namespace: Base", "namespace: case") }, everything},
		{"the units of the environment", func() {
			p.edit("writ.yaml", "{inputs: {env: DEV}}", "{inputs: {env: DEV}, units: [cue, jsonnet, yaml]}")
		}, everything},
		{"a policy in CEL", func() { p.edit("policies/all.yaml", `"="`, `"~"`) }, "check"},
		{"a policy in CUE", func() { p.edit("policies/more.cue", "nobody", "yaml") }, "check"},
		{"the definition of a kind", func() { p.write("crds/thing.yaml", crdOf("string")) }, "check"},
		{"the tests", func() { p.edit("shop_test.jsonnet", "'?'", "'!'") }, "test"},
		{"a test file more", func() { p.write("more_test.jsonnet", "{ tests: { more: true } }\n") }, "test"},
		{"the environment asked for", func() { flags = []string{"-e", "prod"} }, "render check"},
		{"an input on the command line", func() { flags = append(flags, "-i", "tier=mine") }, "render check"},
		{"the units asked for", func() { flags = append(flags, "--unit", "jsonnet") }, "render check"},
		{"the format", func() { verbs["render"] = []string{"render", "-o", "json"} }, "render"},
		{"a policy on the command line", func() {
			p.write("policies/flag.yaml", "policies: [{name: flag, rule: \"false\", message: by flag}]\n")
			flags = nil
			verbs = map[string][]string{"check": {"check", "-e", "dev", "--policy", "policies/flag.yaml"}}
		}, "check"},
		{"a policy that a flag names", func() { p.edit("policies/flag.yaml", "by flag", "BY FLAG") }, "check"},
	} {
		c.change()
		var asking sync.WaitGroup
		got, fresh := map[string]*string{}, ""
		for verb := range verbs {
			if verb == "test" && !strings.Contains(c.changes, verb) {
				continue
			}
			answer := new(string)
			got[verb] = answer
			asking.Go(func() { *answer = ask(verb) })
		}
		// What is kept of programs is the same for all verbs.
		if _, ok := verbs["render"]; ok {
			asking.Go(func() { fresh = ask("render", "--no-cache") })
		}
		asking.Wait()
		for verb, got := range got {
			if verb == "render" && *got != fresh {
				t.Errorf("%s: writ render is stale:\n%s\nwithout a cache it is\n%s", c.name, *got, fresh)
			}
			if want := strings.Contains(c.changes, verb); want && *got == last[verb] {
				t.Errorf("%s: writ %s says what it said before:\n%s", c.name, verb, *got)
			}
			last[verb] = *got
		}
	}
}

// TestOneCacheForMany runs several processes over one cache, which is emptied
// again and again, in projects that differ only in what their files hold: each
// gets what is its own.
func TestOneCacheForMany(t *testing.T) {
	shared := t.TempDir()
	done := make(chan struct{})
	var cleaning, working sync.WaitGroup
	for i := range 4 {
		p := newProject(t, map[string]string{
			"main.jsonnet":  "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: import 'lib.libsonnet' }\n",
			"lib.libsonnet": fmt.Sprintf("{ v: '%d-0' }\n", i),
		})
		p.cache = shared
		working.Go(func() {
			for round := range 8 {
				if round%3 == 2 {
					p.write("lib.libsonnet", fmt.Sprintf("{ v: '%d-%d' }\n", i, round))
				}
				want := fmt.Sprintf(`"v":"%d-%d"}`, i, max(0, (round+1)/3*3-1))
				if got := p.writ("render", "-o", "jsonl"); !strings.Contains(got, want) || !strings.HasSuffix(got, "exit code 0\n") {
					t.Errorf("project %d, round %d: want %s:\n%s", i, round, want, got)
				}
			}
		})
	}
	cleaner := newProject(t, map[string]string{"a.yaml": "a: 1\n"})
	cleaner.cache = shared
	cleaning.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
			if got := cleaner.writ("cache", "clean"); got != "exit code 0\n" {
				t.Errorf("writ cache clean: %s", got)
			}
		}
	})
	working.Wait()
	close(done)
	cleaning.Wait()
	if got := cleaner.writ("cache", "stats", "-o", "json"); !strings.Contains(got, `"entries"`) {
		t.Errorf("writ cache stats: %s", got)
	}
}
