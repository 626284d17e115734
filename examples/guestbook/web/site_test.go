package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// startAPI answers as the API does, and remembers what was written.
func startAPI(t *testing.T) (addr string, written *[]string) {
	t.Helper()
	written = new([]string)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /messages", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"pod":"api-7","messages":[{"from":"Ada","text":"<b>hello</b>","at":"2026-01-02T03:04:05Z"}]}`))
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]string
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m["text"] == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"a message has 1 to 500 characters"}`))
			return
		}
		*written = append(*written, m["from"]+": "+m["text"])
		w.WriteHeader(http.StatusCreated)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, written
}

func visit(t *testing.T, api, method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := newSite(api, "web-1")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, r)
	return w
}

func TestPage(t *testing.T) {
	api, written := startAPI(t)
	w := visit(t, api, "GET", "/", nil)
	for _, want := range []string{"Ada", "&lt;b&gt;hello&lt;/b&gt;", "2 January, 03:04 UTC", "web-1", "api-7"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("page lacks %q:\n%s", want, w.Body)
		}
	}
	if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "<script") {
		t.Errorf("code %d", w.Code)
	}
	w = visit(t, api, "POST", "/", url.Values{"from": {"Bob"}, "text": {"hi"}})
	if w.Code != http.StatusSeeOther || len(*written) != 1 || (*written)[0] != "Bob: hi" {
		t.Errorf("code %d, written %q", w.Code, *written)
	}
	w = visit(t, api, "POST", "/", url.Values{"from": {"Bob"}, "text": {""}})
	if w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "1 to 500 characters") || !strings.Contains(w.Body.String(), `value="Bob"`) {
		t.Errorf("refused message: %d\n%s", w.Code, w.Body)
	}
	w = visit(t, api, "POST", "/", url.Values{"text": {"spam"}}, "Sec-Fetch-Site", "cross-site")
	if w.Code != http.StatusForbidden || len(*written) != 1 {
		t.Errorf("message from another site: %d, written %q", w.Code, *written)
	}
	for path, want := range map[string]int{"/healthz": 200, "/style.css": 200, "/other": 404} {
		if w := visit(t, api, "GET", path, nil); w.Code != want {
			t.Errorf("GET %s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestPageWithoutAPI(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	w := visit(t, s.URL, "GET", "/", nil)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "The API cannot be reached") && !strings.Contains(w.Body.String(), "the API cannot be reached") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
}
