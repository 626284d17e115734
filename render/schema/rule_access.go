package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/expression"
)

// policyRules checks the rules of a role; only cluster roles may speak of URLs.
func (r *rules) policyRules(list []rbacv1.PolicyRule, cluster bool) {
	for i, rule := range list {
		at := api.IndexPath(".rules", i)
		if len(rule.Verbs) == 0 {
			r.add(api.CodeRequired, at+".verbs", "", "must have a verb")
		}
		switch {
		case len(rule.NonResourceURLs) > 0 && !cluster:
			r.add(api.CodeInvalid, at+".nonResourceURLs", "use a ClusterRole", "a Role has no rules about URLs")
		case len(rule.NonResourceURLs) > 0 && (len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0):
			r.add(api.CodeInvalid, at+".nonResourceURLs", "make two rules", "cannot be in one rule with resources")
		case len(rule.NonResourceURLs) > 0:
		case len(rule.APIGroups) == 0:
			r.add(api.CodeRequired, at+".apiGroups", `write [""] for the core group`, "must have a group")
		case len(rule.Resources) == 0:
			r.add(api.CodeRequired, at+".resources", "", "must have a resource")
		}
	}
}

// binding checks whom a role is given to.
func (r *rules) binding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool) {
	if ref.APIGroup != "" && ref.APIGroup != rbacv1.GroupName {
		r.add(api.CodeUnsupported, ".roleRef.apiGroup", "use "+rbacv1.GroupName, "%q is not the group of roles", ref.APIGroup)
	}
	switch {
	case ref.Kind == "ClusterRole", ref.Kind == "Role" && namespaced:
	case ref.Kind == "Role":
		r.add(api.CodeUnsupported, ".roleRef.kind", "use ClusterRole", "a ClusterRoleBinding cannot give a Role")
	default:
		r.add(api.CodeUnsupported, ".roleRef.kind", "use Role or ClusterRole", "%q is not a kind of role", ref.Kind)
	}
	r.name(".roleRef.name", ref.Name, pathSegment)
	for i, s := range subjects {
		at := api.IndexPath(".subjects", i)
		r.name(at+".name", s.Name, nothing)
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			// A RoleBinding without it means its own namespace.
			if s.Namespace == "" && !namespaced {
				r.add(api.CodeRequired, at+".namespace", "", "a ServiceAccount needs it")
			}
			if s.APIGroup != "" {
				r.add(api.CodeUnsupported, at+".apiGroup", "remove it", "a ServiceAccount is in the core group, not %q", s.APIGroup)
			}
			if s.Name != "" {
				r.valid(at+".name", s.Name, validation.IsDNS1123Subdomain)
			}
		case rbacv1.UserKind, rbacv1.GroupKind:
			if s.APIGroup != "" && s.APIGroup != rbacv1.GroupName {
				r.add(api.CodeUnsupported, at+".apiGroup", "use "+rbacv1.GroupName, "%q is not the group of a %s", s.APIGroup, s.Kind)
			}
		default:
			r.add(api.CodeUnsupported, at+".kind", "use User, Group or ServiceAccount", "%q is not a kind of subject", s.Kind)
		}
	}
}

func (r *rules) validatingWebhooks(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i, w := range c.Webhooks {
		r.webhook(api.IndexPath(".webhooks", i), w.Name, w.ClientConfig, w.Rules, w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions)
	}
}

func (r *rules) mutatingWebhooks(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i, w := range c.Webhooks {
		r.webhook(api.IndexPath(".webhooks", i), w.Name, w.ClientConfig, w.Rules, w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions)
	}
}

func (r *rules) webhook(at, name string, c admissionregistrationv1.WebhookClientConfig, operations []admissionregistrationv1.RuleWithOperations,
	effects *admissionregistrationv1.SideEffectClass, timeout *int32, versions []string,
) {
	if strings.Count(name, ".") < 2 {
		r.add(api.CodeInvalid, at+".name", "write a name such as check.example.com", "must be a domain name with three parts, but is %q", name)
	}
	r.one(at+".clientConfig", map[string]bool{"url": c.URL != nil, "service": c.Service != nil})
	if c.URL != nil {
		if u, err := url.Parse(*c.URL); err != nil || u.Scheme != "https" || u.Host == "" {
			r.add(api.CodeInvalid, at+".clientConfig.url", "begin it with https://", "%q is not an https URL", *c.URL)
		}
	}
	for i, o := range operations {
		path := api.IndexPath(at+".rules", i)
		for _, f := range []struct {
			name string
			n    int
		}{{"operations", len(o.Operations)}, {"apiGroups", len(o.APIGroups)}, {"apiVersions", len(o.APIVersions)}, {"resources", len(o.Resources)}} {
			if f.n == 0 {
				r.required(path+"."+f.name, "")
			}
		}
	}
	if effects != nil && *effects != admissionregistrationv1.SideEffectClassNone && *effects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
		r.add(api.CodeUnsupported, at+".sideEffects", "use None or NoneOnDryRun", "%q is not allowed", *effects)
	}
	if timeout != nil && (*timeout < 1 || *timeout > 30) {
		r.invalid(at+".timeoutSeconds", "must be 1 to 30, but is %d", *timeout)
	}
	if versions != nil && len(versions) == 0 {
		r.required(at+".admissionReviewVersions", "use [v1]")
	}
}

// admissionPolicy checks the syntax of the policy's expressions.
func (r *rules) admissionPolicy(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		r.add(api.CodeRequired, ".spec.validations", "", "must validate something")
	}
	for i, v := range s.Validations {
		at := api.IndexPath(".spec.validations", i)
		r.expression(at+".expression", v.Expression)
		if v.MessageExpression != "" {
			r.expression(at+".messageExpression", v.MessageExpression)
		}
	}
	for i, v := range s.Variables {
		r.expression(api.IndexPath(".spec.variables", i)+".expression", v.Expression)
	}
	for i, v := range s.MatchConditions {
		r.expression(api.IndexPath(".spec.matchConditions", i)+".expression", v.Expression)
	}
	for i, v := range s.AuditAnnotations {
		r.expression(api.IndexPath(".spec.auditAnnotations", i)+".valueExpression", v.ValueExpression)
	}
}

func (r *rules) expression(at, text string) {
	if strings.TrimSpace(text) == "" {
		r.required(at, "")
		return
	}
	err := expression.Parse(text)
	var list expression.Errors
	if errors.As(err, &list) {
		r.invalid(at, "%s: %s", fmt.Sprintf("line %d, column %d of the expression", list[0].Line, list[0].Column), list[0].Message)
	}
}
