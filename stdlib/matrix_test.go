package stdlib_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check"
)

// twin is a definition in CUE and the function in Jsonnet that does the same.
type twin struct {
	cue, jsonnet string
	// must are fields that every spec has.
	must []string
	// good are values of each field that may be together with those of all
	// others; bad are values that are a mistake, whatever the others are. Both are
	// JSON, which is CUE and Jsonnet.
	good, bad map[string][]string
}

var common = twin{
	must: []string{`"image": "registry.example/x:1"`},
	good: map[string][]string{
		"namespace":    {`"shop"`},
		"command":      {`["/bin/x"]`, `[]`},
		"args":         {`["a", "no", "$(X)"]`},
		"env":          {`{}`, `{"A": "no", "_b1": ""}`, `{"P": {"secret": {"name": "db.creds", "key": "pass.word"}}, "C": {"configMap": {"name": "c", "key": "K", "optional": true}}, "F": {"field": "metadata.name"}}`},
		"envFrom":      {`[]`, `[{"secret": "s"}, {"configMap": "c", "prefix": "C_", "optional": false}]`},
		"config":       {`{}`, `{"a.conf": "x = 1\n", "B": "ü"}`},
		"configDir":    {`"/config"`},
		"mounts":       {`{}`, `{"tls": {"path": "/tls", "secret": "tls"}, "a": {"path": "/a", "configMap": "c.d"}, "tmp": {"path": "/tmp", "emptyDir": {}}}`, `{"tmp": {"path": "/tmp", "emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}}}`},
		"dependencies": {`{}`, `{"api": {"service": "api:8080"}}`, `{"api": {"service": "api:http"}, "db": {"service": "data/db:5432", "start": "ready"}, "q": {"service": "q:1", "start": "none"}}`},
		"resources":    {`{}`, `{"requests": {"cpu": "100m", "memory": 1048576}}`, `{"limits": {"memory": "128Mi", "cpu": 0.5, "example.com/gpu": 1}, "requests": {"ephemeral-storage": "1.5Gi", "example.com/gpu": 1}}`},
		"gracePeriod":  {`0`, `90`},
		"labels":       {`{}`, `{"team": "blue", "example.com/tier": ""}`},
	},
	bad: map[string][]string{
		"imag":         {`"x"`},
		"image":        {`""`, `"a b"`, `3`, `null`},
		"namespace":    {`""`, `"Shop"`, `"a.b"`, `null`},
		"command":      {`"x"`, `[1]`},
		"args":         {`{}`, `[true]`},
		"env":          {`{"A": 1}`, `{"1A": "x"}`, `{"A-B": "x"}`, `{"A": {"secret": {"name": "s"}}}`, `{"A": {"secret": {"name": "S", "key": "k"}}}`, `{"A": {"value": "x"}}`, `{"A": {}}`, `{"A": null}`, `{"A": {"field": "a", "configMap": {"name": "c", "key": "k"}}}`, `[]`},
		"envFrom":      {`{}`, `[{}]`, `[{"secret": "a", "configMap": "b"}]`, `[{"secret": "a", "prefix": "1"}]`, `[{"secret": "A"}]`, `["a"]`},
		"config":       {`{"a/b": ""}`, `{"a": 1}`, `{"": "x"}`, `"x"`},
		"configDir":    {`"etc"`, `""`, `1`},
		"mounts":       {`{"a": {"path": "/a"}}`, `{"a": {"secret": "s"}}`, `{"a": {"path": "a", "secret": "s"}}`, `{"a": {"path": "/a", "secret": "s", "emptyDir": {}}}`, `{"A": {"path": "/a", "secret": "s"}}`, `{"config": {"path": "/a", "secret": "s"}}`, `{"a": {"path": "/a", "hostPath": "/"}}`, `{"a": {"path": "/a", "emptyDir": {"medium": "Disk"}}}`, `{"a": {"path": "/a", "emptyDir": {"sizeLimit": "1GB"}}}`},
		"dependencies": {`{"api": {"service": "api"}}`, `{"api": {"service": "a/b/c:1"}}`, `{"api": {"service": "/b:1"}}`, `{"api": {"service": "-b:1"}}`, `{"api": {"service": "B:1"}}`, `{"API": {"service": "api:1"}}`, `{"api": "api:1"}`, `{"api": {}}`, `{"api": {"service": "api:"}}`, `{"api": {"service": "api:1", "start": "later"}}`, `{"api": {"servce": "api:1"}}`, `{"api": 8080}`, `["api:1"]`},
		"resources":    {`{"limit": {}}`, `{"limits": {"mem": "1Gi"}}`, `{"limits": {"memory": "1GB"}}`, `{"limits": {"cpu": -1}}`, `{"requests": {"cpu": ""}}`, `{"requests": {"cpu": "1.m"}}`, `{"requests": {"a/b/c": 1}}`, `{"requests": {"hugepages-": 1}}`},
		"gracePeriod":  {`-1`, `1.5`, `"30s"`, `2147483648`},
		"labels":       {`{"a": 1}`, `{"app.kubernetes.io/name": "other"}`},
	},
}

