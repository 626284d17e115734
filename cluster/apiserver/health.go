package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/version"
)

// kubernetesVersion is the version of the Kubernetes API that this server
// follows; clients compare theirs with it.
const kubernetesMajor, kubernetesMinor = "1", "33"

func (s *Server) live(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") }

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Err() != nil {
		plain(w, http.StatusServiceUnavailable, "the server is stopping")
		return
	}
	if s.o.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if err := s.o.Ready(ctx); err != nil {
			plain(w, http.StatusServiceUnavailable, err.Error())
			return
		}
	}
	plain(w, http.StatusOK, "ok")
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = fmt.Fprint(w, text)
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) {
	writ := s.o.Version
	if writ == "" {
		writ = "dev"
	}
	s.sendValue(w, r, http.StatusOK, version.Info{
		Major: kubernetesMajor, Minor: kubernetesMinor,
		GitVersion:   fmt.Sprintf("v%s.%s.0+writ-%s", kubernetesMajor, kubernetesMinor, writ),
		GitTreeState: "clean", GoVersion: runtime.Version(), Compiler: runtime.Compiler,
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	})
}
