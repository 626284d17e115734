package stdlib_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/render"
)

// TestReferences compares what programs say about one another and about
// environments: addresses of services, keys of Secrets and ConfigMaps, settings.
// A reference to what is not there is a mistake in both languages.
func TestReferences(t *testing.T) {
	const twoApps = `
	web: app.#App & {name: "web", image: "x:1", ports: http: port: 80, dependencies: backend: service: api.address.http}
	api: app.#App & {name: "api", namespace: "back", image: "x:1", ports: {http: port: 80, dns: port: 53}, dependencies: front: service: web.address.http}`
	const twoAppsJsonnet = `
	web: writ.app('web', { image: 'x:1', ports: { http: { port: 80 } }, dependencies: { backend: { service: $.api.address.http } } }),
	api: writ.app('api', { namespace: 'back', image: 'x:1', ports: { http: { port: 80 }, dns: { port: 53 } }, dependencies: { front: { service: $.web.address.http } } }),`
	const keys = `
	_db: app.#Secret & {name: "db.creds", keys: ["user", "password"]}
	shared: app.#Config & {name: "shared", data: LEVEL: "info"}
	web: app.#Worker & {name: "web", image: "x:1", env: {P: _db.ref.password, L: shared.ref.LEVEL}}`
	const keysJsonnet = `
	local db = writ.secret('db.creds', ['user', 'password']),
	shared: writ.config('shared', { data: { LEVEL: 'info' } }),
	web: writ.worker('web', { image: 'x:1', env: { P: db.ref.password, L: $.shared.ref.LEVEL } }),`
	const environments = `
	_set: (app.#Environment & {name: "dev", all: {replicas: 1, level: "info", sizes: {a: 1, b: 2}}, of: {dev: {}, prod: {replicas: 3, sizes: a: 5}}}).value
	x: app.#Config & {name: "x", data: {for k, v in _set if k != "sizes" {(k): "\(v)"}, for k, v in _set.sizes {(k): "\(v)"}}}`
	const environmentsJsonnet = `
	local set = writ.environment('dev', { replicas: 1, level: 'info', sizes: { a: 1, b: 2 } }, { dev: {}, prod: { replicas: 3, sizes: { a: 5 } } }),
	local text(o) = { [k]: std.toString(o[k]) for k in std.objectFields(o) if k != 'sizes' },
	x: writ.config('x', { data: text(set) + text(set.sizes) }),`
	const store = `
	store: app.#Service & {name: "store", namespace: "back", selector: app: "store", ports: redis: port: 6379}
	web: app.#Worker & {name: "web", image: "x:1", dependencies: s: service: store.address.redis}`
	const storeJsonnet = `
	store: writ.service('store', { namespace: 'back', selector: { app: 'store' }, ports: { redis: { port: 6379 } } }),
	web: writ.worker('web', { image: 'x:1', dependencies: { s: { service: $.store.address.redis } } }),`
	for _, c := range []struct {
		name         string
		cue, jsonnet string
		// old is replaced by new in both programs.
		old, new string
		// want is a part of the documents, or wrong of both errors.
		want, wrong string
	}{
		{name: "addresses", cue: twoApps, jsonnet: twoAppsJsonnet, want: "service: {name: api, namespace: back, ports: [http]}"},
		{name: "addresses, the other way", cue: twoApps, jsonnet: twoAppsJsonnet, want: "service: {name: web, ports: [http]}"},
		{name: "no such port", cue: twoApps, jsonnet: twoAppsJsonnet, old: "api.address.http", new: "api.address.htp", wrong: "htp"},
		{name: "keys", cue: keys, jsonnet: keysJsonnet, want: "secretKeyRef: {key: password, name: db.creds}"},
		{name: "no such key of a Secret", cue: keys, jsonnet: keysJsonnet, old: "db.ref.password", new: "db.ref.passwd", wrong: "passwd"},
		{name: "no such key of a Config", cue: keys, jsonnet: keysJsonnet, old: "ref.LEVEL", new: "ref.LEVLE", wrong: "LEVLE"},
		{name: "a key twice", cue: strings.Replace(keys, `"user",`, `"password",`, 1), jsonnet: strings.Replace(keysJsonnet, `'user',`, `'password',`, 1), wrong: "keys"},
		{name: "an environment like all", cue: environments, jsonnet: environmentsJsonnet, want: `data: {a: "1", b: "2", level: info, replicas: "1"}`},
		{name: "an environment that differs", cue: strings.Replace(environments, `name: "dev"`, `name: "prod"`, 1), jsonnet: strings.Replace(environmentsJsonnet, "'dev',", "'prod',", 1), want: `data: {a: "5", level: info, replicas: "3"}`},
		{name: "no such environment", cue: strings.Replace(environments, `name: "dev"`, `name: "stage"`, 1), jsonnet: strings.Replace(environmentsJsonnet, "'dev',", "'stage',", 1), wrong: "there is no environment stage; there are: dev, prod"},
		{name: "a setting that is misspelt", cue: environments, jsonnet: environmentsJsonnet, old: "replicas: 3", new: "replica: 3", wrong: "of.prod.replica"},
		{name: "a service of others", cue: store, jsonnet: storeJsonnet, want: "service: {name: store, namespace: back, ports: [redis]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{
				"cue/a.cue":            {Data: []byte("package a\n\nimport \"writ.dev/app\"\n" + replace(t, c.cue, c.old, c.new))},
				"jsonnet/main.jsonnet": {Data: []byte("local writ = import 'writ.libsonnet';\n{" + replace(t, c.jsonnet, c.old, c.new) + "\n}")},
			}
			texts := map[string]string{}
			for _, entry := range []string{"cue", "jsonnet"} {
				b, err := render.Render(t.Context(), render.Options{FS: fsys, Entry: entry, Evaluators: evaluators})
				if c.wrong != "" {
					if err == nil || !strings.Contains(err.Error(), c.wrong) {
						t.Errorf("%s: %v, want %q", entry, err, c.wrong)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", entry, err)
				}
				texts[entry] = string(b.YAML())
				if flat := strings.Join(strings.Fields(string(b.JSONLines())), ""); !strings.Contains(flat, asJSON(t, c.want)) {
					t.Errorf("%s: no %s in\n%s", entry, c.want, flat)
				}
			}
			if d := cmp.Diff(texts["cue"], texts["jsonnet"]); d != "" {
				t.Errorf("CUE and Jsonnet differ (-CUE +Jsonnet):\n%s", d)
			}
		})
	}
}

func replace(t *testing.T, text, old, new string) string {
	t.Helper()
	if old != "" && !strings.Contains(text, old) {
		t.Fatalf("no %q in %s", old, text)
	}
	return strings.ReplaceAll(text, old, new)
}

// asJSON is YAML of one field as it is in canonical JSON.
func asJSON(t *testing.T, field string) string {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(field))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(b), "{}")
}
