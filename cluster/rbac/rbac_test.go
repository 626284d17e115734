package rbac_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/rbac"
)

func encode(t testing.TB, k api.Kind, v any) object.Object {
	t.Helper()
	o, err := api.Encode(k, v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func state(t testing.TB, more ...object.Object) rbac.State {
	t.Helper()
	all := more
	for _, r := range rbac.DefaultRoles() {
		all = append(all, encode(t, api.ClusterRole, r))
	}
	for _, b := range rbac.DefaultBindings() {
		all = append(all, encode(t, api.ClusterRoleBinding, b))
	}
	return access.NewObjects(all)
}

func binding(t testing.TB, namespace, name, kind, role string, subjects ...rbacv1.Subject) object.Object {
	t.Helper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	if namespace == "" {
		return encode(t, api.ClusterRoleBinding, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects})
	}
	return encode(t, api.RoleBinding, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: ref, Subjects: subjects})
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func TestDecide(t *testing.T) {
	i := rbac.Compile(state(t,
		binding(t, "shop", "janes", "ClusterRole", "edit", user("jane")),
		binding(t, "", "auditors", "ClusterRole", "view", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "auditors"}),
		binding(t, "shop", "ci", "Role", "deployer", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "ci"}, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "ci", Namespace: "build"}),
		binding(t, "shop", "broken", "Role", "gone", user("bob"), user("jane")),
		encode(t, api.Role, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployer"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"patch"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web"}},
			{Verbs: []string{"update"}, APIGroups: []string{"*"}, Resources: []string{"*/scale"}},
		}})))
	jane := rbac.User{Name: "jane", Groups: []string{"system:authenticated"}}
	auditor := rbac.User{Name: "max", Groups: []string{"auditors"}}
	ci := rbac.User{Name: rbac.AccountUser("build", "ci")}
	for _, test := range []struct {
		user   rbac.User
		r      rbac.Request
		want   bool
		reason string
	}{
		{jane, rbac.Request{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "shop"}, true, `RBAC: allowed by RoleBinding "janes/shop" of ClusterRole "edit" to User "jane"`},
		{jane, rbac.Request{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "other"}, false, ""},
		{jane, rbac.Request{Verb: "list", Group: "apps", Resource: "deployments"}, false, ""},
		{jane, rbac.Request{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "shop", Name: "p"}, true, ""},
		{jane, rbac.Request{Verb: "update", Resource: "pods", Subresource: "status", Namespace: "shop", Name: "p"}, false, `RBAC: role.rbac.authorization.k8s.io "gone" not found`},
		{jane, rbac.Request{Verb: "create", Group: rbacv1.GroupName, Resource: "rolebindings", Namespace: "shop"}, false, ""},
		{jane, rbac.Request{Verb: "get", Path: "/apis/apps/v1"}, true, ""},
		{jane, rbac.Request{Verb: "get", Path: "/metrics"}, false, ""},
		{auditor, rbac.Request{Verb: "watch", Resource: "pods"}, true, ""},
		{auditor, rbac.Request{Verb: "get", Resource: "secrets", Namespace: "shop", Name: "s"}, false, ""},
		{ci, rbac.Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}, true, ""},
		{ci, rbac.Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop", Name: "api"}, false, ""},
		{ci, rbac.Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop"}, false, ""},
		{ci, rbac.Request{Verb: "update", Group: "apps", Resource: "replicasets", Subresource: "scale", Namespace: "shop", Name: "x"}, true, ""},
		{ci, rbac.Request{Verb: "update", Group: "apps", Resource: "replicasets", Namespace: "shop", Name: "x"}, false, ""},
		{rbac.User{Name: "bob"}, rbac.Request{Verb: "get", Resource: "pods", Namespace: "shop"}, false, `RBAC: role.rbac.authorization.k8s.io "gone" not found`},
		{rbac.User{Name: "x", Groups: []string{"system:masters"}}, rbac.Request{Verb: "escalate", Group: rbacv1.GroupName, Resource: "clusterroles", Name: "x"}, true, ""},
	} {
		d := i.Decide(test.user, test.r)
		if d.Allowed != test.want || test.reason != "" && d.Reason != test.reason {
			t.Errorf("%s %+v: %+v, want %v %q", test.user.Name, test.r, d, test.want, test.reason)
		}
	}
}

