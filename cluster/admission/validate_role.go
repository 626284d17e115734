package admission

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/writ-dev/writ/cluster/api"
)

// maxRoleList bounds each list of a rule, and maxSubjects the subjects of a
// binding: requests are judged by walking them.
const (
	maxRoleList = 1000
	maxSubjects = 5000
)

func (p *problems) role(r *rbacv1.Role) { p.policyRules(r.Rules, false) }

func (p *problems) clusterRole(r *rbacv1.ClusterRole) {
	p.policyRules(r.Rules, true)
	if r.AggregationRule == nil {
		return
	}
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		p.required(".aggregationRule.clusterRoleSelectors", "select the roles to aggregate, or remove aggregationRule")
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		at := api.IndexPath(".aggregationRule.clusterRoleSelectors", i)
		for _, e := range metav1validation.ValidateLabelSelector(&r.AggregationRule.ClusterRoleSelectors[i], metav1validation.LabelSelectorValidationOptions{}, field.NewPath("selector")) {
			p.invalid(at, "%s", e.ErrorBody())
		}
	}
}

// policyRules checks the rules of a role; only cluster roles may speak of URLs.
func (p *problems) policyRules(list []rbacv1.PolicyRule, cluster bool) {
	for i, rule := range list {
		at := api.IndexPath(".rules", i)
		for _, l := range []struct {
			name string
			n    int
		}{{"verbs", len(rule.Verbs)}, {"apiGroups", len(rule.APIGroups)}, {"resources", len(rule.Resources)}, {"resourceNames", len(rule.ResourceNames)}, {"nonResourceURLs", len(rule.NonResourceURLs)}} {
			if l.n > maxRoleList {
				p.invalid(at+"."+l.name, "has %d entries; at most %d", l.n, maxRoleList)
			}
		}
		if len(rule.Verbs) == 0 {
			p.add(api.CodeRequired, at+".verbs", "", "verbs must contain at least one value")
		}
		switch {
		case len(rule.NonResourceURLs) > 0 && !cluster:
			p.add(api.CodeInvalid, at+".nonResourceURLs", "use a ClusterRole", "namespaced rules cannot apply to non-resource URLs")
		case len(rule.NonResourceURLs) > 0 && (len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0):
			p.add(api.CodeInvalid, at+".nonResourceURLs", "make two rules", "rules cannot apply to both regular resources and non-resource URLs")
		case len(rule.NonResourceURLs) > 0:
		case len(rule.APIGroups) == 0:
			p.add(api.CodeRequired, at+".apiGroups", `write [""] for the core group`, "resource rules must supply at least one api group")
		case len(rule.Resources) == 0:
			p.add(api.CodeRequired, at+".resources", "", "resource rules must supply at least one resource")
		}
	}
}

// binding checks whom a role is given to. It has its defaults.
func (p *problems) binding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool) {
	if ref.APIGroup != rbacv1.GroupName {
		p.add(api.CodeUnsupported, ".roleRef.apiGroup", "use "+rbacv1.GroupName, "%q is not the group of roles", ref.APIGroup)
	}
	switch {
	case ref.Kind == api.ClusterRole.Kind, ref.Kind == api.Role.Kind && namespaced:
	case ref.Kind == api.Role.Kind:
		p.add(api.CodeUnsupported, ".roleRef.kind", "use ClusterRole", "a ClusterRoleBinding cannot give a Role")
	default:
		p.add(api.CodeUnsupported, ".roleRef.kind", "use Role or ClusterRole", "%q is not a kind of role", ref.Kind)
	}
	if ref.Name == "" {
		p.required(".roleRef.name", "")
	} else {
		p.pathSegment(".roleRef.name", ref.Name)
	}
	if len(subjects) > maxSubjects {
		p.invalid(".subjects", "has %d entries; at most %d", len(subjects), maxSubjects)
		return
	}
	for i, s := range subjects {
		p.subject(api.IndexPath(".subjects", i), s, namespaced)
	}
}

func (p *problems) subject(at string, s rbacv1.Subject, namespaced bool) {
	if s.Name == "" {
		p.required(at+".name", "")
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			p.check(at+".name", s.Name, validation.IsDNS1123Subdomain(s.Name))
		}
		if s.APIGroup != "" {
			p.add(api.CodeUnsupported, at+".apiGroup", "remove it", "a ServiceAccount is in the core group, not %q", s.APIGroup)
		}
		// A RoleBinding without it means its own namespace.
		if s.Namespace == "" && !namespaced {
			p.required(at+".namespace", "")
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		if s.APIGroup != rbacv1.GroupName {
			p.add(api.CodeUnsupported, at+".apiGroup", "use "+rbacv1.GroupName, "%q is not the group of a %s", s.APIGroup, s.Kind)
		}
	default:
		p.add(api.CodeUnsupported, at+".kind", "use User, Group or ServiceAccount", "%q is not a kind of subject", s.Kind)
	}
}

// pathSegment is what the names of roles and bindings must be: system:node has
// a colon.
func (p *problems) pathSegment(at, name string) {
	switch {
	case name == "." || name == "..":
		p.invalid(at, "may not be %q", name)
	default:
		for _, c := range name {
			if c == '/' || c == '%' {
				p.invalid(at, "%q may not contain %q", name, c)
				return
			}
		}
	}
}

// defaultBinding fills in the API groups of the role and the subjects.
func defaultBinding(t tree) {
	if ref := t.sub("roleRef"); ref != nil {
		ref.fill("apiGroup", rbacv1.GroupName)
	}
	for _, s := range t.list("subjects") {
		switch s["kind"] {
		case rbacv1.UserKind, rbacv1.GroupKind:
			s.fill("apiGroup", rbacv1.GroupName)
		}
	}
}
