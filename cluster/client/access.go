package client

import (
	"context"
	"net/http"

	"github.com/writ-dev/writ/cluster/api"
)

// Access reads what a node has counted of every declared access.
func (c *Client) Access(ctx context.Context, node string) (api.AccessReport, error) {
	var report api.AccessReport
	path, err := resource(api.Node.Key("", node))
	if err != nil {
		return report, err
	}
	return report, c.call(ctx, request{method: http.MethodGet, path: path + "/access"}, maxList, &report)
}
