// Package schema knows every built-in Kubernetes kind: its fields, and the
// rules that go beyond one field. It tells whether an API server of the
// Kubernetes release of k8s.io/api in go.mod would accept a document, as far as
// the document alone decides that.
//
// The schemas are the data of cluster/builtin. The rules are written here, by kind, in rule_*.go. What an API server
// accepts with a warning is reported as a warning.
//
// It is pure: no files, no cluster, no clock.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/builtin"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/structural"
)

// Kind is one version of a built-in kind.
type Kind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
	// Deprecated and Removed are the Kubernetes releases that deprecated or
	// removed it, such as "1.25"; Replacement is the apiVersion to use instead,
	// and a kind where it is another one. They are empty otherwise.
	Deprecated  string `json:"deprecated"`
	Removed     string `json:"removed"`
	Replacement string `json:"replacement"`

	Ref string `json:"schema"`
}

// Group is the API group, empty for the core group.
func (k Kind) Group() string { return group(k.APIVersion) }

func group(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}

// catalog is the data, decoded on first use: a command that checks nothing
// should not pay for it.
type catalog struct {
	kinds map[string]Kind
	list  []Kind

	mu      sync.Mutex
	types   map[string]json.RawMessage
	schemas map[string]*structural.Schema
}

var load = sync.OnceValue(func() *catalog {
	var file struct {
		Kinds []Kind                     `json:"kinds"`
		Types map[string]json.RawMessage `json:"types"`
	}
	if err := json.Unmarshal(builtin.JSON(), &file); err != nil {
		panic("schema: kubernetes.json: " + err.Error())
	}
	c := &catalog{kinds: map[string]Kind{}, list: file.Kinds, types: file.Types, schemas: map[string]*structural.Schema{}}
	for _, k := range file.Kinds {
		c.kinds[k.APIVersion+" "+k.Kind] = k
	}
	return c
})

// Lookup finds a built-in kind, or one that Kubernetes no longer has.
func Lookup(apiVersion, kind string) (Kind, bool) {
	k, ok := load().kinds[apiVersion+" "+kind]
	return k, ok
}

// Kinds are the built-in kinds that Kubernetes has, sorted by apiVersion.
func Kinds() []Kind {
	return slices.DeleteFunc(slices.Clone(load().list), func(k Kind) bool { return k.Removed != "" })
}

// Builtin reports whether all kinds of an API group are Kubernetes' own.
func Builtin(group string) bool {
	return slices.ContainsFunc(load().list, func(k Kind) bool { return k.Group() == group })
}

// Fields is the schema of the kind's documents, nil for a removed kind.
func (k Kind) Fields() *structural.Schema {
	if k.Ref == "" {
		return nil
	}
	return load().schema(k.Ref)
}

// Metadata is the schema of the metadata of every kind.
func Metadata() *structural.Schema { return load().schema("meta/v1.ObjectMeta") }

// schema makes the schema of a type and of all that it refers to. They are
// complete once the lock is given back, and never changed after that.
func (c *catalog) schema(name string) *structural.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.resolve(name)
	if s == nil {
		panic("schema: kubernetes.json has no type " + name)
	}
	return s
}

func (c *catalog) resolve(name string) *structural.Schema {
	if s, ok := c.schemas[name]; ok {
		return s
	}
	raw, ok := c.types[name]
	if !ok {
		return nil
	}
	s := &structural.Schema{}
	c.schemas[name] = s // first, for types that contain themselves
	tree, err := object.Unmarshal(bytes.TrimSpace(raw))
	if err != nil {
		panic("schema: kubernetes.json: " + name + ": " + err.Error())
	}
	parsed, problems := structural.Parse(tree.(map[string]any), "", c.resolve)
	if len(problems) > 0 {
		panic("schema: kubernetes.json: " + name + ": " + problems[0].String())
	}
	*s = *parsed
	return s
}

// Unknown explains an apiVersion and kind that are in a built-in group but are
// no built-in kind. ok is false when the group is not built in.
func Unknown(apiVersion, kind string) (p api.Problem, ok bool) {
	g := group(apiVersion)
	if !Builtin(g) {
		return nearGroup(apiVersion, kind)
	}
	var versions, kinds []string
	for _, k := range Kinds() {
		if k.Group() != g {
			continue
		}
		kinds = append(kinds, k.Kind)
		if k.Kind == kind {
			versions = append(versions, k.APIVersion)
		}
	}
	if len(versions) > 0 {
		return api.Problem{
			Code: CodeUnknownKind, Path: ".apiVersion", Message: fmt.Sprintf("Kubernetes has no %s of %s", kind, apiVersion),
			Hint: api.UseVersion(versions[len(versions)-1]),
		}, true
	}
	p = api.Problem{Code: CodeUnknownKind, Path: ".kind", Message: fmt.Sprintf("Kubernetes has no %s of %s", kind, apiVersion)}
	for _, k := range Kinds() {
		if k.Kind == kind {
			p.Path, p.Hint = ".apiVersion", api.UseVersion(k.APIVersion)
		}
	}
	if near := api.Nearest(kind, kinds); p.Hint == "" && near != "" {
		p.Hint = api.DidYouMean(near)
	}
	return p, true
}

// nearGroup finds a built-in kind whose group was probably meant.
func nearGroup(apiVersion, kind string) (api.Problem, bool) {
	for _, k := range Kinds() {
		if k.Kind == kind && api.Nearest(apiVersion, []string{k.APIVersion}) != "" {
			return api.Problem{
				Code: CodeUnknownKind, Path: ".apiVersion", Message: fmt.Sprintf("there is no %s of %s in Kubernetes", kind, apiVersion),
				Hint: api.DidYouMean(k.APIVersion),
			}, true
		}
	}
	return api.Problem{}, false
}

// The codes of problems that only this package reports.
const (
	CodeUnknownKind = "UnknownKind"
	CodeRemoved     = "RemovedAPI"
	CodeDeprecated  = "DeprecatedAPI"
	// CodeReference: a name refers to nothing in the same document.
	CodeReference = api.CodeNotFound
)