// brief is common with one value of each field, the richest, and one mistake, which
// is enough where the same code looks at them.
var brief = func() twin {
	out := common
	out.good, out.bad = map[string][]string{}, map[string][]string{}
	for f, values := range common.good {
		out.good[f] = values[len(values)-1:]
	}
	for f, values := range common.bad {
		out.bad[f] = values[:1]
	}
	return out
}()

// with adds fields.
func (t twin) with(cue, jsonnet string, must []string, good, bad map[string][]string) twin {
	out := twin{cue: cue, jsonnet: jsonnet, must: slices.Concat(t.must, must), good: maps.Clone(t.good), bad: maps.Clone(t.bad)}
	if out.good == nil {
		out.good, out.bad = map[string][]string{}, map[string][]string{}
	}
	maps.Copy(out.good, good)
	maps.Copy(out.bad, bad)
	return out
}

var (
	badPorts  = []string{`{"http": {}}`, `{"http": {"port": 0}}`, `{"http": {"port": "80"}}`, `{"http": {"port": 80, "target": 65536}}`, `{"http": {"port": 80, "protocol": "tcp"}}`, `{"http": {"port": 80, "public": "yes"}}`, `{"http": {"port": 80, "nodePort": 80}}`, `{"http": {"port": 80, "hostPort": 80}}`, `{"HTTP": {"port": 80}}`, `{"80": {"port": 80}}`, `{"a-name-too-long1": {"port": 80}}`, `[]`}
	badProbes = []string{`{"http": {"path": "x"}}`, `{"http": {"port": "nope"}}`, `{"http": {"port": 0}}`, `{"http": {"scheme": "HTTPS"}}`, `{"http": {"port": 80}, "tcp": {"port": 80}}`, `{"exec": {}}`, `{"exec": {"command": []}}`, `{"exec": {"command": "x"}}`, `{"period": 3}`, `{"tcp": {"port": 80}, "period": 0}`, `{"tcp": {"port": 80}, "timeout": "1s"}`, `{"tcp": {"port": 80}, "delay": -1}`, `{"tcp": {"port": 80}, "failures": 0}`, `{"live": {}}`, `{"live": {"period": 1}}`, `{"live": {"tcp": {"port": 80}, "exec": {"command": ["x"]}}}`, `{"live": {"live": {}}}`, `{"start": {"http": {"port": "nope"}}}`, `{"start": {"http": {"port": 80}, "failures": 0}}`, `{"ready": {}}`}

	twins = []twin{
		common.with("App", "app", []string{`"ports": {"http": {"port": 80, "target": 8080}, "dns": {"port": 53, "protocol": "UDP"}}`}, map[string][]string{
			"replicas": {`0`, `3`},
			"probes":   {`{}`, `{"http": {}}`, `{"tcp": {"port": 9000}, "period": 1, "timeout": 2, "delay": 0, "failures": 4, "live": {"exec": {"command": ["x", "y"]}}}`, `{"start": {"http": {"path": "/s", "port": "dns"}}, "live": {"tcp": {}}}`},
		}, map[string][]string{"replicas": {`-1`, `"2"`, `1.5`, `null`}, "probes": badProbes}),
		brief.with("App", "app", nil, map[string][]string{
			"ports":    {`{}`, `{"web": {"port": 80, "public": true, "nodePort": 30000}}`, `{"a": {"port": 1, "public": true}, "b-2": {"port": 65535, "target": 2}}`},
			"replicas": {`2`},
		}, map[string][]string{"ports": badPorts}),
		brief.with("Worker", "worker", nil, map[string][]string{
			"replicas": {`0`, `3`},
			"probes":   {`{}`, `{"http": {"port": 80}}`, `{"exec": {"command": ["x"]}}`, `{"live": {"tcp": {"port": 80}}}`},
		}, map[string][]string{"replicas": {`-1`}, "probes": append([]string{`{"http": {}}`, `{"tcp": {}}`}, badProbes...), "ports": {`{}`}}),
		brief.with("Job", "job", nil, task, badTask),
		brief.with("CronJob", "cronJob", []string{`"schedule": "*/5 0-3 * * 1,2"`}, cron(task, map[string][]string{
			"schedule":         {`"0 3 * * *"`, `"@daily"`},
			"timeZone":         {`"Europe/Berlin"`, `"Etc/GMT+3"`},
			"concurrency":      {`"Forbid"`, `"Allow"`, `"Replace"`},
			"startingDeadline": {`60`},
			"suspend":          {`true`, `false`},
			"keep":             {`{}`, `{"succeeded": 0, "failed": 3}`, `{"failed": 0}`},
		}), cron(badTask, map[string][]string{
			"schedule":         {`"daily"`, `"* * * *"`, `"* * * * * *"`, `"*  * * * *"`, `"@"`, `"@Daily"`, `5`},
			"timeZone":         {`""`, `"/x"`, `"a b"`, `1`},
			"concurrency":      {`"forbid"`, `true`},
			"startingDeadline": {`0`, `"1m"`},
			"suspend":          {`"no"`},
			"keep":             {`{"suceeded": 1}`, `{"failed": -1}`, `3`},
		})),
		twin{}.with("Config", "config", nil, map[string][]string{
			"namespace": {`"shop"`},
			"data":      {`{}`, `{"A": "1", "b.txt": "x\ny"}`},
			"labels":    {`{}`, `{"a": "b"}`},
		}, map[string][]string{"data": {`{"A": 1}`, `{"a/b": ""}`, `[]`}, "namespace": {`"A"`}, "labels": {`{"a": 1}`}, "date": {`{}`}}),
		twin{}.with("Service", "service", []string{`"selector": {"app": "x"}`, `"ports": {"a": {"port": 1}, "b": {"port": 2, "target": 3, "protocol": "UDP"}}`}, map[string][]string{
			"namespace":    {`"shop"`},
			"headless":     {`true`, `false`},
			"workload":     {`{}`, `{"kind": "Pod"}`, `{"name": "other.x", "kind": "CronJob"}`},
			"dependencies": common.good["dependencies"],
			"labels":       {`{}`, `{"a": "b"}`},
		}, map[string][]string{
			"namespace": {`"A"`}, "selector": {`{"a": 1}`, `{}`}, "ports": badPorts, "headless": {`"no"`},
			"workload":     {`{"kind": "DaemonSet"}`, `{"name": "A"}`, `{"uid": "x"}`, `"web"`},
			"dependencies": common.bad["dependencies"], "labels": {`{"a": 1}`}, "port": {`80`},
		}),
	}
	task = map[string][]string{
		"retries": {`0`, `6`}, "timeout": {`600`}, "completions": {`3`}, "parallelism": {`1`, `2`}, "restart": {`"Never"`, `"OnFailure"`},
	}
	badTask = map[string][]string{
		"retries": {`-1`, `"3"`}, "timeout": {`0`, `"10m"`}, "completions": {`0`}, "parallelism": {`0`, `1.5`}, "restart": {`"Always"`, `true`}, "replicas": {`1`},
	}
)

