package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/object"
)

// match says which documents a policy is about. Every part that is given must
// fit; names may hold * and ?.
type match struct {
	kinds, namespaces, names []string
	labels                   map[string]string
	exclude                  *match
}

// subject is what a match looks at.
type subject struct {
	group, kind, namespace, name string
	labels                       map[string]string
}

func subjectOf(o object.Object) subject {
	return subject{o.Group(), o.Kind(), o.Namespace(), o.Name(), o.Meta().Labels}
}

func (m *match) fits(s subject) bool {
	if m == nil {
		return true
	}
	if m.exclude != nil && m.exclude.fits(s) {
		return false
	}
	for key, pattern := range m.labels {
		if v, ok := s.labels[key]; !ok || !glob(pattern, v) {
			return false
		}
	}
	return one(m.kinds, func(p string) bool { return kindFits(p, s) }) &&
		one(m.namespaces, func(p string) bool { return glob(p, s.namespace) }) &&
		one(m.names, func(p string) bool { return glob(p, s.name) })
}

func one(patterns []string, fits func(string) bool) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, fits)
}

// kindFits takes "Deployment" or "apps/Deployment".
func kindFits(pattern string, s subject) bool {
	if group, kind, ok := strings.Cut(pattern, "/"); ok {
		return glob(group, s.group) && glob(kind, s.kind)
	}
	return glob(pattern, s.kind)
}

func glob(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	return ok && err == nil
}
