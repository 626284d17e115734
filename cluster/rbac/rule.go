package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// all is the wildcard of verbs, groups, resources and paths.
const all = "*"

// Allows says whether a rule allows r.
func Allows(rule *rbacv1.PolicyRule, r Request) bool {
	if !has(rule.Verbs, r.Verb) {
		return false
	}
	if r.Path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(p string) bool { return pathCovers(p, r.Path) })
	}
	return has(rule.APIGroups, r.Group) &&
		slices.ContainsFunc(rule.Resources, func(x string) bool { return resourceIs(x, r.Resource, r.Subresource) }) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
}

func has(list []string, v string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return x == all || x == v })
}

// resourceIs matches a rule's resource: "pods", "pods/log", "*/scale" or "*".
func resourceIs(rule, resource, sub string) bool {
	switch {
	case rule == all:
		return true
	case sub == "":
		return rule == resource
	}
	r, s, ok := strings.Cut(rule, "/")
	return ok && s == sub && (r == resource || r == all)
}

// pathCovers says whether a rule's path, which may end in a wildcard, covers
// another one.
func pathCovers(rule, path string) bool {
	prefix, wild := strings.CutSuffix(rule, all)
	return rule == path || wild && strings.HasPrefix(path, prefix)
}

// MaxCombinations bounds the single permissions that Missing looks at.
const MaxCombinations = 20000

// Combinations counts the single permissions that rules are made of, up to
// MaxCombinations+1.
func Combinations(rules []rbacv1.PolicyRule) int {
	n := 0
	for i := range rules {
		r := &rules[i]
		one := 1
		for _, count := range []int{len(r.Verbs), max(1, len(r.APIGroups)), max(1, len(r.Resources)), max(1, len(r.ResourceNames)), max(1, len(r.NonResourceURLs))} {
			if one *= count; one > MaxCombinations {
				return MaxCombinations + 1
			}
		}
		if n += one; n > MaxCombinations {
			return MaxCombinations + 1
		}
	}
	return n
}

// Missing returns what of wanted is not held, in the fewest rules. Wanted must
// have at most MaxCombinations.
func Missing(held, wanted []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for one := range singles(wanted) {
		if !slices.ContainsFunc(held, func(h rbacv1.PolicyRule) bool { return covers(&h, &one) }) {
			out = merge(out, one)
		}
	}
	return out
}

// singles yields rules that each hold one verb of one resource or path.
func singles(rules []rbacv1.PolicyRule) func(yield func(rbacv1.PolicyRule) bool) {
	return func(yield func(rbacv1.PolicyRule) bool) {
		for i := range rules {
			r := &rules[i]
			for _, verb := range r.Verbs {
				for _, url := range r.NonResourceURLs {
					if !yield(rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}}) {
						return
					}
				}
			}
			for _, one := range resources(r) {
				if !yield(one) {
					return
				}
			}
		}
	}
}

func resources(r *rbacv1.PolicyRule) []rbacv1.PolicyRule {
	names := [][]string{nil}
	if len(r.ResourceNames) > 0 {
		names = nil
		for _, n := range r.ResourceNames {
			names = append(names, []string{n})
		}
	}
	var out []rbacv1.PolicyRule
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, name := range names {
				for _, verb := range r.Verbs {
					out = append(out, rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: name})
				}
			}
		}
	}
	return out
}

// covers says whether a held rule covers one single permission.
func covers(held, one *rbacv1.PolicyRule) bool {
	if !has(held.Verbs, one.Verbs[0]) {
		return false
	}
	if len(one.NonResourceURLs) > 0 {
		return slices.ContainsFunc(held.NonResourceURLs, func(p string) bool { return pathCovers(p, one.NonResourceURLs[0]) })
	}
	resource, sub, _ := strings.Cut(one.Resources[0], "/")
	return has(held.APIGroups, one.APIGroups[0]) &&
		slices.ContainsFunc(held.Resources, func(x string) bool { return resourceIs(x, resource, sub) }) &&
		(len(held.ResourceNames) == 0 || len(one.ResourceNames) > 0 && slices.Contains(held.ResourceNames, one.ResourceNames[0]))
}

// merge adds a single permission to the last rule when they differ by the verb
// only.
func merge(rules []rbacv1.PolicyRule, one rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if n := len(rules); n > 0 {
		last := &rules[n-1]
		if slices.Equal(last.APIGroups, one.APIGroups) && slices.Equal(last.Resources, one.Resources) &&
			slices.Equal(last.ResourceNames, one.ResourceNames) && slices.Equal(last.NonResourceURLs, one.NonResourceURLs) {
			last.Verbs = append(last.Verbs, one.Verbs...)
			return rules
		}
	}
	return append(rules, one)
}

// Text words a rule as Kubernetes does in its refusals:
// {APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}.
func Text(r rbacv1.PolicyRule) string {
	var parts []string
	for _, f := range []struct {
		name string
		list []string
	}{{"NonResourceURLs", r.NonResourceURLs}, {"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs}} {
		if len(f.list) > 0 {
			parts = append(parts, f.name+`:["`+strings.Join(f.list, `", "`)+`"]`)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