func cron(task, more map[string][]string) map[string][]string {
	out := maps.Clone(task)
	maps.Copy(out, more)
	return out
}

// spec is a choice for each field: an index into its good values, or none.
type spec map[string]int

// text is the spec, with one more field if there is one, which goes before others
// of its name.
func (t twin) text(s spec, more ...string) string {
	fields := map[string]string{}
	for f, i := range s {
		if i >= 0 {
			fields[f] = fmt.Sprintf("%q: %s", f, t.good[f][i])
		}
	}
	for _, f := range slices.Concat(t.must, more) {
		name, _, _ := strings.Cut(f, ":")
		fields[strings.Trim(name, `"`)] = f
	}
	return strings.Join(slices.Sorted(maps.Values(fields)), ", ")
}

// pairs makes specs in which every two choices of two fields are together.
func (t twin) pairs(random *rand.Rand) []spec {
	type choice struct {
		field string
		value int
	}
	fields := slices.Sorted(maps.Keys(t.good))
	left := map[[2]choice]bool{}
	for i, a := range fields {
		for _, b := range fields[i+1:] {
			for x := -1; x < len(t.good[a]); x++ {
				for y := -1; y < len(t.good[b]); y++ {
					left[[2]choice{{a, x}, {b, y}}] = true
				}
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(left), func(a, b [2]choice) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	var out []spec
	for _, p := range order {
		if !left[p] {
			continue
		}
		s := spec{}
		for _, f := range fields {
			s[f] = random.IntN(len(t.good[f])+1) - 1
		}
		s[p[0].field], s[p[1].field] = p[0].value, p[1].value
		for i, a := range fields {
			for _, b := range fields[i+1:] {
				delete(left, [2]choice{{a, s[a]}, {b, s[b]}})
			}
		}
		out = append(out, s)
	}
	return out
}

// programs writes one in each language, of specs by name.
func (t twin) programs(specs map[string]string) fstest.MapFS {
	cue := "package main\n\nimport \"writ.dev/app\"\n\n"
	jsonnet := "local writ = import 'writ.libsonnet';\n{\n"
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		cue += fmt.Sprintf("%q: app.#%s & {name: %q} & {%s}\n", name, t.cue, name, specs[name])
		jsonnet += fmt.Sprintf("%q: writ.%s(%q, {%s}),\n", name, t.jsonnet, name, specs[name])
	}
	return fstest.MapFS{"cue/a.cue": {Data: []byte(cue)}, "jsonnet/main.jsonnet": {Data: []byte(jsonnet + "}\n")}}
}

func (t twin) render(tb testing.TB, specs map[string]string) (cue, jsonnet *render.Bundle, cueErr, jsonnetErr error) {
	tb.Helper()
	fsys := t.programs(specs)
	cue, cueErr = render.Render(tb.Context(), render.Options{FS: fsys, Entry: "cue", Evaluators: evaluators})
	jsonnet, jsonnetErr = render.Render(tb.Context(), render.Options{FS: fsys, Entry: "jsonnet", Evaluators: evaluators})
	return cue, jsonnet, cueErr, jsonnetErr
}

// evaluators keep the library between programs.
var evaluators = render.Reusing()

// TestMatrixOfGood renders every pair of choices in both languages.
func TestMatrixOfGood(t *testing.T) {
	for _, tw := range twins {
		t.Run(tw.cue, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			specs := map[string]string{}
			for i, s := range tw.pairs(random) {
				specs[fmt.Sprintf("c%d", i)] = tw.text(s)
			}
			if len(specs) < 9 {
				t.Fatalf("only %d specs", len(specs))
			}
			cue, jsonnet, cueErr, jsonnetErr := tw.render(t, specs)
			if cueErr != nil || jsonnetErr != nil {
				t.Fatalf("CUE: %v\nJsonnet: %v", cueErr, jsonnetErr)
			}
			if d := cmp.Diff(string(cue.YAML()), string(jsonnet.YAML())); d != "" || cue.Digest != jsonnet.Digest {
				t.Fatalf("CUE and Jsonnet differ (-CUE +Jsonnet):\n%s", d)
			}
			report, err := check.Run(t.Context(), cue, check.Subject{Target: check.Kubernetes})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if f.Severity == check.Error || f.Code == api.CodeConsumer && tw.cue != "Service" {
					t.Errorf("a good spec makes a bad document: %v", f.Diagnostic)
				}
			}
			t.Logf("%d specs, %d documents", len(specs), len(cue.Documents))
		})
	}
}

