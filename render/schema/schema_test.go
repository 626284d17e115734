package schema_test

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render/schema"
)

// samples is where k8s.io/api keeps one document of every kind with all of its
// fields filled.
func samples(t *testing.T) string {
	t.Helper()
	pkg, err := build.Import("k8s.io/api/core/v1", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(pkg.Dir, "..", "..", "testdata", "HEAD")
}

// TestEveryField is the proof that no field of any kind is missing, and that
// its type is right: the values are made up, the names and types are not.
func TestEveryField(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples(t), "*.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	checked := 0
	for _, file := range files {
		if strings.Contains(file, "after_roundtrip") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o, err := object.Parse(text)
		if err != nil {
			continue // no document
		}
		k, ok := schema.Lookup(o.APIVersion(), o.Kind())
		if !ok || k.Removed != "" {
			continue
		}
		checked++
		for _, p := range schema.Check(k, o).Problems {
			if p.Code == api.CodeUnknownField || p.Code == api.CodeType {
				t.Errorf("%s: %v", filepath.Base(file), p)
			}
		}
	}
	if checked < 90 {
		t.Errorf("only %d kinds were checked", checked)
	}
}
