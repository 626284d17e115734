package apiserver

import (
	"fmt"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/writ-dev/writ/cluster/api"
)

// evict deletes a pod, as its grace allows, to free its node. There are no
// disruption budgets that could forbid it.
func (s *Server) evict(w http.ResponseWriter, r *http.Request, c *call) error {
	e, err := readTyped[policyv1.Eviction](r, func() runtime.Object { return new(policyv1.Eviction) })
	if err != nil {
		return err
	}
	if e.Name != "" && e.Name != c.info.name {
		return apierrors.NewBadRequest(fmt.Sprintf("name in URL does not match name in Eviction object: %s, %s", c.info.name, e.Name))
	}
	var d metav1.DeleteOptions
	if e.DeleteOptions != nil {
		d = *e.DeleteOptions
	}
	o, err := registryDeleteOptions(d, c.info)
	if err != nil {
		return err
	}
	if _, err := s.client(c).DeleteWith(r.Context(), api.Pod.Key(c.info.namespace, c.info.name), o); err != nil {
		return err
	}
	s.sendValue(w, r, http.StatusCreated, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated})
	return nil
}