// TestMatrixOfBad tries every bad value, alone and among others: what is a
// mistake in one language is one in the other, and both name the field.
func TestMatrixOfBad(t *testing.T) {
	for _, tw := range twins {
		t.Run(tw.cue, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 4))
			for _, field := range slices.Sorted(maps.Keys(tw.bad)) {
				for _, value := range tw.bad[field] {
					bad := fmt.Sprintf("%q: %s", field, value)
					among := spec{}
					for f := range tw.good {
						among[f] = random.IntN(len(tw.good[f])+1) - 1
					}
					text := tw.text(among, bad)
					_, _, cueErr, jsonnetErr := tw.render(t, map[string]string{"web": text})
					for language, err := range map[string]error{"CUE": cueErr, "Jsonnet": jsonnetErr} {
						if err == nil {
							t.Errorf("%s accepts %s in {%s}", language, bad, text)
						} else if !strings.Contains(err.Error(), field) {
							t.Errorf("%s does not name %s: %v", language, bad, err)
						}
					}
				}
			}
		})
	}
}

// TestMatrixOfNames holds the names to the same rules.
func TestMatrixOfNames(t *testing.T) {
	for i, tw := range twins {
		good := map[string]string{"web": tw.text(nil), "a-1": tw.text(nil), strings.Repeat("a", 52): tw.text(nil)}
		bad := []string{"-a", "a.b", strings.Repeat("a", 64)}
		if i == 0 {
			bad = append(bad, "", "a-", "A", "a_b", "ä")
		}
		if tw.cue == "CronJob" {
			bad = append(bad, strings.Repeat("a", 53))
		} else {
			good[strings.Repeat("a", 63)] = tw.text(nil)
		}
		cue, jsonnet, cueErr, jsonnetErr := tw.render(t, good)
		if cueErr != nil || jsonnetErr != nil {
			t.Errorf("%s: CUE: %v, Jsonnet: %v", tw.cue, cueErr, jsonnetErr)
		} else if cue.Digest != jsonnet.Digest {
			t.Errorf("%s differs", tw.cue)
		}
		for _, name := range bad {
			_, _, cueErr, jsonnetErr := tw.render(t, map[string]string{name: tw.text(nil)})
			if cueErr == nil || jsonnetErr == nil {
				t.Errorf("%s named %q: CUE: %v, Jsonnet: %v", tw.cue, name, cueErr, jsonnetErr)
			}
		}
	}
}
