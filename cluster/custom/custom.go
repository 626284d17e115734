// Package custom makes kinds of CustomResourceDefinitions: what the schema of
// objects is, which of their fields are whose, and how they are shown. It is
// pure: a set is compiled from the definitions in one state of the cluster.
//
// Of a kind one version is served, the stored one; so nothing is converted.
package custom

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/ownership"
	"github.com/writ-dev/writ/cluster/structural"
)

// Kind is a kind that a definition has made.
type Kind struct {
	api.Kind
	// Definition is the object's name, ListKind the kind of lists.
	Definition, ListKind string
	Schema               *structural.Schema
	// Tree is the schema as written, of the whole object.
	Tree       map[string]any
	Fields     *ownership.Fields
	Columns    []Column
	Selectable []string // paths without the first dot: spec.color
	scale      *api.DefinitionScale
	// Warning is for everybody who uses a deprecated version.
	Warning string
}

// Set is all the kinds that are defined.
type Set struct {
	kinds  []*Kind // by group and kind
	byName map[string]*Kind
}

// Compile makes the kinds of those definitions that are right and not going.
// Definitions are checked when they are stored, so there are no others.
func Compile(definitions iter.Seq[object.Object]) *Set {
	s := &Set{byName: map[string]*Kind{}}
	for o := range definitions {
		k, problems := New(o)
		if len(problems) > 0 || k == nil {
			continue
		}
		s.kinds = append(s.kinds, k)
		s.byName[k.Group+"/"+k.Kind.Kind] = k
	}
	return s
}

// Kinds are the kinds, in the order of their definitions' names.
func (s *Set) Kinds() []*Kind {
	if s == nil {
		return nil
	}
	return s.kinds
}

// Lookup finds a kind by group and kind.
func (s *Set) Lookup(group, kind string) (*Kind, bool) {
	if s == nil {
		return nil, false
	}
	k, ok := s.byName[group+"/"+kind]
	return k, ok
}

// ByResource finds a kind by group and plural resource.
func (s *Set) ByResource(group, resource string) (*Kind, bool) {
	for _, k := range s.Kinds() {
		if k.Group == group && k.Resource == resource {
			return k, true
		}
	}
	return nil, false
}

// New makes the kind of one definition, or says what is wrong with it.
func New(o object.Object) (*Kind, []api.Problem) {
	tree := o.Tree()
	def, problems := structural.ParseDefinition(tree)
	typed, err := api.Decode[api.CustomResourceDefinition](o)
	if err != nil {
		return nil, append(problems, api.Problem{Code: api.CodeInvalid, Message: err.Error()})
	}
	problems = append(problems, limits(typed)...)
	if len(problems) > 0 {
		return nil, problems
	}
	i := slices.IndexFunc(typed.Spec.Versions, func(v api.DefinitionVersion) bool { return v.Storage })
	v, at := typed.Spec.Versions[i], api.IndexPath(".spec.versions", i)
	k := &Kind{Definition: typed.Name, Schema: def.Versions[i].Schema}
	names := typed.Spec.Names
	k.Kind = api.Kind{
		Group: typed.Spec.Group, Version: v.Name, Kind: names.Kind, Resource: names.Plural, Singular: singular(names),
		ShortNames: names.ShortNames, Categories: names.Categories, Namespaced: def.Namespaced, Custom: true,
		New: func() runtime.Object { return &unstructured.Unstructured{} },
	}
	if k.ListKind = names.ListKind; k.ListKind == "" {
		k.ListKind = names.Kind + "List"
	}
	if s := v.Subresources; s != nil {
		k.Status, k.scale = s.Status != nil, s.Scale
		k.Scale = s.Scale != nil
		problems = append(problems, scalePaths(at+".subresources.scale", s.Scale)...)
	}
	if v.Deprecated {
		k.Warning = fmt.Sprintf("%s %s is deprecated", k.APIVersion(), k.Kind.Kind)
		if v.DeprecationWarning != nil {
			k.Warning = *v.DeprecationWarning
		}
	}
	for n, f := range v.SelectableFields {
		path, ok := plainPath(f.JSONPath)
		if !ok {
			problems = append(problems, api.Problem{Code: api.CodeInvalid, Path: api.IndexPath(at+".selectableFields", n) + ".jsonPath", Message: fmt.Sprintf("%q is no path of a field", f.JSONPath)})
			continue
		}
		k.Selectable = append(k.Selectable, strings.Join(path, "."))
	}
	var more []api.Problem
	k.Columns, more = columns(at+".additionalPrinterColumns", v.AdditionalPrinterColumns)
	problems = append(problems, more...)
	k.Tree = schemaTree(tree, i)
	if k.Fields, err = ownership.Custom(k.Kind, k.Tree); err != nil {
		problems = append(problems, api.Problem{Code: api.CodeInvalid, Path: at + ".schema", Message: err.Error()})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return k, nil
}

func singular(n api.DefinitionNames) string {
	if n.Singular != "" {
		return n.Singular
	}
	return strings.ToLower(n.Kind)
}

// limits reports what Kubernetes allows and this server does not.
func limits(d *api.CustomResourceDefinition) []api.Problem {
	var out []api.Problem
	add := func(path, message, hint string) {
		out = append(out, api.Problem{Code: api.CodeInvalid, Path: path, Message: message, Hint: hint})
	}
	if s := d.Spec.Scope; s != "Namespaced" && s != "Cluster" {
		add(".spec.scope", fmt.Sprintf("must be Namespaced or Cluster, not %q", s), "")
	}
	if d.Spec.Names.Plural == "" {
		add(".spec.names.plural", "is required", "")
	}
	if d.Spec.Names.Kind == "" {
		add(".spec.names.kind", "is required", "")
	}
	if d.Spec.PreserveUnknownFields {
		add(".spec.preserveUnknownFields", "must be false", "write x-kubernetes-preserve-unknown-fields: true in the schema")
	}
	if c := d.Spec.Conversion; c != nil && c.Strategy != "" && c.Strategy != "None" {
		add(".spec.conversion.strategy", fmt.Sprintf("%s is not served: objects are not converted", c.Strategy), "use None")
	}
	for i, v := range d.Spec.Versions {
		if v.Served != v.Storage {
			add(api.IndexPath(".spec.versions", i)+".served", "one version of a kind is served, the stored one", fmt.Sprintf("write served: %t", v.Storage))
		}
	}
	if _, ok := api.Lookup(d.Spec.Group, d.Spec.Names.Kind); ok || d.Spec.Group == api.Definition.Group || strings.HasSuffix(d.Spec.Group, "."+api.Group) || d.Spec.Group == api.Group {
		add(".spec.group", "belongs to the cluster", "use a domain of yours")
	}
	return out
}

// schemaTree is the schema of the i-th version with what every object has.
func schemaTree(definition map[string]any, i int) map[string]any {
	at := func(v any, key string) any {
		m, _ := v.(map[string]any)
		return m[key]
	}
	versions, _ := at(at(definition, "spec"), "versions").([]any)
	written, _ := at(at(versions[i], "schema"), "openAPIV3Schema").(map[string]any)
	out := map[string]any{}
	for k, v := range written {
		out[k] = v
	}
	props := map[string]any{}
	if p, ok := written["properties"].(map[string]any); ok {
		for k, v := range p {
			props[k] = v
		}
	}
	props["apiVersion"], props["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
	props["metadata"] = map[string]any{"$ref": "meta/v1.ObjectMeta"}
	out["properties"], out["type"] = props, "object"
	return out
}
