package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
)

// AutoUpdate is the annotation that, set to "false", keeps the server from
// completing a default role or binding when it starts.
const AutoUpdate = "rbac.authorization.kubernetes.io/autoupdate"

const (
	defaultsLabel = "kubernetes.io/bootstrapping"
	aggregateTo   = "rbac.authorization.k8s.io/aggregate-to-"
)

var (
	read  = []string{"get", "list", "watch"}
	write = []string{"create", "delete", "deletecollection", "patch", "update"}
)

func rule(verbs []string, group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: resources}
}

func urls(paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: paths}
}

// The resources of namespaces that people work with, by group. Secrets are not
// among what may be viewed: who reads a Secret can act for its owner.
var (
	coreView  = []string{"configmaps", "events", "limitranges", "pods", "pods/log", "pods/status", "resourcequotas", "resourcequotas/status", "serviceaccounts", "services", "services/status", "namespaces", "namespaces/status"}
	coreEdit  = []string{"configmaps", "events", "pods", "secrets", "serviceaccounts", "services"}
	coreRun   = []string{"pods/attach", "pods/exec", "pods/portforward", "pods/eviction"}
	appsView  = []string{"deployments", "deployments/scale", "deployments/status", "replicasets", "replicasets/scale", "replicasets/status"}
	appsEdit  = []string{"deployments", "deployments/scale", "replicasets", "replicasets/scale"}
	batchView = []string{"jobs", "jobs/status"}
	batchEdit = []string{"jobs"}
	writView  = []string{"dependencies", "dependencies/status", "releases", "releaserevisions", "sources", "sources/status"}
	// Who writes a Source applies whatever is in a repository, in every
	// namespace: that is for cluster-admin.
	writEdit = []string{"dependencies", "releases", "releaserevisions"}
)

// aggregated are the roles that people give to others in namespaces. Each is
// made of all roles with its label, so that rules for further kinds join by
// themselves.
var aggregated = []struct {
	name, into string
	rules      []rbacv1.PolicyRule
}{
	{"view", "edit", []rbacv1.PolicyRule{
		rule(read, "", coreView...),
		rule(read, "apps", appsView...),
		rule(read, "batch", batchView...),
		rule(read, "discovery.k8s.io", "endpointslices"),
		rule(read, api.Group, writView...),
	}},
	{"edit", "admin", []rbacv1.PolicyRule{
		rule(read, "", "secrets"),
		rule(write, "", coreEdit...),
		rule(slices.Concat([]string{"get"}, write), "", coreRun...),
		rule([]string{"impersonate"}, "", "serviceaccounts"),
		rule([]string{"create"}, "", "serviceaccounts/token"),
		rule(write, "apps", appsEdit...),
		rule(write, "batch", batchEdit...),
		rule(write, api.Group, writEdit...),
		rule(slices.Concat(read, write), "coordination.k8s.io", "leases"),
	}},
	{"admin", "", []rbacv1.PolicyRule{
		rule([]string{"create"}, "authorization.k8s.io", "localsubjectaccessreviews"),
		rule(slices.Concat(read, write), rbacv1.GroupName, "roles", "rolebindings"),
	}},
}

// Everything is what cluster-admin may do.
var Everything = []rbacv1.PolicyRule{
	rule([]string{all}, all, all),
	{Verbs: []string{all}, NonResourceURLs: []string{all}},
}

// roles are the default ClusterRoles that nothing is aggregated into.
var roles = []struct {
	name  string
	rules []rbacv1.PolicyRule
}{
	{"cluster-admin", Everything},
	{"system:basic-user", []rbacv1.PolicyRule{
		rule([]string{"create"}, "authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
		rule([]string{"create"}, "authentication.k8s.io", "selfsubjectreviews"),
	}},
	{"system:discovery", []rbacv1.PolicyRule{
		urls("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"),
	}},
	{"system:public-info-viewer", []rbacv1.PolicyRule{urls("/healthz", "/livez", "/readyz", "/version", "/version/")}},
	{"system:service-account-issuer-discovery", []rbacv1.PolicyRule{urls("/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/")}},
	{"system:auth-delegator", []rbacv1.PolicyRule{
		rule([]string{"create"}, "authentication.k8s.io", "tokenreviews"),
		rule([]string{"create"}, "authorization.k8s.io", "subjectaccessreviews"),
	}},
	{"system:monitoring", []rbacv1.PolicyRule{urls("/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/readyz", "/readyz/*")}},
}

// bindings are the default ClusterRoleBindings: role and groups.
var bindings = []struct{ name, role, group string }{
	{"cluster-admin", "cluster-admin", "system:masters"},
	{"system:basic-user", "system:basic-user", "system:authenticated"},
	{"system:discovery", "system:discovery", "system:authenticated"},
	{"system:public-info-viewer", "system:public-info-viewer", "system:authenticated"},
	{"system:service-account-issuer-discovery", "system:service-account-issuer-discovery", "system:serviceaccounts"},
	{"system:monitoring", "system:monitoring", "system:monitoring"},
}

func defaultMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{defaultsLabel: "rbac-defaults"}, Annotations: map[string]string{AutoUpdate: "true"}}
}

// DefaultRoles returns the ClusterRoles that every cluster has. The rules of
// the aggregated ones are filled in.
func DefaultRoles() []*rbacv1.ClusterRole {
	var out []*rbacv1.ClusterRole
	for _, r := range roles {
		out = append(out, &rbacv1.ClusterRole{ObjectMeta: defaultMeta(r.name), Rules: r.rules})
	}
	for _, a := range aggregated {
		part := &rbacv1.ClusterRole{ObjectMeta: defaultMeta("system:aggregate-to-" + a.name), Rules: a.rules}
		part.Labels[aggregateTo+a.name] = "true"
		out = append(out, part)
	}
	slices.SortFunc(out, byName)
	parts := slices.Clone(out)
	for _, a := range aggregated {
		whole := &rbacv1.ClusterRole{ObjectMeta: defaultMeta(a.name), AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregateTo + a.name: "true"}}}}}
		if a.into != "" {
			whole.Labels[aggregateTo+a.into] = "true"
		}
		// In the order of aggregated each is made of parts and of wholes before it.
		whole.Rules = Aggregate(whole, parts)
		parts = append(parts, whole)
		slices.SortFunc(parts, byName)
		out = append(out, whole)
	}
	return out
}

func byName(a, b *rbacv1.ClusterRole) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// DefaultBindings returns the ClusterRoleBindings that every cluster has.
func DefaultBindings() []*rbacv1.ClusterRoleBinding {
	var out []*rbacv1.ClusterRoleBinding
	for _, b := range bindings {
		out = append(out, &rbacv1.ClusterRoleBinding{ObjectMeta: defaultMeta(b.name),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: api.ClusterRole.Kind, Name: b.role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: b.group}}})
	}
	return out
}