func TestMissing(t *testing.T) {
	held := []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods", "*/status"}},
		{Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/metrics/*"}},
	}
	for name, test := range map[string]struct {
		want    rbacv1.PolicyRule
		missing string
	}{
		"held":           {rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods", "services/status"}}, ""},
		"one name":       {rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web"}}, ""},
		"all names":      {rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}}, `{APIGroups:["apps"], Resources:["deployments"], Verbs:["delete"]}`},
		"another name":   {rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{"web", "api"}}, `{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["api"], Verbs:["get"]}`},
		"verbs":          {rbacv1.PolicyRule{Verbs: []string{"get", "create", "delete"}, APIGroups: []string{""}, Resources: []string{"pods"}}, `{APIGroups:[""], Resources:["pods"], Verbs:["create", "delete"]}`},
		"all verbs":      {rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"pods"}}, `{APIGroups:[""], Resources:["pods"], Verbs:["*"]}`},
		"all resources":  {rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"*"}}, `{APIGroups:[""], Resources:["*"], Verbs:["get"]}`},
		"any status":     {rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"*/status"}}, ""},
		"all groups":     {rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"pods"}}, `{APIGroups:["*"], Resources:["pods"], Verbs:["get"]}`},
		"path":           {rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics/a", "/metrics/*", "/livez"}}, `{NonResourceURLs:["/livez"], Verbs:["get"]}`},
		"path, any verb": {rbacv1.PolicyRule{Verbs: []string{"*"}, NonResourceURLs: []string{"/healthz"}}, `{NonResourceURLs:["/healthz"], Verbs:["*"]}`},
	} {
		var lines []string
		for _, r := range rbac.Missing(held, []rbacv1.PolicyRule{test.want}) {
			lines = append(lines, rbac.Text(r))
		}
		if got := strings.Join(lines, "\n"); got != test.missing {
			t.Errorf("%s: missing %s, want %s", name, got, test.missing)
		}
	}
}

// TestMissingAgreesWithDecide: what a rule is said to cover it does allow, over
// random rules.
func TestMissingAgreesWithDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(from ...string) (out []string) {
		for _, s := range from {
			if r.IntN(3) == 0 {
				out = append(out, s)
			}
		}
		if len(out) == 0 {
			out = from[:1]
		}
		return out
	}
	random := func() rbacv1.PolicyRule {
		rule := rbacv1.PolicyRule{Verbs: pick("get", "list", "*"), APIGroups: pick("", "apps", "*"), Resources: pick("pods", "pods/log", "*/log", "*")}
		if r.IntN(2) == 0 {
			rule.ResourceNames = pick("a", "b")
		}
		return rule
	}
	allows := func(rules []rbacv1.PolicyRule, q rbac.Request) bool {
		for i := range rules {
			if rbac.Allows(&rules[i], q) {
				return true
			}
		}
		return false
	}
	covered := 0
	for range 5000 {
		held, wanted := []rbacv1.PolicyRule{random(), random()}, []rbacv1.PolicyRule{random()}
		if len(rbac.Missing(held, wanted)) > 0 {
			continue
		}
		covered++
		for _, verb := range []string{"get", "list", "delete"} {
			for _, group := range []string{"", "apps", "batch"} {
				for _, resource := range []string{"pods", "jobs"} {
					for _, sub := range []string{"", "log", "scale"} {
						for _, name := range []string{"", "a", "c"} {
							q := rbac.Request{Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: "n", Name: name}
							if allows(wanted, q) && !allows(held, q) {
								t.Fatalf("%+v is allowed by %v, but not by %v, which is said to cover it", q, wanted, held)
							}
						}
					}
				}
			}
		}
	}
	if covered < 100 {
		t.Fatalf("only %d pairs were covered", covered)
	}
}

func TestDefaultsAggregate(t *testing.T) {
	by := map[string]*rbacv1.ClusterRole{}
	var all []*rbacv1.ClusterRole
	for _, r := range rbac.DefaultRoles() {
		by[r.Name] = r
		all = append(all, r)
	}
	for _, name := range []string{"view", "edit", "admin"} {
		if len(by[name].Rules) == 0 {
			t.Errorf("%s has no rules", name)
		}
	}
	if m := rbac.Missing(by["edit"].Rules, by["view"].Rules); len(m) > 0 {
		t.Errorf("edit lacks of view: %v", m)
	}
	if m := rbac.Missing(by["admin"].Rules, by["edit"].Rules); len(m) > 0 {
		t.Errorf("admin lacks of edit: %v", m)
	}
	if len(rbac.Missing(by["view"].Rules, by["edit"].Rules)) == 0 {
		t.Error("view has all of edit")
	}
	extra := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "z", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}}}}
	got := rbac.Aggregate(by["view"], append(all, extra))
	if diff := cmp.Diff(append(by["view"].Rules, extra.Rules...), got); diff != "" {
		t.Error(diff)
	}
}

func TestCombinationsAreBounded(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("x", i)
	}
	if n := rbac.Combinations([]rbacv1.PolicyRule{{Verbs: many, APIGroups: many, Resources: many, ResourceNames: many}}); n != rbac.MaxCombinations+1 {
		t.Errorf("%d", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	var more []object.Object
	for i := range 1000 {
		name := strings.Repeat("u", i%10+1)
		more = append(more, binding(b, "n"+name, "b"+strings.Repeat("x", i), "ClusterRole", "edit", user(name)))
	}
	i := rbac.Compile(state(b, more...))
	u := rbac.User{Name: "u", Groups: []string{"system:authenticated"}}
	for b.Loop() {
		if !i.Decide(u, rbac.Request{Verb: "create", Resource: "configmaps", Namespace: "nu"}).Allowed {
			b.Fatal("refused")
		}
	}
}
