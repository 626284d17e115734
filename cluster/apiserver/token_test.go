package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/registry"
)

const accountPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default"},"spec":{"serviceAccountName":"web","containers":[{"name":"c","image":"` + image + `"}]}}`

// holding returns a client with a bearer token and nothing else.
func (h *harness) holding(t testing.TB, token string) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(&rest.Config{Host: h.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: h.creds.Authority().PEM()}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKubectlCreateToken(t *testing.T) {
	h := start(t)
	k := h.kubectl(t)
	k.run(t, "", "create", "serviceaccount", "web")
	k.run(t, "", "create", "rolebinding", "web", "--clusterrole=view", "--serviceaccount=default:web")
	token := strings.TrimSpace(k.run(t, "", "create", "token", "web", "--duration=20m"))
	web := h.kubectl(t)
	web.config = "/dev/null"
	with := []string{"--server", h.url, "--insecure-skip-tls-verify", "--token", token}
	run := func(args ...string) string { return web.run(t, "", append(args, with...)...) }
	contains(t, "whoami", run("auth", "whoami"), "system:serviceaccount:default:web", "system:serviceaccounts:default", "system:authenticated", "JTI=")
	contains(t, "what the role gives", run("get", "serviceaccounts"), "web")
	contains(t, "and no more", web.fails(t, "", append(with, "get", "secrets")...), `User "system:serviceaccount:default:web" cannot list resource "secrets"`)
	contains(t, "too short", k.fails(t, "", "create", "token", "web", "--duration=5m"), "may not specify a duration less than 10 minutes")
	contains(t, "nobody", k.fails(t, "", "create", "token", "nobody"), `serviceaccounts "nobody" not found`)

	// It is good as long as its account, not one of the same name.
	k.run(t, "", "delete", "serviceaccount", "web")
	k.run(t, "", "create", "serviceaccount", "web")
	contains(t, "the account is another", web.fails(t, "", append(with, "get", "serviceaccounts")...), "Unauthorized")

	// Who may make tokens for others can act for them: edit may, view may not.
	k.run(t, "", "create", "rolebinding", "jane", "--clusterrole=view", "--user=jane")
	contains(t, "may not", h.kubectlAs(t, "jane").fails(t, "", "create", "token", "web"), `cannot create resource "serviceaccounts/token"`)
}

func TestTokenIsBoundToItsPod(t *testing.T) {
	h := start(t)
	ctx := t.Context()
	admin, sys := h.admin(t), h.registry.As(registry.System)
	c := clientset(t, h.rest(t, true))
	n1, n2 := join(t, h, "n1"), join(t, h, "n2")
	for i, n := range []*node{n1, n2} {
		if _, err := n.Create(ctx, must(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d"}}`, i+1))); err != nil {
			t.Fatal(err)
		}
	}
	for _, doc := range []string{
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"web","namespace":"default"}}`,
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"other","namespace":"default"}}`, accountPod} {
		if _, err := admin.Create(ctx, must(t, doc)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sys.Bind(ctx, "default", "web", "", "n1", registry.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	pod, err := admin.Get(ctx, api.Pod.Key("default", "web"))
	if err != nil {
		t.Fatal(err)
	}
	uid := pod.Meta().UID
	ref := func(uid string) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "web", UID: types.UID(uid)}
	}
	ask := func(c *kubernetes.Clientset, account string, spec authenticationv1.TokenRequestSpec) (string, error) {
		out, err := c.CoreV1().ServiceAccounts("default").CreateToken(ctx, account, &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return out.Status.Token, nil
	}
	asNode := func(n *node) *kubernetes.Clientset {
		t.Helper()
		c, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: h.url}, &http.Client{Transport: &http.Transport{TLSClientConfig: h.nodeTLS(n)}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := ask(c, "other", authenticationv1.TokenRequestSpec{BoundObjectRef: ref(uid)}); !apierrors.IsBadRequest(err) {
		t.Errorf("for a pod of another account: %v", err)
	}
	if _, err := ask(c, "web", authenticationv1.TokenRequestSpec{BoundObjectRef: ref("x")}); !apierrors.IsConflict(err) {
		t.Errorf("for another pod of that name: %v", err)
	}
	// A node gets tokens for the accounts of its pods only, and bound to them.
	for name, f := range map[string]func() (string, error){
		"another node": func() (string, error) {
			return ask(asNode(n2), "web", authenticationv1.TokenRequestSpec{BoundObjectRef: ref(uid)})
		},
		"not bound":       func() (string, error) { return ask(asNode(n1), "web", authenticationv1.TokenRequestSpec{}) },
		"another account": func() (string, error) { return ask(asNode(n1), "other", authenticationv1.TokenRequestSpec{}) },
		"bound by name": func() (string, error) {
			return ask(asNode(n1), "web", authenticationv1.TokenRequestSpec{BoundObjectRef: ref("")})
		},
		"bound to its node": func() (string, error) {
			return ask(asNode(n1), "web", authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: "n1", UID: "x"}})
		},
	} {
		if _, err := f(); !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
			t.Errorf("a node, %s: %v", name, err)
		}
	}
	token, err := ask(asNode(n1), "web", authenticationv1.TokenRequestSpec{BoundObjectRef: ref(uid)})
	if err != nil {
		t.Fatal(err)
	}
	who, err := h.holding(t, token).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e := who.Status.UserInfo.Extra; e["authentication.kubernetes.io/pod-uid"][0] != uid || e["authentication.kubernetes.io/node-name"][0] != "n1" {
		t.Errorf("holder: %+v", who.Status.UserInfo)
	}
	review := func(token string, audiences ...string) authenticationv1.TokenReviewStatus {
		t.Helper()
		v, err := c.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return v.Status
	}
	if v := review(token); !v.Authenticated || v.User.Username != "system:serviceaccount:default:web" || v.Error != "" {
		t.Errorf("review: %+v", v)
	}
	vault, err := ask(c, "web", authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}, BoundObjectRef: ref(uid)})
	if err != nil {
		t.Fatal(err)
	}
	if v := review(vault, "vault", "x"); !v.Authenticated || strings.Join(v.Audiences, " ") != "vault" {
		t.Errorf("review for its audience: %+v", v)
	}
	if v := review(vault); v.Authenticated || v.Error == "" {
		t.Errorf("review for another audience: %+v", v)
	}
	if _, err := h.holding(t, vault).CoreV1().ServiceAccounts("default").List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token for somebody else, at the API: %v", err)
	}
	if v := review(token[:len(token)-3] + "abc"); v.Authenticated {
		t.Errorf("review of a forged token: %+v", v)
	}
	// With the pod the tokens go.
	zero := int64(0)
	if err := c.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.holding(t, token).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("after its pod: %v", err)
	}
	if v := review(vault, "vault"); v.Authenticated || !strings.Contains(v.Error, "is gone") {
		t.Errorf("review after its pod: %+v", v)
	}
}

// TestKeysForOthers checks that what others check tokens by is served.
func TestKeysForOthers(t *testing.T) {
	h := start(t)
	c := clientset(t, h.rest(t, true))
	for path, field := range map[string]string{"/openid/v1/jwks": "keys", "/.well-known/openid-configuration": "issuer"} {
		b, err := c.RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		var v map[string]any
		if err != nil || json.Unmarshal(b, &v) != nil || v[field] == nil {
			t.Errorf("%s: %s %v", path, b, err)
		}
	}
	sa := h.kubectl(t)
	sa.run(t, "", "create", "serviceaccount", "web")
	token := strings.TrimSpace(sa.run(t, "", "create", "token", "web"))
	if _, err := h.holding(t, token).RESTClient().Get().AbsPath("/openid/v1/jwks").DoRaw(t.Context()); err != nil {
		t.Errorf("as a service account: %v", err)
	}
}
