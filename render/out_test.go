package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/cluster/object"
)

func documents(t testing.TB, texts ...string) []Document {
	t.Helper()
	var docs []Document
	for _, text := range texts {
		o, err := object.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, Document{Object: o})
	}
	return docs
}

func TestFileName(t *testing.T) {
	for want, k := range map[string]object.Key{
		"shop/deployment.apps-web.yaml":                           {Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		"_cluster/namespace-shop.yaml":                            {Kind: "Namespace", Name: "shop"},
		"_cluster/role.rbac.authorization.k8s.io-a%3ab%41.yaml":   {Group: "rbac.authorization.k8s.io", Kind: "Role", Name: "a:bA"},
		"_cluster/role.rbac.authorization.k8s.io-..%2f..%25.yaml": {Group: "rbac.authorization.k8s.io", Kind: "Role", Name: "../..%"},
	} {
		if got := FileName(k); got != want {
			t.Errorf("%v is %s, want %s", k, got, want)
		}
	}
	long := strings.Repeat("a", 253)
	a, b := FileName(object.Key{Kind: "Secret", Namespace: "n", Name: long}), FileName(object.Key{Kind: "Secret", Namespace: "n", Name: long[1:] + "b"})
	if a == b || len(a) > 255 {
		t.Errorf("long names: %s and %s", a, b)
	}
}

// FuzzFileName: different names are different files, also for a file system
// that does not tell upper and lower case apart.
func FuzzFileName(f *testing.F) {
	f.Add("web", "Web")
	f.Add("a.b", "a%2eb")
	f.Add("../x", "..%2fx")
	f.Fuzz(func(t *testing.T, a, b string) {
		x := FileName(object.Key{Kind: "ConfigMap", Namespace: "n", Name: a})
		y := FileName(object.Key{Kind: "ConfigMap", Namespace: "n", Name: b})
		if (a == b) != strings.EqualFold(x, y) {
			t.Errorf("%q and %q are %s and %s", a, b, x, y)
		}
		if !filepath.IsLocal(x) || strings.Count(x, "/") != 1 {
			t.Errorf("%q is %s", a, x)
		}
	})
}

func TestWriteDirIsCareful(t *testing.T) {
	dir := t.TempDir()
	a := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}`
	b := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"m"}}`
	if w, err := WriteDir(dir, documents(t, a, b)); err != nil || w != (Written{Files: 2, Changed: 2}) {
		t.Fatalf("%+v, %v", w, err)
	}
	// A list that somebody changed reaches nothing outside.
	outside := filepath.Join(filepath.Dir(dir), "outside.yaml")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, Manifest), []byte(`{"files":["../outside.yaml","m/configmap-b.yaml","n/configmap-a.yaml","/etc/passwd","m/x.txt"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err := WriteDir(dir, documents(t, a)); err != nil || w != (Written{Files: 1, Removed: 1}) {
		t.Fatalf("%+v, %v", w, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "m")); err == nil {
		t.Error("an empty directory stays")
	}
	// Nor does a link.
	if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, "m")); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteDir(dir, documents(t, a, b)); err == nil {
		t.Error("a link was followed out of the directory")
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return e.Name() == "configmap-b.yaml" }); i >= 0 {
		t.Error("a file was written outside")
	}
}
