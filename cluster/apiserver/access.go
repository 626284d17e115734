package apiserver

import (
	"fmt"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// access passes on the api.AccessReport of a node's agent.
func (s *Server) access(w http.ResponseWriter, r *http.Request, c *call) error {
	address, err := s.nodeAddress(r.Context(), c.info.name)
	if err != nil {
		return err
	}
	u := url.URL{Scheme: "https", Host: address, Path: "/access"}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, u.String(), nil)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	resp, err := s.nodes.Do(req)
	if err != nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("read access of node %s: %v", c.info.name, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return agentError(resp)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	stream(w, resp.Body)
	return nil
}
