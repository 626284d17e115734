package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/apiserver"
	"github.com/writ-dev/writ/cluster/audit"
	"github.com/writ-dev/writ/cluster/store"
)

// startAudited is start with an audit log; read stops the server and returns
// the events.
func startAudited(t *testing.T) (h *harness, read func() ([]audit.Event, string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := audit.Open(audit.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- log.Run(ctx) }()
	s := store.New(store.Options{})
	h = startWith(t, s, store.Local(s), func(o *apiserver.Options) { o.Audit = log })
	return h, func() ([]audit.Event, string) {
		t.Helper()
		h.stop()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out []audit.Event
		for s := bufio.NewScanner(strings.NewReader(string(b))); s.Scan(); {
			var e audit.Event
			if err := json.Unmarshal(s.Bytes(), &e); err != nil {
				t.Fatalf("%v in %s", err, s.Text())
			}
			out = append(out, e)
		}
		return out, string(b)
	}
}

func TestAuditLog(t *testing.T) {
	h, read := startAudited(t)
	k := h.kubectl(t)
	k.run(t, shop, "apply", "-f", "-")
	const secret = "hunter2secretvalue"
	k.run(t, "", "create", "secret", "generic", "db", "-n", "shop", "--from-literal=password="+secret)
	// What is refused must not be quoted either.
	k.fails(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: shop}\ndata: {a: \"!"+secret+"!\"}\n", "create", "-f", "-")
	k.fails(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: shop}\nstringData: {a: [\""+secret+"\"]}\n", "create", "-f", "-")
	k.fails(t, "", "get", "secrets", "-n", "shop", "--as", "jane", "--as-group", "devs")
	k.run(t, "", "get", "cm", "-n", "shop", "-w", "--request-timeout=1s")
	k.run(t, "", "delete", "secret", "db", "-n", "shop")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/api/v1/namespaces/shop/secrets/db?x=y", nil)
	if err != nil {
		t.Fatal(err)
	}
	const token = "nobodyknowsthistoken0123456789abcdef"
	req.Header.Set("Authorization", "Bearer "+token)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: h.adminTLS(t).Clone()}}
	c.Transport.(*http.Transport).TLSClientConfig.Certificates = nil
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	id := resp.Header.Get("Audit-Id")

	events, text := read()
	for _, s := range []string{secret, "aHVudGVyMnNlY3JldHZhbHVl", token} {
		if strings.Contains(text, s) {
			t.Errorf("the log holds %q", s)
		}
	}
	find := func(what string, match func(e audit.Event) bool) audit.Event {
		t.Helper()
		for _, e := range events {
			if match(e) {
				return e
			}
		}
		t.Fatalf("no event: %s\n%s", what, text)
		return audit.Event{}
	}
	on := func(verb, resource, name string, code int) func(audit.Event) bool {
		return func(e audit.Event) bool {
			return e.Verb == verb && e.ObjectRef != nil && e.ObjectRef.Resource == resource && e.ObjectRef.Name == name && e.ResponseStatus != nil && e.ResponseStatus.Code == code
		}
	}
	created := find("create", on("create", "secrets", "db", 201))
	if created.User.Username != "writ-admin" || created.Annotations[audit.Decision] != "allow" || created.Annotations[audit.Reason] == "" || created.ObjectRef.UID == "" ||
		created.ObjectRef.Namespace != "shop" || strings.Join(created.SourceIPs, " ") != "127.0.0.1" || !strings.HasPrefix(created.UserAgent, "kubectl") ||
		created.Stage != audit.ResponseComplete || created.Received.After(created.StageTime.Time) || created.Annotations[audit.Latency] == "" {
		t.Errorf("create: %+v", created)
	}
	find("delete", on("delete", "secrets", "db", 200))
	find("refused by validation", on("create", "secrets", "bad", 400))
	denied := find("refused by authorization", on("list", "secrets", "", 403))
	if denied.User.Username != "writ-admin" || denied.ImpersonatedUser == nil || denied.ImpersonatedUser.Username != "jane" || strings.Join(denied.ImpersonatedUser.Groups, " ") != "devs system:authenticated" ||
		denied.Annotations[audit.Decision] != "forbid" || denied.ResponseStatus.Reason != "Forbidden" || !strings.Contains(denied.ResponseStatus.Message, `User "jane" cannot list resource "secrets"`) {
		t.Errorf("refused: %+v", denied)
	}
	unknown := find("unauthenticated", func(e audit.Event) bool { return e.AuditID == id })
	if unknown.ResponseStatus.Code != 401 || unknown.User.Username != "" || unknown.RequestURI != "/api/v1/namespaces/shop/secrets/db?x=y" {
		t.Errorf("unauthenticated: %+v", unknown)
	}
	var stages []string
	for _, e := range events {
		if e.Verb == "watch" {
			stages = append(stages, e.Stage)
		}
	}
	if strings.Join(stages, " ") != "ResponseStarted ResponseComplete" {
		t.Errorf("stages of a watch: %v", stages)
	}
}

func TestAuditLogOfTransactions(t *testing.T) {
	h, read := startAudited(t)
	c := h.admin(t)
	o := must(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}`)
	if _, err := c.Transact(t.Context(), createAll(o)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Transact(t.Context(), createAll(o)); err == nil {
		t.Fatal("created twice")
	}
	start := time.Now()
	events, text := read()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("stopping took %v", d)
	}
	var codes []int
	for _, e := range events {
		if e.ObjectRef == nil || e.ObjectRef.Resource != "transactions" {
			continue
		}
		codes = append(codes, e.ResponseStatus.Code)
		if got := e.Annotations["writ.dev/operations"]; !strings.HasPrefix(got, "create ConfigMap default/a") || e.Annotations[audit.Decision] != "allow" {
			t.Errorf("operations %q, decision %q", got, e.Annotations[audit.Decision])
		}
	}
	if len(codes) != 2 || codes[0] != 200 || codes[1] != 409 {
		t.Errorf("codes %v\n%s", codes, text)
	}
}
