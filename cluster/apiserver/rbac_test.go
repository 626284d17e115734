package apiserver_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/client"
)

// kubectlAs is the real program with a client certificate of its own.
func (h *harness) kubectlAs(t testing.TB, name string, groups ...string) *kubectl {
	t.Helper()
	k := h.kubectl(t)
	p, err := h.creds.Authority().Issue(auth.Subject{Name: name, Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	k.config = filepath.Join(k.home, "config")
	b64 := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}],
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}],
contexts: [{name: c, context: {cluster: c, user: u}}]}`, h.url, b64(h.creds.Authority().PEM()), b64(p.Cert), b64(p.Key))
	if err := os.WriteFile(k.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// clientAs is Writ's own client with a client certificate of its own.
func (h *harness) clientAs(t testing.TB, name string, groups ...string) *client.Client {
	t.Helper()
	p, err := h.creds.Authority().Issue(auth.Subject{Name: name, Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Server: h.url, CA: h.creds.Authority().PEM(), Cert: p.Cert, Key: p.Key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestKubectlRBAC(t *testing.T) {
	h := start(t)
	admin, jane, max := h.kubectl(t), h.kubectlAs(t, "jane"), h.kubectlAs(t, "max", "auditors")
	admin.run(t, shop, "apply", "-f", "-")

	contains(t, "nothing yet", jane.fails(t, "", "get", "pods", "-n", "shop"),
		`Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop"`)
	contains(t, "cluster scope", jane.fails(t, "", "get", "deploy", "-A"), `deployments.apps is forbidden: User "jane" cannot list resource "deployments" in API group "apps" at the cluster scope`)
	contains(t, "a path", jane.fails(t, "", "get", "--raw", "/metrics"), `forbidden: User "jane" cannot get path "/metrics"`)
	contains(t, "can-i", func() string { out, _, _ := jane.try(t, "", "auth", "can-i", "get", "pods", "-n", "shop"); return out }(), "no")
	contains(t, "whoami", max.run(t, "", "auth", "whoami"), "max", "auditors", "system:authenticated")

	admin.run(t, "", "create", "rolebinding", "janes", "--clusterrole=edit", "--user=jane", "-n", "shop")
	admin.run(t, "", "create", "clusterrolebinding", "auditors", "--clusterrole=view", "--group=auditors")
	contains(t, "can-i", jane.run(t, "", "auth", "can-i", "create", "deployments.apps", "-n", "shop"), "yes")
	list := jane.run(t, "", "auth", "can-i", "--list", "-n", "shop")
	contains(t, "can-i --list", list, "deployments.apps", "selfsubjectaccessreviews.authorization.k8s.io", "[/api/*]", "secrets")
	contains(t, "scale", jane.run(t, "", "scale", "deploy", "web", "-n", "shop", "--replicas=3"), "scaled")
	contains(t, "elsewhere", jane.fails(t, "", "get", "cm", "-n", "default"), `in the namespace "default"`)
	contains(t, "her namespace", jane.run(t, "", "get", "ns", "shop"), "Active")
	contains(t, "another's", jane.fails(t, "", "get", "ns", "default"), `namespaces "default" is forbidden`)
	contains(t, "auditor", max.run(t, "", "get", "deploy", "-A"), "web")
	contains(t, "auditor and secrets", max.fails(t, "", "get", "secret", "key", "-n", "shop"), `secrets "key" is forbidden: User "max" cannot get resource "secrets"`)
	contains(t, "auditor writes", max.fails(t, "", "delete", "cm", "settings", "-n", "shop"), `cannot delete resource "configmaps"`)

	// One object by its name.
	admin.run(t, "", "create", "role", "one", "--verb=get,list,watch", "--resource=secrets", "--resource-name=key", "-n", "shop")
	admin.run(t, "", "create", "rolebinding", "one", "--role=one", "--group=auditors", "-n", "shop")
	contains(t, "by name", max.run(t, "", "get", "secret", "key", "-n", "shop"), "Opaque")
	contains(t, "selected by name", max.run(t, "", "get", "secret", "-n", "shop", "--field-selector=metadata.name=key"), "Opaque")
	max.fails(t, "", "get", "secrets", "-n", "shop")

	// For others, as an administrator and by impersonation.
	contains(t, "as jane", admin.run(t, "", "auth", "can-i", "delete", "pods", "-n", "shop", "--as=jane"), "yes")
	contains(t, "as nobody", admin.fails(t, "", "get", "pods", "-n", "shop", "--as=nobody"), `User "nobody" cannot list resource "pods"`)
	contains(t, "as a group", admin.run(t, "", "get", "cm", "-n", "shop", "--as=nobody", "--as-group=auditors"), "settings")
	contains(t, "jane as max", jane.fails(t, "", "get", "pods", "--as=max"), `users "max" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope`)
	contains(t, "jane as her account", jane.run(t, "", "auth", "whoami", "--as=system:serviceaccount:shop:web"), "system:serviceaccounts:shop")
	contains(t, "jane as a group", jane.fails(t, "", "get", "pods", "--as=system:serviceaccount:shop:web", "--as-group=system:masters"), `groups "system:masters" is forbidden`)
	contains(t, "as the control plane", admin.fails(t, "", "get", "pods", "--as=system:writ"), "nobody acts as the control plane")
	contains(t, "reconcile", admin.run(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: one, namespace: shop}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n", "auth", "reconcile", "-f", "-"), "reconciled")
	contains(t, "describe", admin.run(t, "", "describe", "clusterrole", "view"), "deployments.apps", "pods/log")
	contains(t, "wide", admin.run(t, "", "get", "rolebinding", "-n", "shop", "-o", "wide"), "ClusterRole/edit", "jane")
}

