package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
)

// Set is a set of an object's fields. In JSON it is the form that
// metadata.managedFields has, metav1.FieldsV1: a step is "f:name" for a member
// and `k:{"name":"web"}` for an element of a keyed list, "." stands for the
// element itself, and what has no steps below it is in the set as a whole.
type Set map[string]Set

// Paths lists the fields, sorted, as paths like those of Change.
func (s Set) Paths() []string {
	var out []string
	s.paths("", &out)
	slices.Sort(out)
	return out
}

func (s Set) paths(at string, out *[]string) {
	for step, below := range s {
		path := at
		if name, ok := strings.CutPrefix(step, "f:"); ok {
			path = api.FieldPath(at, name)
		} else if id, ok := strings.CutPrefix(step, "k:"); ok {
			path = at + "[" + selector(id) + "]"
		}
		if len(below) == 0 {
			*out = append(*out, path)
		} else {
			below.paths(path, out)
		}
	}
}

// selector turns `{"name":"web"}` into "name=web".
func selector(id string) string {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(id))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return id
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		text, _ := scalarText(m[k])
		parts = append(parts, k+"="+text)
	}
	return strings.Join(parts, ",")
}
