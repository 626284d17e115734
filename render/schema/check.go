package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/structural"
)

// Result is what is found in one document.
type Result struct {
	// Problems are reasons for an API server to refuse the document, Warnings
	// what it accepts but is probably not meant.
	Problems, Warnings []api.Problem
}

// Check tells what is wrong with a document of a built-in kind. The rules are
// applied only when the fields have the right names and types.
func Check(k Kind, o object.Object) Result {
	r := &rules{}
	if k.Removed != "" {
		r.add(CodeRemoved, ".apiVersion", instead(k), "%s %s is not served since Kubernetes %s", k.APIVersion, k.Kind, k.Removed)
		return r.result()
	}
	if k.Deprecated != "" {
		r.warn(CodeDeprecated, ".apiVersion", instead(k), "%s %s is deprecated since Kubernetes %s", k.APIVersion, k.Kind, k.Deprecated)
	}
	shaped := true
	for _, p := range k.Fields().Validate(k.Kind, o.Tree()) {
		switch p.Code {
		case structural.CodeRepeated:
			r.warnings = append(r.warnings, p)
		case api.CodeType:
			shaped = false
			fallthrough
		default:
			r.problems = append(r.problems, p)
		}
	}
	r.scope(k.Kind, k.Namespaced, o.Meta())
	r.meta(k.Kind, o.Meta())
	if shaped {
		r.kind(k, o)
	}
	return r.result()
}

// CheckMeta tells what is wrong with the metadata of an object of a custom
// kind.
func CheckMeta(kind string, namespaced bool, o object.Object) Result {
	whole := structural.Schema{PreserveUnknown: true, Properties: map[string]*structural.Schema{"metadata": Metadata()}}
	r := &rules{problems: whole.Validate(kind, o.Tree())}
	r.scope(kind, namespaced, o.Meta())
	r.meta(kind, o.Meta())
	return r.result()
}

func instead(k Kind) string {
	if k.Replacement == "" {
		return ""
	}
	return "use " + k.Replacement
}

// rules collects what is wrong with one document.
type rules struct {
	problems, warnings []api.Problem
}

// maxProblems bounds what is reported of one document.
const maxProblems = 100

func (r *rules) add(code, path, hint, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, api.Problem{Code: code, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

func (r *rules) warn(code, path, hint, format string, args ...any) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, api.Problem{Code: code, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
}

func (r *rules) invalid(path, format string, args ...any) {
	r.add(api.CodeInvalid, path, "", format, args...)
}

func (r *rules) required(path, hint string) {
	r.add(api.CodeRequired, path, hint, "is required")
}

// name reports the first complaint of one of Kubernetes' validators about a
// value, and that it is missing when it is empty.
func (r *rules) name(path, value string, check func(string) []string) {
	if value == "" {
		r.required(path, "")
		return
	}
	r.valid(path, value, check)
}

func (r *rules) valid(path, value string, check func(string) []string) {
	if bad := check(value); len(bad) > 0 {
		r.invalid(path, "%q: %s", value, bad[0])
	}
}

// atLeast reports a number below low.
func (r *rules) atLeast(path string, n, low int64) {
	if n < low {
		r.invalid(path, "must be at least %d, but is %d", low, n)
	}
}

// count reports a negative number, where there is one.
func (r *rules) count(path string, n *int32) {
	if n != nil {
		r.atLeast(path, int64(*n), 0)
	}
}

// one reports that not exactly one of several members is there.
func (r *rules) one(path string, members map[string]bool) {
	var set, names []string
	for name, there := range members {
		names = append(names, name)
		if there {
			set = append(set, name)
		}
	}
	slices.Sort(names)
	slices.Sort(set)
	switch {
	case len(set) == 0 && len(names) > 8:
		r.add(api.CodeRequired, path, "", "names nothing that it could be")
	case len(set) == 0:
		r.add(api.CodeRequired, path, "", "must have one of %s", join(names))
	case len(set) > 1:
		r.add(api.CodeInvalid, path, "keep one", "must have only one of %s", join(set))
	}
}

// result sorts out problems that say the same about one field: a missing
// member is reported by its schema and by a rule, and what is missing in it is
// of no interest.
func (r *rules) result() Result {
	seen, missing := map[string]bool{}, map[string]bool{}
	for _, p := range r.problems {
		missing[p.Path] = missing[p.Path] || p.Code == api.CodeRequired
	}
	unique := slices.DeleteFunc(r.problems, func(p api.Problem) bool {
		key := p.Path + " " + p.Code
		twice := seen[key]
		seen[key] = true
		return twice || p.Code == api.CodeRequired && within(p.Path, missing)
	})
	return Result{Problems: unique, Warnings: r.warnings}
}

// within reports whether a path leads through one of the others.
func within(path string, others map[string]bool) bool {
	for i := len(path) - 1; i > 0; i-- {
		if (path[i] == '.' || path[i] == '[') && others[path[:i]] {
			return true
		}
	}
	return false
}

// decode gives the typed form of a document to a rule. Everything that would
// not fit was reported by the schema.
func decode[T any](r *rules, o object.Object, rule func(*T)) {
	v := new(T)
	if err := json.Unmarshal(o.JSON(), v); err == nil {
		rule(v)
	}
}
