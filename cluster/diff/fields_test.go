package diff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	var s Set
	const text = `{"f:metadata":{"f:labels":{".":{},"f:a.b/c":{}}},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	want := []string{".metadata.labels", `.metadata.labels["a.b/c"]`, ".spec.ports[port=80,protocol=TCP]", ".spec.ports[port=80,protocol=TCP].port"}
	if d := cmp.Diff(want, s.Paths()); d != "" {
		t.Errorf("paths (-want +got):\n%s", d)
	}
}

// FuzzPaths: whatever stands in managedFields, its paths can be listed.
func FuzzPaths(f *testing.F) {
	f.Add(`{"f:a":{"k:{}":{},"k:[":{},"v:1":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s Set
		if json.Unmarshal([]byte(text), &s) == nil {
			s.Paths()
		}
	})
}
