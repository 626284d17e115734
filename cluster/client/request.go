package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

type request struct {
	method, path string
	query        url.Values
	body         []byte
	accept       string
}

// send returns a 2xx response, whose body the caller closes, or a StatusError.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	u := *c.base
	u.Path = strings.TrimSuffix(u.Path, "/") + r.path
	u.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json")
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, c.base.Host, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, statusError(resp, r)
	}
	return resp, nil
}

// unreachable says that the server gave no answer, as a StatusError.
func unreachable(ctx context.Context, host string, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if ctx.Err() != nil {
		e := apierrors.NewTimeoutError(fmt.Sprintf("server %s: %v", host, context.Cause(ctx)), 0)
		return &transportError{StatusError: e, cause: ctx.Err()}
	}
	e := apierrors.NewServiceUnavailable(fmt.Sprintf("server %s: %v", host, err))
	return &transportError{StatusError: e, cause: err}
}

// transportError is a StatusError that remembers what went wrong underneath,
// so that errors.Is(err, context.Canceled) still holds.
type transportError struct {
	*apierrors.StatusError
	cause error
}

// Unwrap returns both faces of the error.
func (e *transportError) Unwrap() []error { return []error{e.StatusError, e.cause} }

// statusError reads the Status of a refused request, or makes one when a proxy
// or another program answered.
func statusError(resp *http.Response, r request) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	var s metav1.Status
	if json.Unmarshal(body, &s) == nil && s.Kind == "Status" && s.Status == metav1.StatusFailure {
		if s.Code == 0 {
			s.Code = int32(resp.StatusCode)
		}
		return &apierrors.StatusError{ErrStatus: s}
	}
	retry, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	text := strings.TrimSpace(string(body))
	if len(text) > 500 {
		text = text[:500]
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.method, schema.GroupResource{}, r.path, text, retry, true)
}

func kindOf(group, kind string) (api.Kind, error) {
	k, ok := api.Lookup(group, kind)
	if !ok {
		return k, apierrors.NewBadRequest(fmt.Sprintf("kind %s is not served", schema.GroupKind{Group: group, Kind: kind}))
	}
	return k, nil
}

func collection(k api.Kind, namespace string) string {
	p := "/api/" + k.Version
	if k.Group != "" {
		p = "/apis/" + k.Group + "/" + k.Version
	}
	if k.Namespaced && namespace != "" {
		p += "/namespaces/" + namespace
	}
	return p + "/" + k.Resource
}

// resource returns the path of one object. A name that would leave its place
// in the path is refused here.
func resource(key object.Key) (string, error) {
	k, err := kindOf(key.Group, key.Kind)
	if err != nil {
		return "", err
	}
	if problems := content.IsPathSegmentName(key.Name); key.Name == "" || len(problems) > 0 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("%q is not the name of a %s", key.Name, key.Kind))
	}
	if problems := content.IsPathSegmentName(key.Namespace); len(problems) > 0 || (k.Namespaced && key.Namespace == "") {
		return "", apierrors.NewBadRequest(fmt.Sprintf("%q is not the namespace of a %s", key.Namespace, key.Kind))
	}
	return collection(k, key.Namespace) + "/" + key.Name, nil
}

func selectors(o api.ListOptions) url.Values {
	q := url.Values{}
	if o.LabelSelector != "" {
		q.Set("labelSelector", o.LabelSelector)
	}
	if o.FieldSelector != "" {
		q.Set("fieldSelector", o.FieldSelector)
	}
	return q
}
