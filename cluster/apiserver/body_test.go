package apiserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/object"
)

func must(t testing.TB, doc string) object.Object {
	t.Helper()
	o, err := object.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// raw sends one request and returns the answer's code and body; every refusal
// must be a Status with a reason.
func raw(t testing.TB, c *http.Client, method, url, contentType string, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode >= 400 {
		var s metav1.Status
		if err := json.Unmarshal(b, &s); err != nil || s.Kind != "Status" || int(s.Code) != resp.StatusCode || s.Status != metav1.StatusFailure {
			t.Errorf("%s %s: %d is no proper Status: %s", method, url, resp.StatusCode, b)
		}
	}
	return resp.StatusCode, b
}

func httpClient(t testing.TB, h *harness) *http.Client {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: h.adminTLS(t), ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

func TestBodies(t *testing.T) {
	h := start(t)
	c := httpClient(t, h)
	const cms, j = "/api/v1/namespaces/default/configmaps", "application/json"
	for _, test := range []struct {
		name, method, path, media, body string
		code                            int
		says                            string
	}{
		{"yaml", "POST", cms, "application/yaml", "metadata: {name: yam}\ndata: {a: b}\n", 201, `"kind":"ConfigMap"`},
		{"identity from the URL", "POST", cms, j, `{"metadata":{"name":"u"}}`, 201, `"namespace":"default"`},
		{"empty", "POST", cms, j, ``, 400, "unrecognized"},
		{"not JSON", "POST", cms, j, `{`, 400, "unrecognized"},
		{"no object", "POST", cms, j, `[]`, 400, "unrecognized"},
		{"null", "POST", cms, j, `null`, 400, ""},
		{"metadata is no object", "POST", cms, j, `{"metadata":3}`, 400, "metadata must be an object"},
		{"wrong type", "POST", cms, j, `{"metadata":{"name":"w"},"data":{"a":1}}`, 400, "data"},
		{"other kind", "POST", cms, j, `{"kind":"Secret","metadata":{"name":"w"}}`, 400, "does not match the expected kind"},
		{"other namespace", "POST", cms, j, `{"metadata":{"name":"w","namespace":"x"}}`, 400, "does not match"},
		{"duplicate, strict", "POST", cms + "?fieldValidation=Strict", j, `{"metadata":{"name":"w"},"data":{"a":"1","a":"2"}}`, 400, "duplicate field"},
		{"unknown, strict", "POST", cms + "?fieldValidation=Strict", j, `{"metadata":{"name":"w"},"x":1}`, 400, `unknown field \"x\"`},
		{"unknown, ignored", "POST", cms + "?fieldValidation=Ignore", j, `{"metadata":{"name":"i"},"x":1}`, 201, ""},
		{"bad fieldValidation", "POST", cms + "?fieldValidation=Never", j, `{"metadata":{"name":"w"}}`, 400, "fieldValidation"},
		{"bad dryRun", "POST", cms + "?dryRun=Some", j, `{"metadata":{"name":"w"}}`, 400, "dryRun"},
		{"dry run", "POST", cms + "?dryRun=All", j, `{"metadata":{"name":"w"}}`, 201, ""},
		{"unknown media type", "POST", cms, "application/cbor", `x`, 415, "accepted media types"},
		{"protobuf without magic", "POST", cms, "application/vnd.kubernetes.protobuf", `x`, 400, "magic"},
		{"too large", "POST", cms, j, `{"metadata":{"name":"w"},"data":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`, 413, "limit"},
		{"no name", "POST", cms, j, `{}`, 422, "metadata.name"},
		{"revision on create", "POST", cms, j, `{"metadata":{"name":"w","resourceVersion":"1"}}`, 400, "resourceVersion"},
		{"put without an object", "PUT", cms + "/gone", j, `{"metadata":{"name":"gone"}}`, 404, "not found"},
		{"put elsewhere", "PUT", cms + "/a", j, `{"metadata":{"name":"b"}}`, 400, "does not match"},
		{"unknown resource", "GET", "/api/v1/namespaces/default/bananas", j, ``, 404, "could not find"},
		{"unknown group", "GET", "/apis/x/v1/y", j, ``, 404, "could not find"},
		{"unknown path", "GET", "/nope", j, ``, 404, "could not find"},
		{"apply patch without a manager", "PATCH", cms + "/u", "application/apply-patch+yaml", `{}`, 422, "is required for apply patch"},
		{"apply patch without a kind", "PATCH", cms + "/u?fieldManager=m", "application/apply-patch+yaml", `{}`, 400, "apiVersion and kind"},
		{"unprintable manager", "PATCH", cms + "/u?fieldManager=a%0Ab", "application/merge-patch+json", `{}`, 422, "printable"},
		{"merge patch of another type", "PATCH", cms + "/u", "application/merge-patch+json", `[]`, 400, "merge patch"},
		{"strategic patch of our kind", "PATCH", "/apis/writ.dev/v1alpha1/namespaces/default/dependencies/d", "application/strategic-merge-patch+json", `{}`, 404, ""},
		{"patch that renames", "PATCH", cms + "/u", "application/merge-patch+json", `{"metadata":{"name":"v"}}`, 422, "cannot change"},
		{"status of a kind without", "PUT", cms + "/u/status", j, `{}`, 404, ""},
		{"bad limit", "GET", cms + "?limit=x", j, ``, 400, "limit"},
		{"bad continue", "GET", cms + "?continue=x", j, ``, 400, "continue"},
		{"revision in the future", "GET", cms + "?resourceVersion=99999", j, ``, 504, "Too large resource version"},
		{"bad revision", "GET", cms + "?resourceVersion=x", j, ``, 400, "resourceVersion"},
		{"bad selector", "GET", cms + "?labelSelector=(", j, ``, 400, "label selector"},
		{"initial events without match", "GET", cms + "?watch=1&sendInitialEvents=true", j, ``, 400, "NotOlderThan"},
		{"transaction of nothing", "POST", "/apis/writ.dev/v1alpha1/transactions", j, `{"operations":[]}`, 200, `"revision"`},
		{"transaction with a hole", "POST", "/apis/writ.dev/v1alpha1/transactions", j, `{"operations":[{"action":"create"}]}`, 400, "operations[0]"},
		{"transaction of an unknown action", "POST", "/apis/writ.dev/v1alpha1/transactions", j, `{"operations":[{"action":"x","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}}]}`, 400, "action"},
		{"grants are the cluster's", "POST", "/apis/writ.dev/v1alpha1/grants", j, `{"metadata":{"name":"g"}}`, 422, "DEP012"},
		{"grants are not deleted", "DELETE", "/apis/writ.dev/v1alpha1/grants/g", j, ``, 404, ""},
		{"method", "OPTIONS", cms, j, ``, 405, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, body := raw(t, c, test.method, h.url+test.path, test.media, []byte(test.body))
			if code != test.code || !strings.Contains(string(body), test.says) {
				t.Errorf("%d %s\nwant %d with %q", code, body, test.code, test.says)
			}
		})
	}
}

// FuzzBody sends anything as anything: no answer is a 5xx, and every refusal
// is a Status.
func FuzzBody(f *testing.F) {
	h := start(f)
	c := httpClient(f, h)
	if code, b := raw(f, c, "POST", h.url+"/api/v1/namespaces/default/services", "application/json", []byte(`{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)); code != 201 {
		f.Fatalf("%d %s", code, b)
	}
	media := []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"}
	paths := []string{"/api/v1/namespaces/default/services/s", "/api/v1/namespaces/default/services", "/apis/apps/v1/namespaces/default/deployments", "/apis/writ.dev/v1alpha1/transactions", "/api/v1/namespaces/default/pods", "/writ/v1/join"}
	for i, seed := range []string{
		`{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`, `[{"op":"replace","path":"/spec/ports/0","value":null}]`, `{"spec":{"ports":[{"$patch":"delete","port":80}]}}`,
		`{"spec":null}`, `{"spec":{"$setElementOrder/ports":[{"port":1}],"ports":[null]}}`, "k8s\x00\x0a\x02\x0a\x00\x12\x01x", `a: &a [*a]`, `[{"op":"copy","from":"","path":"/a"}]`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"x","env":[{"name":1}]}]}}}}`, `{"operations":[{"action":"delete","object":{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"}}}],"dryRun":true}`,
		strings.Repeat(`{"metadata":`, 200), `{"metadata":{"name":"a","ownerReferences":[{}],"finalizers":["x"],"labels":null}}`,
	} {
		f.Add(uint8(i), uint8(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, where, how uint8, body []byte) {
		path, m := paths[int(where)%len(paths)], media[int(how)%len(media)]
		method := "POST"
		if strings.HasSuffix(path, "/s") {
			if method = "PATCH"; !strings.Contains(m, "patch") {
				method = "PUT"
			}
		}
		if code, b := raw(t, c, method, h.url+path+"?dryRun=All", m, body); code >= 500 {
			t.Errorf("%s %s as %s: %d %s", method, path, m, code, b)
		}
	})
}
