package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LogOptions select what part of a container's log is read.
type LogOptions struct {
	// Container may be empty when the pod has only one.
	Container string
	// Follow keeps the log open until the container has ended or the context.
	Follow bool
	// Previous reads the container's former instance.
	Previous bool
	// TailLines, where set, skips all but the last lines.
	TailLines *int64
	// Since, where not zero, skips what is older.
	Since time.Time
	// Timestamps puts the RFC 3339 time before each line.
	Timestamps bool
	// LimitBytes, where positive, ends the log after so many bytes.
	LimitBytes int64
}

// Query returns o in the form of the Kubernetes API.
func (o LogOptions) Query() url.Values {
	q := url.Values{}
	if o.Container != "" {
		q.Set("container", o.Container)
	}
	for name, on := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if on {
			q.Set(name, "true")
		}
	}
	if o.TailLines != nil {
		q.Set("tailLines", strconv.FormatInt(*o.TailLines, 10))
	}
	if !o.Since.IsZero() {
		q.Set("sinceTime", o.Since.UTC().Format(time.RFC3339))
	}
	if o.LimitBytes > 0 {
		q.Set("limitBytes", strconv.FormatInt(o.LimitBytes, 10))
	}
	return q
}

// Logs opens the log of one container. The caller closes it; it lives no
// longer than ctx.
func (c *Client) Logs(ctx context.Context, namespace, pod string, o LogOptions) (io.ReadCloser, error) {
	path := "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/log"
	resp, err := c.send(ctx, request{method: http.MethodGet, path: path, query: o.Query(), accept: "text/plain, application/json, */*"})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
