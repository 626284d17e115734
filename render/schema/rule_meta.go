package schema

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// maxAnnotations is the bound on the size of all annotations, in bytes.
const maxAnnotations = 256 << 10

// scope checks that a kind is written where it lives. A namespaced object
// without a namespace gets one when it is applied.
func (r *rules) scope(kind string, namespaced bool, m *object.Meta) {
	if m.Namespace == "" {
		return
	}
	if !namespaced {
		r.add(api.CodeImmutable, ".metadata.namespace", "remove it", "a %s lives in no namespace", kind)
		return
	}
	r.valid(".metadata.namespace", m.Namespace, validation.IsDNS1123Label)
}

// meta checks names, labels and the rest of an object's metadata.
func (r *rules) meta(kind string, m *object.Meta) {
	switch {
	case m.Name != "":
		r.valid(".metadata.name", m.Name, nameOf(kind))
	case m.GenerateName != "":
		r.valid(".metadata.generateName", m.GenerateName+"x", nameOf(kind))
	default:
		r.required(".metadata.name", "")
	}
	r.labels(".metadata.labels", m.Labels)
	r.annotations(".metadata.annotations", m.Annotations)
	controllers := 0
	for i, o := range m.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			if controllers++; controllers == 2 {
				r.invalid(api.IndexPath(".metadata.ownerReferences", i)+".controller", "only one owner may be the controller")
			}
		}
	}
	for i, f := range m.Finalizers {
		at := api.IndexPath(".metadata.finalizers", i)
		r.valid(at, f, validation.IsQualifiedName)
	}
}

// nameOf is the rule for the names of a kind's objects.
func nameOf(kind string) func(string) []string {
	switch kind {
	case "Service":
		return validation.IsDNS1035Label
	case "Namespace":
		return validation.IsDNS1123Label
	case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
		return pathSegment
	case "APIService", "CustomResourceDefinition":
		return validation.IsDNS1123Subdomain
	case "PodTemplate", "ControllerRevision", "Event":
		return validation.IsDNS1123Subdomain
	case "CronJob":
		return func(s string) []string {
			// The Jobs that it makes have 11 characters more.
			if len(s) > 52 {
				return []string{"must be no more than 52 characters"}
			}
			return validation.IsDNS1123Subdomain(s)
		}
	case "IPAddress":
		return func(string) []string { return nil }
	}
	return validation.IsDNS1123Subdomain
}

func pathSegment(s string) []string {
	if s == "." || s == ".." || strings.ContainsAny(s, "/%") {
		return []string{`must not be "." or "..", nor contain "/" or "%"`}
	}
	return nil
}

func (r *rules) labels(path string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := api.FieldPath(path, key)
		r.valid(at, key, validation.IsQualifiedName)
		r.valid(at, labels[key], validation.IsValidLabelValue)
	}
}

func (r *rules) annotations(path string, annotations map[string]string) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		r.valid(api.FieldPath(path, key), strings.ToLower(key), validation.IsQualifiedName)
		size += len(key) + len(annotations[key])
	}
	if size > maxAnnotations {
		r.add(api.CodeInvalid, path, "keep large data in a ConfigMap", "has %d bytes and may have %d", size, maxAnnotations)
	}
}

// join joins words: "a, b or c".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
