package diff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := object.Unmarshal([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v.(map[string]any)
}

// pod wraps a container list's text in a Deployment.
func pod(spec string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"template":{"spec":` + spec + `}}}`
}

func TestCompare(t *testing.T) {
	const spec = ".spec.template.spec"
	for _, c := range []struct {
		name     string
		kind     api.Kind
		old, new string
		want     []Change
	}{
		{name: "quantities by value", kind: api.Deployment,
			old: pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m","memory":"1Gi"}}}]}`),
			new: pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":1,"memory":"1024Mi"}}}]}`)},
		{name: "another quantity", kind: api.Deployment,
			old:  pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]}`),
			new:  pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1001m"}}}]}`),
			want: []Change{{spec + ".containers[name=a].resources.limits.cpu", "1", "1001m"}}},
		{name: "null, zero and empty are absent", kind: api.Deployment,
			old: pod(`{"containers":[{"name":"a","env":[],"resources":{},"command":null}],"hostNetwork":false,"nodeSelector":{}}`),
			new: pod(`{"containers":[{"name":"a"}]}`)},
		{name: "a zero behind a pointer is a value", kind: api.Deployment,
			old:  `{"spec":{"replicas":0}}`,
			new:  `{"spec":{}}`,
			want: []Change{{".spec.replicas", json.Number("0"), nil}}},
		{name: "an empty struct behind a pointer is a value", kind: api.Deployment,
			old:  pod(`{"volumes":[{"name":"v","emptyDir":{}}]}`),
			new:  pod(`{"volumes":[{"name":"v"}]}`),
			want: []Change{{spec + ".volumes[name=v].emptyDir", map[string]any{}, nil}}},
		{name: "an empty value in a map is a value", kind: api.ConfigMap,
			old:  `{"data":{"a":""}}`,
			new:  `{"data":{}}`,
			want: []Change{{".data.a", "", nil}}},
		{name: "one port number in two protocols", kind: api.Deployment,
			old:  pod(`{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"UDP"},{"containerPort":53}]}]}`),
			new:  pod(`{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"UDP"},{"containerPort":53,"protocol":"TCP","name":"dns"}]}]}`),
			want: []Change{{spec + ".containers[name=a].ports[containerPort=53,protocol=TCP].name", nil, "dns"}, {spec + ".containers[name=a].ports[containerPort=53,protocol=TCP].protocol", nil, "TCP"}}},
		{name: "elements added and removed", kind: api.Deployment,
			old: pod(`{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]}]}`),
			new: pod(`{"containers":[{"name":"a","env":[{"name":"Y","value":"2"},{"name":"Z","value":"3"}]}]}`),
			want: []Change{
				{spec + ".containers[name=a].env[name=Z]", nil, map[string]any{"name": "Z", "value": "3"}},
				{spec + ".containers[name=a].env[name=X]", map[string]any{"name": "X", "value": "1"}, nil},
			}},
		{name: "order counts", kind: api.Deployment,
			old:  pod(`{"initContainers":[{"name":"a"},{"name":"b"}]}`),
			new:  pod(`{"initContainers":[{"name":"b"},{"name":"a"}]}`),
			want: []Change{{spec + ".initContainers[order]", []any{"name=a", "name=b"}, []any{"name=b", "name=a"}}}},
		{name: "int or string keeps its type", kind: api.Service,
			old:  `{"spec":{"ports":[{"port":80,"targetPort":80}]}}`,
			new:  `{"spec":{"ports":[{"port":80,"targetPort":"80"}]}}`,
			want: []Change{{".spec.ports[port=80,protocol=TCP].targetPort", json.Number("80"), "80"}}},
		{name: "exact integers", kind: api.Job,
			old:  `{"spec":{"activeDeadlineSeconds":9007199254740993}}`,
			new:  `{"spec":{"activeDeadlineSeconds":9007199254740992}}`,
			want: []Change{{".spec.activeDeadlineSeconds", json.Number("9007199254740993"), json.Number("9007199254740992")}}},
		{name: "keys with dots", kind: api.ConfigMap,
			old:  `{"data":{"a.conf":"x"}}`,
			new:  `{"data":{"a.conf":"y"}}`,
			want: []Change{{`.data["a.conf"]`, "x", "y"}}},
		{name: "fields of no known type", kind: api.ConfigMap,
			old:  `{"what":{"a":[1,{"b":2}]}}`,
			new:  `{"what":{"a":[1,{"b":3}]}}`,
			want: []Change{{".what.a[1].b", json.Number("2"), json.Number("3")}}},
		{name: "own kinds", kind: api.DependencyKind,
			old:  `{"spec":{"target":{"service":{"name":"a","ports":["1"]}}}}`,
			new:  `{"spec":{"target":{"service":{"name":"a","ports":["2"]}}}}`,
			want: []Change{{".spec.target.service.ports[0]", "1", "2"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Compare(c.kind, tree(t, c.old), tree(t, c.new))
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("changes (-want +got):\n%s", d)
			}
			if same := Compare(c.kind, tree(t, c.new), tree(t, c.new)); same != nil {
				t.Errorf("an object differs from itself: %v", same)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name                   string
		kind                   api.Kind
		prev, next, live, want string
	}{
		{name: "others' fields stay", kind: api.Deployment,
			prev: `{"spec":{"replicas":1}}`, next: `{"spec":{"replicas":2}}`,
			live: `{"spec":{"replicas":1,"revisionHistoryLimit":10}}`,
			want: `{"spec":{"replicas":2,"revisionHistoryLimit":10}}`},
		{name: "what is no longer written goes", kind: api.Deployment,
			prev: `{"spec":{"replicas":1,"minReadySeconds":5}}`, next: `{"spec":{"replicas":1}}`,
			live: `{"spec":{"replicas":1,"minReadySeconds":5,"paused":true}}`,
			want: `{"spec":{"replicas":1,"paused":true}}`},
		{name: "others' annotations stay when ours go", kind: api.Deployment,
			prev: `{"metadata":{"annotations":{"a":"1"}}}`, next: `{"metadata":{}}`,
			live: `{"metadata":{"annotations":{"a":"1","b":"2"}}}`,
			want: `{"metadata":{"annotations":{"b":"2"}}}`},
		{name: "a dropped struct takes its defaults along", kind: api.Deployment,
			prev: pod(`{"containers":[{"name":"a","readinessProbe":{"httpGet":{"path":"/"}}}]}`),
			next: pod(`{"containers":[{"name":"a"}]}`),
			live: pod(`{"containers":[{"name":"a","readinessProbe":{"httpGet":{"path":"/","scheme":"HTTP"},"periodSeconds":10}}]}`),
			want: pod(`{"containers":[{"name":"a"}]}`)},
		{name: "an injected container stays in its place", kind: api.Deployment,
			prev: pod(`{"containers":[{"name":"a","image":"1"}]}`),
			next: pod(`{"containers":[{"name":"a","image":"2"}]}`),
			live: pod(`{"containers":[{"name":"side"},{"name":"a","image":"1"}]}`),
			want: pod(`{"containers":[{"name":"side"},{"name":"a","image":"2"}]}`)},
		{name: "a removed container goes, an injected stays", kind: api.Deployment,
			prev: pod(`{"containers":[{"name":"a"},{"name":"b"}]}`),
			next: pod(`{"containers":[{"name":"b"}]}`),
			live: pod(`{"containers":[{"name":"a"},{"name":"b"},{"name":"side"}]}`),
			want: pod(`{"containers":[{"name":"b"},{"name":"side"}]}`)},
		{name: "a new element in the middle", kind: api.Deployment,
			prev: pod(`{"containers":[{"name":"x","env":[{"name":"A"},{"name":"C"}]}]}`),
			next: pod(`{"containers":[{"name":"x","env":[{"name":"A"},{"name":"B"},{"name":"C"}]}]}`),
			live: pod(`{"containers":[{"name":"x","env":[{"name":"A"},{"name":"C"}]}]}`),
			want: pod(`{"containers":[{"name":"x","env":[{"name":"A"},{"name":"B"},{"name":"C"}]}]}`)},
		{name: "both protocols of a port survive", kind: api.Service,
			prev: `{"spec":{"ports":[{"name":"t","port":53},{"name":"u","port":53,"protocol":"UDP"}]}}`,
			next: `{"spec":{"ports":[{"name":"t","port":53,"targetPort":1},{"name":"u","port":53,"protocol":"UDP"}]}}`,
			live: `{"spec":{"clusterIP":"10.96.0.1","ports":[{"name":"t","port":53,"protocol":"TCP","nodePort":30001},{"name":"u","port":53,"protocol":"UDP","nodePort":30002}]}}`,
			want: `{"spec":{"clusterIP":"10.96.0.1","ports":[{"name":"t","port":53,"protocol":"TCP","nodePort":30001,"targetPort":1},{"name":"u","port":53,"protocol":"UDP","nodePort":30002}]}}`},
		{name: "another strategy clears the old one's options", kind: api.Deployment,
			prev: `{"spec":{}}`, next: `{"spec":{"strategy":{"type":"Recreate"}}}`,
			live: `{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}}}}`,
			want: `{"spec":{"strategy":{"type":"Recreate"}}}`},
		{name: "the same strategy keeps its defaults", kind: api.Deployment,
			prev: `{"spec":{}}`, next: `{"spec":{"strategy":{"type":"RollingUpdate"}}}`,
			live: `{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}}}}`,
			want: `{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}}}}`},
		{name: "another volume source replaces the old one", kind: api.Deployment,
			prev: pod(`{"volumes":[{"name":"v","configMap":{"name":"c"}}]}`),
			next: pod(`{"volumes":[{"name":"v","emptyDir":{}}]}`),
			live: pod(`{"volumes":[{"name":"v","configMap":{"name":"c","defaultMode":420}}]}`),
			want: pod(`{"volumes":[{"name":"v","emptyDir":{}}]}`)},
		{name: "a list without keys is one value", kind: api.Deployment,
			prev: pod(`{"containers":[{"name":"a","args":["x"]}]}`),
			next: pod(`{"containers":[{"name":"a","args":["y","z"]}]}`),
			live: pod(`{"containers":[{"name":"a","args":["x"]}]}`),
			want: pod(`{"containers":[{"name":"a","args":["y","z"]}]}`)},
		{name: "an equal quantity keeps its live spelling", kind: api.Deployment,
			prev: pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m"}}}]}`),
			next: pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m"}}}]}`),
			live: pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]}`),
			want: pod(`{"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]}`)},
		{name: "without a previous document nothing is removed", kind: api.ConfigMap,
			next: `{"data":{"a":"1"}}`, live: `{"data":{"a":"0","b":"2"}}`,
			want: `{"data":{"a":"1","b":"2"}}`},
		{name: "drift in an owned field is undone", kind: api.ConfigMap,
			prev: `{"data":{"a":"1"}}`, next: `{"data":{"a":"1"}}`, live: `{"data":{"a":"hacked"}}`,
			want: `{"data":{"a":"1"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			live, next, prev := tree(t, c.live), tree(t, c.next), tree(t, c.prev)
			got := Merge(c.kind, prev, next, live)
			if d := cmp.Diff(tree(t, c.want), got); d != "" {
				t.Errorf("merged (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tree(t, c.live), live); d != "" {
				t.Errorf("the live object was changed:\n%s", d)
			}
			if again := Merge(c.kind, next, next, got); !Equal(c.kind, again, got) {
				t.Errorf("merging once more changes %v", Compare(c.kind, got, again))
			}
		})
	}
}

func TestKeyed(t *testing.T) {
	o := tree(t, pod(`{"containers":[{"name":"a","args":["x"],"ports":[{"containerPort":80}]},{"name":"b"}]}`))
	for in, want := range map[string]string{
		".spec.template.spec.containers[1].image":        ".spec.template.spec.containers[name=b].image",
		".spec.template.spec.containers[0].args[0]":      ".spec.template.spec.containers[name=a].args[0]",
		".spec.template.spec.containers[0].ports[0].x":   ".spec.template.spec.containers[name=a].ports[containerPort=80,protocol=TCP].x",
		".spec.template.spec.containers[7].image":        ".spec.template.spec.containers[7].image",
		`.metadata.labels["a.b/c[0]"]`:                   `.metadata.labels["a.b/c[0]"]`,
		".spec.template.spec.containers[9999999999999]x": ".spec.template.spec.containers[9999999999999]x",
		"": "",
	} {
		if got := Keyed(api.Deployment, o, in); got != want {
			t.Errorf("Keyed(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzMerge checks what must hold for any three objects: nothing panics, the
// new document is part of the result, and merging is idempotent.
func FuzzMerge(f *testing.F) {
	f.Add(`{}`, `{"spec":{"replicas":1}}`, `{"spec":null}`)
	f.Add(pod(`{"containers":[{"name":"a"}]}`), pod(`{"containers":[{"name":"b"},{"name":"a"}]}`), pod(`{"containers":[{"name":"c"}]}`))
	f.Add(`{"spec":[]}`, `{"spec":{"a":[1]}}`, `{"spec":"x"}`)
	f.Add(pod(`{"containers":[{"name":"a"},{"name":"a"}]}`), pod(`{"containers":[{}]}`), pod(`{"containers":[null]}`))
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var trees [3]map[string]any
		for i, text := range []string{a, b, c} {
			v, err := object.Unmarshal([]byte(text))
			m, ok := v.(map[string]any)
			if err != nil || !ok {
				t.Skip()
			}
			trees[i] = m
		}
		for _, k := range []api.Kind{api.Deployment, api.Service, api.DependencyKind} {
			merged := Merge(k, trees[0], trees[1], trees[2])
			if again := Merge(k, trees[1], trees[1], merged); !Equal(k, merged, again) {
				t.Fatalf("not idempotent: %v", Compare(k, merged, again))
			}
			for _, ch := range Compare(k, trees[2], merged) {
				Keyed(k, merged, ch.Path)
			}
		}
	})
}
