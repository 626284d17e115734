package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
)

const config = `
apiVersion: v1
kind: Config
current-context: b
contexts:
- {name: a, context: {cluster: one, user: u}}
- {name: b, context: {cluster: two, user: v}}
clusters:
- {name: one, cluster: {server: "https://one:1"}}
- {name: two, cluster: {server: "https://two:2/", certificate-authority: ca.pem, tls-server-name: name}}
users:
- {name: u, user: {token: t}}
- {name: v, user: {client-certificate-data: Yw==, client-key-data: aw==}}
`

func TestLoadKubeconfig(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"config": config, "ca.pem": "ca"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.LoadKubeconfig(filepath.Join(dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	want := client.Config{Server: "https://two:2/", CA: []byte("ca"), Cert: []byte("c"), Key: []byte("k"), ServerName: "name"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, test := range map[string]struct{ from, to, says string }{
		"no context":   {"current-context: b", "current-context: c", `"c" is not among the contexts`},
		"no cluster":   {"cluster: two", "cluster: three", `cluster "three" is not defined`},
		"no user":      {"user: v}", "user: w}", `user "w" is not defined`},
		"no file":      {"ca.pem", "other.pem", "certificate-authority: open"},
		"bad base64":   {"Yw==", "a", "client-certificate-data"},
		"insecure":     {"certificate-authority: ca.pem", "insecure-skip-tls-verify: true", "not supported"},
		"exec":         {"client-certificate-data: Yw==", "exec: {command: rm}", "not supported"},
		"no YAML":      {"kind: Config", "kind: [", "yaml"},
		"missing file": {"", "", "no such file"},
	} {
		path := filepath.Join(dir, "gone")
		if test.from != "" {
			path = filepath.Join(dir, "bad")
			if err := os.WriteFile(path, []byte(strings.Replace(config, test.from, test.to, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.LoadKubeconfig(path); err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseKubeconfig(f *testing.F) {
	f.Add([]byte(config))
	f.Add([]byte("contexts: [{name: a, context: null}]"))
	f.Add([]byte("users: [1]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := client.ParseKubeconfig(b, filepath.Join("testdata", "none")); err == nil {
			_, _ = client.New(c)
		}
	})
}

func TestNew(t *testing.T) {
	for _, c := range []client.Config{
		{}, {Server: "127.0.0.1:6443"}, {Server: "ftp://x"}, {Server: "http://x", Token: "t"},
		{Server: "https://x", CA: []byte("x")}, {Server: "https://x", Cert: []byte("x"), Key: []byte("y")},
	} {
		if _, err := client.New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// TestAnswers has servers that are not Writ, or broken: every error is still a
// StatusError, and nothing hangs or grows without bound.
func TestAnswers(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, test := range map[string]struct {
		h     http.HandlerFunc
		check func(error) bool
	}{
		"status":    {status(404, `{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"gone"}`), apierrors.IsNotFound},
		"proxy":     {status(502, `<html>bad gateway`), func(err error) bool { return reason(err) != "" || apierrors.IsUnexpectedServerError(err) }},
		"busy":      {status(429, ``), apierrors.IsTooManyRequests},
		"redirect":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, func(err error) bool { return apierrors.IsUnexpectedServerError(err) || reason(err) == "Unknown" }},
		"not JSON":  {status(200, `hello`), apierrors.IsInternalError},
		"no object": {status(200, `[]`), apierrors.IsInternalError},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		}, apierrors.IsServiceUnavailable},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(err error) bool {
			return apierrors.IsTimeout(err) && errors.Is(err, context.DeadlineExceeded)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(test.h)
			defer srv.Close()
			c, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			_, err = c.Get(ctx, api.ConfigMap.Key("default", "x"))
			var s apierrors.APIStatus
			if err == nil || !errors.As(err, &s) || !test.check(err) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

func reason(err error) string { return string(apierrors.ReasonForError(err)) }

func TestNamesStayInTheirPlace(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL.Path)
	}))
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, k := range []object.Key{
		{Kind: "ConfigMap", Namespace: "default", Name: "../x"}, {Kind: "ConfigMap", Namespace: "a/b", Name: "x"},
		{Kind: "ConfigMap", Namespace: "default", Name: ".."}, {Kind: "ConfigMap", Namespace: "default"},
		{Kind: "ConfigMap", Name: "x"}, {Kind: "Banana", Name: "x"},
	} {
		if _, err := c.Get(t.Context(), k); !apierrors.IsBadRequest(err) {
			t.Errorf("%v: %v", k, err)
		}
	}
}

// TestWatchLines reads what a watch may send: the channel closes on anything
// that is not an event, and the caller resumes.
func TestWatchLines(t *testing.T) {
	event := func(kind, rv string) string {
		return `{"type":"` + kind + `","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","resourceVersion":"` + rv + `"}}}` + "\n"
	}
	for name, test := range map[string]struct {
		body string
		want []api.EventType
	}{
		"events":       {event("ADDED", "1") + event("MODIFIED", "2") + event("BOOKMARK", "3") + event("DELETED", "4"), []api.EventType{api.Added, api.Modified, api.Bookmark, api.Deleted}},
		"error":        {event("ADDED", "1") + `{"type":"ERROR","object":{"kind":"Status","code":410}}` + "\n" + event("ADDED", "2"), []api.EventType{api.Added}},
		"unknown":      {event("NEWS", "1") + event("ADDED", "2"), nil},
		"garbage":      {event("ADDED", "1") + "x\n" + event("ADDED", "2"), []api.EventType{api.Added}},
		"cut off":      {event("ADDED", "1") + event("ADDED", "2")[:20], []api.EventType{api.Added}},
		"no revision":  {event("ADDED", "") + event("ADDED", "2"), nil},
		"empty object": {`{"type":"ADDED","object":{}}` + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(test.body))
			}))
			defer srv.Close()
			c, err := client.New(client.Config{Server: srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			ch, err := c.Watch(ctx, api.ConfigMap, 1, api.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []api.EventType
			for e := range ch {
				got = append(got, e.Type)
				if (e.Type == api.Bookmark) != e.Object.IsZero() || e.Revision == 0 {
					t.Errorf("event %+v", e)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || ctx.Err() != nil {
				t.Errorf("%s %v", diff, ctx.Err())
			}
		})
	}
}
