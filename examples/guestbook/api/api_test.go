package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// startStore speaks the store's protocol, until the test ends.
func startStore(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	wg.Go(func() {
		items := map[string][]string{}
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var q struct{ Op, Key, Value string }
			if line, err := bufio.NewReader(conn).ReadBytes('\n'); err == nil && json.Unmarshal(line, &q) == nil {
				if q.Op == "push" {
					items[q.Key] = append(items[q.Key], q.Value)
				}
				_ = json.NewEncoder(conn).Encode(map[string]any{"items": items[q.Key]})
			}
			conn.Close()
		}
	})
	return l.Addr().String()
}

func call(t *testing.T, h http.Handler, method, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestAPI(t *testing.T) {
	a := &api{store: startStore(t), pod: "api-1", now: func() time.Time { return time.Unix(0, 0) }}
	h := a.handler()
	for _, test := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/healthz", "", 200, "ok"},
		{"GET", "/messages", "", 200, `{"messages":[],"pod":"api-1"}`},
		{"POST", "/messages", `{"from":" Ada ","text":"hello"}`, 201, `{"from":"Ada","text":"hello","at":"1970-01-01T00:00:00Z"}`},
		{"POST", "/messages", `{"text":"two"}`, 201, `"from":"somebody"`},
		{"GET", "/messages", "", 200, `{"messages":[{"from":"somebody","text":"two","at":"1970-01-01T00:00:00Z"},{"from":"Ada"`},
		{"POST", "/messages", `{"text":"  "}`, 400, "1 to 500 characters"},
		{"POST", "/messages", `{"text":"` + strings.Repeat("x", 501) + `"}`, 400, "1 to 500 characters"},
		{"POST", "/messages", `nonsense`, 400, "not a message"},
		{"DELETE", "/messages", "", 405, ""},
	} {
		code, body := call(t, h, test.method, test.path, test.body)
		if code != test.code || !strings.Contains(body, test.want) {
			t.Errorf("%s %s %s: %d %s, want %d with %s", test.method, test.path, test.body, code, body, test.code, test.want)
		}
	}
}

func TestWithoutStore(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	h := (&api{store: addr, now: time.Now}).handler()
	for path, want := range map[string]int{"/healthz": 503, "/messages": 502, "/livez": 200} {
		if code, body := call(t, h, "GET", path, ""); code != want {
			t.Errorf("GET %s: %d %s, want %d", path, code, body, want)
		}
	}
}

func TestServeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w) }))
	}()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("serve did not end")
	}
}
