package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the house plan: what each package may import of its own module.
// Adding a line, or a word to a line, is a design decision, not a build fix.
const layers = `
lang/diag:
lang: lang/diag
lang/cue: lang lang/diag
lang/jsonnet: lang lang/diag
lang/jsonnet/bundler: lang lang/diag
lang/yaml: lang lang/diag
lang/worker: lang lang/diag
lang/langtest: lang lang/diag
stdlib:
cluster/object:
cluster/api: cluster/object
cluster/builtin:
cluster/builtin/gen:
cluster/access: cluster/api cluster/object
cluster/diff: cluster/object cluster/api
cluster/ownership: cluster/builtin cluster/api cluster/object
cluster/admission: cluster/api cluster/object
cluster/rbac: cluster/api cluster/object
cluster/expression:
cluster/structural: cluster/expression cluster/api
cluster/store: cluster/object
cluster/store/proposertest: cluster/store cluster/object
cluster/seal:
cluster/audit:
cluster/fair:
cluster/consensus: cluster/store cluster/seal cluster/object
cluster/auth: cluster/rbac
cluster/client: cluster/api cluster/object
cluster/custom: cluster/structural cluster/ownership cluster/api cluster/object
cluster/registry: cluster/custom cluster/ownership cluster/store cluster/admission cluster/access cluster/rbac cluster/api cluster/object
cluster/apiserver: cluster/custom cluster/registry cluster/auth cluster/audit cluster/fair cluster/rbac cluster/api cluster/object
cluster/controller: cluster/api cluster/object
cluster/controllers/deployment: cluster/controller cluster/api cluster/object
cluster/controllers/replicaset: cluster/controller cluster/api cluster/object
cluster/controllers/job: cluster/controller cluster/api cluster/object
cluster/controllers/endpoint: cluster/controller cluster/api cluster/object
cluster/controllers/gc: cluster/controller cluster/api cluster/object
cluster/controllers/namespace: cluster/controller cluster/api cluster/object
cluster/controllers/clusterrole: cluster/controller cluster/rbac cluster/api cluster/object
cluster/controllers/node: cluster/controller cluster/api cluster/object
cluster/controllers/dependency: cluster/controller cluster/access cluster/api cluster/object
cluster/scheduler: cluster/controller cluster/api cluster/object
cluster/server: cluster/audit cluster/consensus cluster/seal cluster/store cluster/registry cluster/apiserver cluster/auth cluster/admission cluster/controller cluster/controllers/deployment cluster/controllers/replicaset cluster/controllers/job cluster/controllers/endpoint cluster/controllers/gc cluster/controllers/namespace cluster/controllers/clusterrole cluster/controllers/node cluster/controllers/dependency cluster/scheduler cluster/api cluster/object
render: lang lang/cue lang/jsonnet lang/yaml lang/diag stdlib cluster/object cluster/api
render/schema: cluster/builtin cluster/structural cluster/expression cluster/api cluster/object
render/cache: lang
render/check: render render/schema render/check/policy render/why cluster/structural lang lang/diag cluster/object cluster/api cluster/admission cluster/access
render/units: lang render render/cache render/check
render/check/policy: lang lang/cue lang/diag cluster/expression cluster/object cluster/api
render/docs: lang lang/cue lang/jsonnet lang/diag
render/lint: render render/check lang lang/cue lang/jsonnet lang/yaml lang/diag
render/test: render render/check lang lang/diag stdlib cluster/api
render/why: render lang lang/diag stdlib cluster/api cluster/object
render/repl: render render/why lang lang/diag stdlib cluster/api
render/provenance: render render/why lang lang/diag cluster/object
render/rendertest: render render/check render/test lang lang/diag lang/jsonnet/bundler
apply/converge: cluster/object cluster/api
apply/git:
apply: render lang/diag cluster/diff apply/converge cluster/api cluster/object apply/secret
apply/secret: cluster/object
apply/review: apply apply/secret render cluster/diff cluster/api cluster/object lang/diag
nodeagent/runtime:
nodeagent/runtime/runtimetest: nodeagent/runtime
nodeagent/runtime/sandbox: nodeagent/runtime nodeagent/image
nodeagent/image:
nodeagent/network: cluster/api
nodeagent/dns:
nodeagent/probe: nodeagent/runtime
nodeagent/logs:
nodeagent/stream:
nodeagent/pod: nodeagent/runtime nodeagent/probe nodeagent/logs cluster/api
nodeagent: nodeagent/pod nodeagent/network nodeagent/dns nodeagent/probe nodeagent/logs nodeagent/runtime cluster/client cluster/api cluster/object nodeagent/stream
cmd/writ/internal/cli: lang lang/diag lang/jsonnet/bundler lang/worker stdlib render render/cache render/check render/check/policy render/docs render/lint render/repl render/test render/units render/why apply apply/converge cluster/server cluster/client cluster/api cluster/object cluster/auth cluster/seal nodeagent nodeagent/image nodeagent/runtime/sandbox render/provenance apply/review
cmd/writ: cmd/writ/internal/cli nodeagent/runtime/sandbox
examples/guestbook/api:
examples/guestbook/intruder:
examples/guestbook/store:
examples/guestbook/web:
`

// only names the one package that may import each heavy dependency.
var only = map[string]string{
	"cuelang.org/go":                          "lang/cue",
	"github.com/google/cel-go":                "cluster/expression",
	"github.com/google/go-containerregistry":  "nodeagent/image",
	"github.com/google/go-jsonnet":            "lang/jsonnet",
	"github.com/google/nftables":              "nodeagent/network",
	"github.com/hashicorp/go-immutable-radix": "cluster/store",
	"github.com/hashicorp/raft":               "cluster/consensus",
	"github.com/hashicorp/raft-wal":           "cluster/consensus",
	"github.com/miekg/dns":                    "nodeagent/dns",
	"github.com/spf13/cobra":                  "cmd/writ/internal/cli",
	"github.com/vishvananda/netlink":          "nodeagent/network",
	"k8s.io/streaming":                        "nodeagent/stream",
}

func TestLayers(t *testing.T) {
	may := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(layers)) {
		pkg, uses, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("malformed line %q", line)
		}
		may[pkg] = strings.Fields(uses)
	}
	const root, module = "../..", "github.com/writ-dev/writ/"
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		seen[pkg] = true
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if own, ok := strings.CutPrefix(imp, module); ok && !slices.Contains(may[pkg], own) {
				t.Errorf("%s: %s must not import %s", path, pkg, own)
			}
			for dep, home := range only {
				if (imp == dep || strings.HasPrefix(imp, dep+"/")) && pkg != home {
					t.Errorf("%s: only %s may import %s", path, home, imp)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range seen {
		if _, ok := may[pkg]; !ok {
			t.Errorf("%s is not on the plan: give it a line in layers", pkg)
		}
	}
	for pkg := range may {
		if !seen[pkg] {
			t.Errorf("%s is on the plan but not in the house: strike its line", pkg)
		}
	}
}
