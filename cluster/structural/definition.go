package structural

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
)

// Definition is a CustomResourceDefinition.
type Definition struct {
	Group, Kind, Plural string
	Namespaced          bool
	Versions            []Version
}

// Version is one version of a custom resource. Schema is of the whole object.
type Version struct {
	Name       string
	Served     bool
	Storage    bool
	Deprecated bool
	// Warning is what the author says of a deprecated version.
	Warning string
	Schema  *Schema
}

// Version returns a version by name.
func (d *Definition) Version(name string) (Version, bool) {
	for _, v := range d.Versions {
		if v.Name == name {
			return v, true
		}
	}
	return Version{}, false
}

// ParseDefinition reads the document of a CustomResourceDefinition
// (apiextensions.k8s.io/v1) whose fields have the right names and types, and
// reports what else is wrong with it, with what could be read.
func ParseDefinition(tree map[string]any) (*Definition, []api.Problem) {
	p := &parser{}
	spec, _ := tree["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	meta, _ := tree["metadata"].(map[string]any)
	d := &Definition{
		Group: text(spec["group"]), Kind: text(names["kind"]), Plural: text(names["plural"]), Namespaced: spec["scope"] == "Namespaced",
	}
	if want := d.Plural + "." + d.Group; text(meta["name"]) != want {
		p.fail(".metadata.name", fmt.Sprintf("write %s", want), "must be the plural and the group")
	}
	if !strings.Contains(d.Group, ".") {
		p.fail(".spec.group", "write a domain of yours, such as example.com", "%q is no domain", d.Group)
	}
	for _, f := range []string{"plural", "singular"} {
		if s := text(names[f]); s != "" && len(validation.IsDNS1035Label(s)) > 0 {
			p.fail(".spec.names."+f, "", "%q: %s", s, validation.IsDNS1035Label(s)[0])
		}
	}
	for _, f := range []string{"kind", "listKind"} {
		if s := text(names[f]); s != "" && len(validation.IsDNS1035Label(strings.ToLower(s))) > 0 {
			p.fail(".spec.names."+f, "", "%q: %s", s, validation.IsDNS1035Label(strings.ToLower(s))[0])
		}
	}
	p.versions(d, list(spec["versions"]))
	return d, p.problems
}

func (p *parser) versions(d *Definition, versions []any) {
	storage := 0
	seen := map[string]bool{}
	for i, e := range versions {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		at := api.IndexPath(".spec.versions", i)
		v := Version{
			Name: text(m["name"]), Served: truth(m["served"]), Storage: truth(m["storage"]),
			Deprecated: truth(m["deprecated"]), Warning: text(m["deprecationWarning"]),
		}
		if seen[v.Name] {
			p.fail(at+".name", "", "%q occurs twice", v.Name)
		}
		seen[v.Name] = true
		if bad := validation.IsDNS1035Label(v.Name); len(bad) > 0 {
			p.fail(at+".name", "", "%q: %s", v.Name, bad[0])
		}
		if v.Storage {
			storage++
		}
		v.Schema = p.root(m, at)
		d.Versions = append(d.Versions, v)
	}
	if storage != 1 {
		p.fail(".spec.versions", "mark one version with storage: true", "exactly one version must be the stored one, but %d are", storage)
	}
}

// root reads a version's schema and adds what every object has.
func (p *parser) root(version map[string]any, at string) *Schema {
	outer, _ := version["schema"].(map[string]any)
	tree, ok := outer["openAPIV3Schema"].(map[string]any)
	at += ".schema.openAPIV3Schema"
	if !ok {
		p.fail(at, "describe the kind; type: object is the least", "is required")
		return &Schema{Type: Object, PreserveUnknown: true}
	}
	if text(tree["type"]) != Object {
		p.fail(at+".type", "write type: object", "the schema of a kind must have type object")
	}
	withRoot := make(map[string]any, len(tree)+1)
	for k, v := range tree {
		withRoot[k] = v
	}
	props, _ := tree["properties"].(map[string]any)
	all := make(map[string]any, len(props)+3)
	for k, v := range props {
		all[k] = v
	}
	for _, k := range []string{"apiVersion", "kind"} {
		if all[k] == nil {
			all[k] = map[string]any{"type": String}
		}
	}
	meta, _ := all["metadata"].(map[string]any)
	own, _ := meta["properties"].(map[string]any)
	all["metadata"] = map[string]any{"type": Object, "x-kubernetes-preserve-unknown-fields": true, "properties": merged(own, map[string]any{
		"name": map[string]any{"type": String}, "generateName": map[string]any{"type": String},
	})}
	withRoot["properties"] = all
	p.structure(tree, at, 0)
	return p.schema(withRoot, at, 0)
}

// merged is a map with the members of both; those of first count.
func merged(first, second map[string]any) map[string]any {
	out := make(map[string]any, len(first)+len(second))
	for k, v := range second {
		out[k] = v
	}
	for k, v := range first {
		out[k] = v
	}
	return out
}

// structure checks what makes a schema structural: every field has a type, and
// what is inside of allOf, anyOf, oneOf and not only limits it.
func (p *parser) structure(m map[string]any, at string, depth int) {
	if depth > maxSchemaDepth {
		return // schema says so
	}
	free := truth(m["x-kubernetes-int-or-string"]) || truth(m["x-kubernetes-preserve-unknown-fields"])
	if text(m["type"]) == "" && !free && m["$ref"] == nil {
		p.fail(at, "add a type, or x-kubernetes-preserve-unknown-fields: true", "a field must have a type")
	}
	if text(m["type"]) == Array && m["items"] == nil {
		p.fail(at, "describe the elements under items", "a list must say what its elements are")
	}
	fields := props(m)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		p.structureOf(fields[key], api.FieldPath(api.FieldPath(at, "properties"), key), depth)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		p.structureOf(m[key], api.FieldPath(at, key), depth)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for i, v := range list(m[key]) {
			part, _ := v.(map[string]any)
			p.junctor(part, api.IndexPath(api.FieldPath(at, key), i), truth(m["x-kubernetes-int-or-string"]))
		}
	}
	if part, ok := m["not"].(map[string]any); ok {
		p.junctor(part, at+".not", false)
	}
	if truth(m["uniqueItems"]) {
		p.fail(at+".uniqueItems", "use x-kubernetes-list-type: set", "is not allowed in a CustomResourceDefinition")
	}
}

func (p *parser) structureOf(v any, at string, depth int) {
	if m, ok := v.(map[string]any); ok {
		p.structure(m, at, depth+1)
	}
}

func props(m map[string]any) map[string]any {
	out, _ := m["properties"].(map[string]any)
	return out
}

// junctor refuses what only the schema itself may say.
func (p *parser) junctor(m map[string]any, at string, intOrString bool) {
	for _, key := range []string{"description", "type", "default", "additionalProperties", "nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"} {
		if _, ok := m[key]; ok && (key != "type" || !intOrString) {
			p.fail(api.FieldPath(at, key), "write it outside of allOf, anyOf, oneOf and not", "is not allowed here")
		}
	}
}