func TestEscalation(t *testing.T) {
	h := start(t)
	ctx := t.Context()
	admin, jane := h.admin(t), h.clientAs(t, "jane")
	for _, text := range []string{
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"janes","namespace":"default"},"roleRef":{"kind":"ClusterRole","name":"admin"},"subjects":[{"kind":"User","name":"jane"}]}`,
	} {
		if _, err := admin.Create(ctx, must(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	role := func(name, rules string) string {
		return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":%q,"namespace":"default"},"rules":[%s]}`, name, rules)
	}
	bind := func(name, kind, role string) string {
		return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":%q,"namespace":"default"},"roleRef":{"kind":%q,"name":%q},"subjects":[{"kind":"User","name":"bob"}]}`, name, kind, role)
	}
	const pods, nodes = `{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}`, `{"apiGroups":[""],"resources":["nodes"],"verbs":["get","delete"]}`
	forbidden := func(what string, err error, parts ...string) {
		t.Helper()
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
			return
		}
		contains(t, what, err.Error(), parts...)
	}
	create := func(text string) error { _, err := jane.Create(ctx, must(t, text)); return err }

	if err := create(role("readers", pods)); err != nil {
		t.Errorf("a role of what she holds: %v", err)
	}
	forbidden("a role of more", create(role("killers", pods+","+nodes)),
		`roles.rbac.authorization.k8s.io "killers" is forbidden: user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:`,
		`{APIGroups:[""], Resources:["nodes"], Verbs:["get", "delete"]}`)
	if err := create(bind("a", "ClusterRole", "view")); err != nil {
		t.Errorf("to bind what she holds: %v", err)
	}
	forbidden("to bind more", create(bind("b", "ClusterRole", "cluster-admin")), "not currently held", `{APIGroups:["*"], Resources:["*"], Verbs:["*"]}`)
	if err := create(bind("c", "Role", "nowhere")); !apierrors.IsNotFound(err) {
		t.Errorf("to bind what is not there: %v", err)
	}
	forbidden("role and binding in one transaction", transact(ctx, jane, must(t, role("x", nodes)), must(t, bind("x", "Role", "x"))), "not currently held")
	if err := transact(ctx, jane, must(t, role("y", pods)), must(t, bind("y", "Role", "y"))); err != nil {
		t.Errorf("both in one transaction: %v", err)
	}

	// An update that hands out nothing new may be made, and one that does not.
	if _, err := admin.Create(ctx, must(t, role("strong", nodes))); err != nil {
		t.Fatal(err)
	}
	labelled := strings.Replace(role("strong", nodes), `"name"`, `"labels":{"a":"b"},"name"`, 1)
	if _, err := jane.Update(ctx, must(t, labelled)); err != nil {
		t.Errorf("to label a stronger role: %v", err)
	}
	_, err := jane.Update(ctx, must(t, role("readers", pods+","+nodes)))
	forbidden("to strengthen a role", err, "not currently held")
	forbidden("to bind a stronger role", create(bind("d", "Role", "strong")), "not currently held")

	// The verbs bind and escalate.
	if _, err := admin.Create(ctx, must(t, role("delegate", `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["bind"],"resourceNames":["strong"]},{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["escalate"]}`))); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Create(ctx, must(t, strings.Replace(bind("delegates", "Role", "delegate"), "bob", "jane", 1))); err != nil {
		t.Fatal(err)
	}
	if err := create(bind("d", "Role", "strong")); err != nil {
		t.Errorf("to bind with the verb bind: %v", err)
	}
	if err := create(role("killers", nodes)); err != nil {
		t.Errorf("a role with the verb escalate: %v", err)
	}
	forbidden("to bind another", create(bind("e", "ClusterRole", "cluster-admin")), "not currently held")

	// Aggregation.
	boss := h.clientAs(t, "boss")
	for _, text := range []string{
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"role-writer"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"verbs":["*"]},{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"role-writer"},"roleRef":{"kind":"ClusterRole","name":"role-writer"},"subjects":[{"kind":"User","name":"boss"}]}`,
	} {
		if _, err := admin.Create(ctx, must(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	const sum = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`
	// "*" on clusterroles holds escalate as well.
	if _, err := boss.Create(ctx, must(t, sum)); err != nil {
		t.Errorf("aggregation with the verb escalate: %v", err)
	}
	_, err = jane.Create(ctx, must(t, sum))
	forbidden("aggregation", err, `cannot create resource "clusterroles"`)
	if _, err := admin.Get(ctx, api.ClusterRole.Key("", "sum")); err != nil {
		t.Error(err)
	}
}

