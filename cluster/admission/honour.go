package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/writ-dev/writ/cluster/api"
)

// allow is a node of a tree of honoured fields: what may follow a path.
type allow struct {
	// all honours everything beneath, here says the value itself is honoured.
	all, here bool
	// values limits a scalar to these literals; nil means any.
	values []string
	fields map[string]*allow
	elem   *allow
}

// parseAllow reads a list of honoured fields, one a line:
//
//	strategy.type
//	containers[].ports[].protocol = TCP UDP
//	metadata.*
//
// A path honours its value and, for a list of scalars, the elements written
// with []; ".*" honours all beneath; "=" limits a scalar to some values.
func parseAllow(list string) *allow {
	root := &allow{}
	for line := range strings.Lines(list) {
		path, values, limited := strings.Cut(strings.TrimSpace(line), " = ")
		if path == "" {
			continue
		}
		n := root
		for step := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
			n = n.step(step)
		}
		n.here = true
		if limited {
			n.values = strings.Fields(values)
		}
	}
	return root
}

func (a *allow) step(name string) *allow {
	switch name {
	case "*":
		a.all = true
		return a
	case "[]":
		if a.elem == nil {
			a.elem = &allow{}
		}
		return a.elem
	}
	if a.fields == nil {
		a.fields = map[string]*allow{}
	}
	if a.fields[name] == nil {
		a.fields[name] = &allow{}
	}
	return a.fields[name]
}

// honoured returns the list of each kind, made once: what is written once in
// the lists is put wherever it belongs, a pod spec into the templates of
// workloads.
var honoured = sync.OnceValue(func() map[string]*allow {
	pod := parseAllow(podFields)
	container := pod.fields["containers"]
	for _, probe := range []string{"readinessProbe", "startupProbe"} {
		container.elem.fields[probe] = container.elem.fields["livenessProbe"]
	}
	pod.fields["initContainers"] = container
	kinds := map[string]*allow{}
	for kind, list := range kindFields {
		a := parseAllow("apiVersion\nkind\nmetadata.*\nstatus.*\n" + list)
		switch kind {
		case api.Pod.Kind:
			a.fields["spec"] = pod
		case api.Deployment.Kind, api.ReplicaSet.Kind, api.Job.Kind:
			a.fields["spec"].fields["template"].fields["spec"] = pod
		}
		kinds[kind] = a
	}
	return kinds
})

// unhonoured reports what t holds beyond what Writ honours for kind k.
func unhonoured(k api.Kind, t map[string]any) []Problem {
	a := honoured()[k.Kind]
	if a == nil {
		return nil // a kind of Writ's own: all of it is honoured
	}
	var out []Problem
	a.walk(&out, "", "", t)
	return out
}

// walk reports v, which lies at path; pattern is path with [] for every index.
func (a *allow) walk(out *[]Problem, path, pattern string, v any) {
	if a.all || len(*out) >= maxProblems {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			p, pat := api.FieldPath(path, key), pattern+"."+key
			if f := a.fields[key]; f != nil {
				f.walk(out, p, pat, x[key])
			} else if !harmless(x[key]) {
				*out = append(*out, refuse(p, pat, x[key]))
			}
		}
	case []any:
		for i, e := range x {
			if a.elem != nil {
				a.elem.walk(out, api.IndexPath(path, i), pattern+"[]", e)
			} else if !a.here {
				*out = append(*out, refuse(path, pattern, v))
				return
			}
		}
	default:
		if a.here && (a.values == nil || slices.Contains(a.values, literal(v))) || a.values == nil && harmless(v) || v == "" {
			return
		}
		p := refuse(path, pattern, v)
		if p.Hint == "remove it" && len(a.values) > 0 {
			p.Hint = "use " + strings.Join(a.values, " or ") + ", or remove it"
		}
		*out = append(*out, p)
	}
}

// harmless reports whether v says the same as leaving the field out.
func harmless(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x
	case string:
		return x == ""
	case json.Number:
		return x == "0"
	case []any:
		return len(x) == 0
	case map[string]any:
		for _, e := range x {
			if !harmless(e) {
				return false
			}
		}
		return true
	}
	return false
}

// refuse words the refusal of a field, with the reason kept in refusals.
func refuse(path, pattern string, v any) Problem {
	// A pod's fields have one pattern wherever the pod is written.
	key := strings.TrimPrefix(pattern, ".spec.template")
	name := key[strings.LastIndexAny(key, ".]")+1:]
	if name == "" {
		name = "this"
	}
	what := name
	switch v.(type) {
	case string, bool, json.Number:
		what = fmt.Sprintf("%s %s", name, literal(v))
	}
	key = strings.NewReplacer("initContainers[]", "containers[]", "startupProbe", "livenessProbe", "readinessProbe", "livenessProbe").Replace(key)
	for _, r := range refusals {
		if key == r.pattern && (r.value == "" || r.value == literal(v)) {
			return Problem{Code: r.code, Path: path, Message: r.message, Hint: r.hint}
		}
	}
	return Problem{Code: api.CodeUnsupported, Path: path, Message: "not supported by Writ yet: " + what, Hint: "remove it"}
}
