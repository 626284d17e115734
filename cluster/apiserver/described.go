package apiserver

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/registry"
)

// descriptions are the documents that say what is served. They are made anew
// when somebody asks after definitions have changed.
type descriptions struct {
	registry *registry.Registry
	last     atomic.Pointer[description]
	mu       sync.Mutex // held while making
}

type description struct {
	set       *custom.Set
	openapi   *openapi
	discovery *discovery
}

// kindsWith is everything that is served.
func kindsWith(set *custom.Set) []api.Kind {
	kinds := append(slices.Clone(api.Kinds), api.Definition)
	for _, c := range set.Kinds() {
		kinds = append(kinds, c.Kind)
	}
	return kinds
}

func (d *descriptions) now() (*description, error) {
	set := d.registry.Customs()
	if l := d.last.Load(); l != nil && l.set == set {
		return l, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.last.Load(); l != nil && l.set == set {
		return l, nil
	}
	l := &description{set: set}
	var err error
	if l.openapi, err = newOpenAPI(set); err != nil {
		return nil, err
	}
	if l.discovery, err = newDiscovery(kindsWith(set)); err != nil {
		return nil, err
	}
	d.last.Store(l)
	return l, nil
}

// described answers with a description.
func (s *Server) described(answer func(d *description, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d, err := s.descriptions.now()
		if err != nil {
			s.fail(w, r, apierrors.NewInternalError(err))
			return
		}
		answer(d, w, r)
	}
}