func TestSubjectAccessReviews(t *testing.T) {
	h := start(t)
	admin, jane := h.kubectl(t), h.kubectlAs(t, "jane")
	admin.run(t, "", "create", "rolebinding", "janes", "--clusterrole=admin", "--user=jane", "-n", "default")
	review := func(kind, namespace, spec string) string {
		m := ""
		if namespace != "" {
			m = "metadata: {namespace: " + namespace + "}\n"
		}
		return "apiVersion: authorization.k8s.io/v1\nkind: " + kind + "\n" + m + "spec: " + spec + "\n"
	}
	yes := review("SubjectAccessReview", "", `{user: jane, resourceAttributes: {verb: create, group: apps, resource: deployments, namespace: default}}`)
	contains(t, "allowed", admin.run(t, yes, "create", "-f", "-", "-o", "jsonpath={.status.allowed} {.status.reason}"), `true RBAC: allowed by RoleBinding "janes/default" of ClusterRole "admin" to User "jane"`)
	no := review("SubjectAccessReview", "", `{user: jane, groups: [x], resourceAttributes: {verb: create, resource: nodes}}`)
	contains(t, "refused", admin.run(t, no, "create", "-f", "-", "-o", "yaml"), "allowed: false")
	contains(t, "not for everybody", jane.fails(t, yes, "create", "-f", "-"), "subjectaccessreviews.authorization.k8s.io is forbidden")
	local := `{user: bob, resourceAttributes: {verb: get, resource: pods, namespace: default}}`
	contains(t, "local", jane.run(t, review("LocalSubjectAccessReview", "default", local), "create", "-f", "-", "-o", "yaml"), "allowed: false")
	contains(t, "about another namespace", jane.fails(t, review("LocalSubjectAccessReview", "default", strings.Replace(local, "default", "kube-system", 1)), "create", "-f", "-"), "must be the namespace of the request")
	contains(t, "about nobody", admin.fails(t, review("SubjectAccessReview", "", `{resourceAttributes: {verb: get, resource: pods}}`), "create", "-f", "-"), "at least one of user and groups")
}
