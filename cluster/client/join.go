package client

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/object"
)

// JoinRequest asks for a node's certificate. The server takes the node's name
// from Name, never from the request's subject.
type JoinRequest struct {
	Name string `json:"name"`
	// CSR is a PEM certificate request; its key stays with the node. IP and
	// DNS names in it become names of the serving certificate.
	CSR []byte `json:"csr"`
}

// JoinResult is what a node needs to act as itself.
type JoinResult struct {
	// Certificate is PEM, good for client and server authentication; CA is the
	// cluster's authority, PEM.
	Certificate []byte `json:"certificate"`
	CA          []byte `json:"ca"`
}

// Join asks for a node certificate. The client must hold the bootstrap token,
// or a node certificate of that same name to renew.
func (c *Client) Join(ctx context.Context, r JoinRequest) (JoinResult, error) {
	var out JoinResult
	body, err := object.Marshal(r)
	if err != nil {
		return out, apierrors.NewInternalError(err)
	}
	return out, c.call(ctx, request{method: http.MethodPost, path: "/writ/v1/join", body: body}, maxError, &out)
}
