package diff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

func TestFields(t *testing.T) {
	old := tree(t, pod(`{"containers":[{"name":"a","image":"x","env":[{"name":"E","value":"1"}]},{"name":"b","image":"y"}],"tolerations":[{"key":"k"}]}`))
	new := tree(t, pod(`{"containers":[{"name":"a","image":"z","env":[{"name":"E","value":"1"},{"name":"F"}]}],"tolerations":[{"key":"l"}]}`))
	c := ".spec.template.spec.containers[name=a]"
	if d := cmp.Diff([]string{c + ".env[name=F]", c + ".env[name=F].name", c + ".image", ".spec.template.spec.tolerations"}, Written(api.Deployment, old, new).Paths()); d != "" {
		t.Errorf("written (-want +got):\n%s", d)
	}
	b := ".spec.template.spec.containers[name=b]"
	if d := cmp.Diff([]string{b, b + ".image", b + ".name"}, Removed(api.Deployment, old, new).Paths()); d != "" {
		t.Errorf("removed (-want +got):\n%s", d)
	}
	if got := Written(api.Deployment, new, new); len(got) != 0 {
		t.Errorf("an object differs from itself in %v", got.Paths())
	}
}

// FuzzFields: a set survives its JSON form, and the set operations agree with
// those on the paths.
func FuzzFields(f *testing.F) {
	f.Add(pod(`{"containers":[{"name":"a","image":"x"}]}`), pod(`{"containers":[{"name":"b"}]}`))
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok1 := parse(a)
		y, ok2 := parse(b)
		if !ok1 || !ok2 {
			t.Skip()
		}
		s, other := Fields(api.Deployment, x), Fields(api.Deployment, y)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again Set
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s.Paths(), again.Paths()); d != "" {
			t.Fatal(d)
		}
		if rest := s.Minus(s); len(rest) != 0 {
			t.Fatalf("a set without itself is %v", rest.Paths())
		}
		if d := cmp.Diff(s.Union(other).Minus(other).Minus(s).Paths(), Set{}.Paths()); d != "" {
			t.Fatal(d)
		}
	})
}

func parse(text string) (map[string]any, bool) {
	v, err := object.Unmarshal([]byte(text))
	if err != nil {
		return nil, false
	}
	m, ok := v.(map[string]any)
	return m, ok
}
