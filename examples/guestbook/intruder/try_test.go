package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTargets(t *testing.T) {
	for _, test := range []struct {
		name string
		env  []string
		want []string
	}{
		{"default", nil, []string{"store:6379", "api:8080"}},
		{"given", []string{"TARGETS=10.0.0.1:80, db:5432,,db:5432"}, []string{"10.0.0.1:80", "db:5432"}},
		{"services", []string{"B_SERVICE_HOST=10.96.0.2", "B_SERVICE_PORT=80", "A_SERVICE_HOST=10.96.0.1", "A_SERVICE_PORT=6379", "C_SERVICE_HOST=10.96.0.3"},
			[]string{"store:6379", "api:8080", "10.96.0.1:6379", "10.96.0.2:80"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, targets(test.env)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTry(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	addr := s.Listener.Addr().String()
	if got := try(t.Context(), addr); !strings.HasPrefix(got, "REACHED "+addr) || !strings.Contains(got, "404") {
		t.Errorf("an open port: %q", got)
	}
	s.Close()
	if got := try(t.Context(), addr); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("a closed port: %q", got)
	}
	if got := try(t.Context(), "no.such.host.invalid:1"); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("an unknown name: %q", got)
	}
}
