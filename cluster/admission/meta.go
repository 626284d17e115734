package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// maxAnnotations is Kubernetes' bound on the size of all annotations, in bytes.
const maxAnnotations = 256 << 10

// problems collects what is wrong with one object.
type problems struct {
	list []Problem
}

func (p *problems) add(code, path, hint, format string, args ...any) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, Problem{Code: code, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

func (p *problems) required(path, hint string) {
	p.add(api.CodeRequired, path, hint, "is required")
}

func (p *problems) invalid(path, format string, args ...any) {
	p.add(api.CodeInvalid, path, "", format, args...)
}

func (p *problems) duplicate(path string, v any) {
	p.add(api.CodeDuplicate, path, "", "%v occurs twice", v)
}

// check reports the first complaint of one of Kubernetes' validators.
func (p *problems) check(path, value string, complaints []string) {
	if len(complaints) > 0 {
		p.invalid(path, "%q: %s", value, complaints[0])
	}
}

// atLeast reports a number below low.
func (p *problems) atLeast(path string, v, low int64) {
	if v < low {
		p.invalid(path, "must be at least %d, but is %d", low, v)
	}
}

func (p *problems) meta(k api.Kind, o object.Object) {
	m := o.Meta()
	p.name(k, m)
	switch {
	case !k.Namespaced && m.Namespace != "":
		p.add(api.CodeInvalid, ".metadata.namespace", "remove it", "a %s has no namespace", k.Kind)
	case m.Namespace != "":
		p.check(".metadata.namespace", m.Namespace, validation.IsDNS1123Label(m.Namespace))
	}
	p.labels(".metadata.labels", m.Labels)
	p.annotations(".metadata.annotations", m.Annotations)
	controllers := 0
	for i, r := range m.OwnerReferences {
		path := api.IndexPath(".metadata.ownerReferences", i)
		for _, f := range [][2]string{{"apiVersion", r.APIVersion}, {"kind", r.Kind}, {"name", r.Name}, {"uid", r.UID}} {
			if f[1] == "" {
				p.required(api.FieldPath(path, f[0]), "")
			}
		}
		if r.Controller != nil && *r.Controller {
			if controllers++; controllers == 2 {
				p.invalid(api.FieldPath(path, "controller"), "only one owner may be the controller")
			}
		}
	}
	for i, f := range m.Finalizers {
		p.check(api.IndexPath(".metadata.finalizers", i), f, validation.IsQualifiedName(f))
	}
}

func (p *problems) name(k api.Kind, m *object.Meta) {
	if m.Name == "" {
		if m.GenerateName == "" {
			p.required(".metadata.name", "")
			return
		}
		p.check(".metadata.generateName", m.GenerateName, validation.IsDNS1123Subdomain(m.GenerateName+"x"))
		return
	}
	if k.Custom {
		p.check(".metadata.name", m.Name, validation.IsDNS1123Subdomain(m.Name))
		return
	}
	switch k.Kind {
	case api.Service.Kind:
		p.check(".metadata.name", m.Name, validation.IsDNS1035Label(m.Name))
	case api.Namespace.Kind:
		p.check(".metadata.name", m.Name, validation.IsDNS1123Label(m.Name))
	case api.Role.Kind, api.ClusterRole.Kind, api.RoleBinding.Kind, api.ClusterRoleBinding.Kind:
		p.pathSegment(".metadata.name", m.Name)
	default:
		p.check(".metadata.name", m.Name, validation.IsDNS1123Subdomain(m.Name))
	}
}

func (p *problems) labels(path string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := api.FieldPath(path, key)
		p.check(at, key, validation.IsQualifiedName(key))
		p.check(at, labels[key], validation.IsValidLabelValue(labels[key]))
	}
}

func (p *problems) annotations(path string, annotations map[string]string) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		p.check(api.FieldPath(path, key), key, validation.IsQualifiedName(strings.ToLower(key)))
		size += len(key) + len(annotations[key])
	}
	if size > maxAnnotations {
		p.invalid(path, "%d bytes of annotations; at most %d", size, maxAnnotations)
	}
}
