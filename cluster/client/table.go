package client

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
)

// Table reads objects of a kind in the form in which the server shows them to
// people: columns and rows. With a name it reads that one object. Each row
// carries the object's metadata.
func (c *Client) Table(ctx context.Context, k api.Kind, name string, o api.ListOptions) (*metav1.Table, error) {
	r := request{
		method: http.MethodGet, path: collection(k, o.Namespace), query: selectors(o),
		accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
	}
	if name != "" {
		path, err := resource(k.Key(o.Namespace, name))
		if err != nil {
			return nil, err
		}
		r.path = path
	}
	t := new(metav1.Table)
	if err := c.call(ctx, r, maxList, t); err != nil {
		return nil, err
	}
	return t, nil
}
