// Package client talks to a Writ server over HTTPS and satisfies api.Client,
// so that whatever runs in the server also runs outside of it.
//
// Every error of a method is an apimachinery StatusError: what the server
// answered, or, when it could not be asked, ServiceUnavailable or Timeout. A
// request has its context's deadline, or RequestTimeout when there is none;
// watches and followed logs last as long as their context. A Client retries
// nothing: callers know what is safe to repeat.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// RequestTimeout bounds requests whose context has no deadline.
const RequestTimeout = 60 * time.Second

const (
	maxObject = 32 << 20 // bytes of one object, or of one watch event
	maxList   = 1 << 30  // bytes of a list or of a transaction's result
	maxError  = 1 << 20  // bytes of an error's body
)

// Config says which server to talk to and as whom.
type Config struct {
	// Server is the base URL, such as https://127.0.0.1:6443.
	Server string
	// CA, Cert and Key are PEM. Without CA the system's roots are used. Cert
	// and Key may be empty.
	CA, Cert, Key []byte
	// Token is a bearer token, or empty.
	Token string
	// ServerName overrides the name that the server's certificate must carry.
	ServerName string
	// UserAgent is sent with each request; "writ" when empty.
	UserAgent string
}

// Client is safe for concurrent use.
type Client struct {
	base  *url.URL
	http  *http.Client
	token string
	agent string
}

var _ api.Client = (*Client)(nil)

// FromKubeconfig makes a client of the current context of a kubeconfig file.
func FromKubeconfig(path string) (*Client, error) {
	c, err := LoadKubeconfig(path)
	if err != nil {
		return nil, err
	}
	return New(c)
}

// New makes a client. It does not connect yet.
func New(c Config) (*Client, error) {
	u, err := url.Parse(strings.TrimSuffix(c.Server, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("server address %q is not an https URL", c.Server)
	}
	if u.Scheme == "http" && (c.Token != "" || len(c.Key) > 0) {
		return nil, fmt.Errorf("server address %q: refusing to send credentials without TLS", c.Server)
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if len(c.CA) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(c.CA) {
			return nil, errors.New("certificate authority: no PEM certificate in it")
		}
	}
	if len(c.Cert) > 0 || len(c.Key) > 0 {
		pair, err := tls.X509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	agent := c.UserAgent
	if agent == "" {
		agent = api.ManagerApply
	}
	return &Client{base: u, token: c.Token, agent: agent, http: &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSClientConfig:       t,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: RequestTimeout,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   16,
			ForceAttemptHTTP2:     true,
			// A server that went away without a word is noticed by these pings;
			// else its watches would hang for ever.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL returns the server's base URL.
func (c *Client) URL() string { return c.base.String() }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (version.Info, error) {
	var v version.Info
	return v, c.call(ctx, request{method: http.MethodGet, path: "/version"}, maxObject, &v)
}

// Ready returns nil when the server says that it can serve.
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, request{method: http.MethodGet, path: "/readyz"}, maxError, nil)
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, k object.Key) (object.Object, error) {
	return c.one(ctx, http.MethodGet, k, "", nil, nil)
}

// List reads the objects of a kind.
func (c *Client) List(ctx context.Context, k api.Kind, o api.ListOptions) (*api.List, error) {
	var l struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	r := request{method: http.MethodGet, path: collection(k, o.Namespace), query: selectors(o)}
	if err := c.call(ctx, r, maxList, &l); err != nil {
		return nil, err
	}
	out := &api.List{Items: make([]object.Object, 0, len(l.Items))}
	out.Revision, _ = strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64)
	for _, raw := range l.Items {
		item, err := object.Parse(raw)
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("read item of list: %w", err))
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// Create stores a new object.
func (c *Client) Create(ctx context.Context, o object.Object) (object.Object, error) {
	k, err := kindOf(o.Group(), o.Kind())
	if err != nil {
		return object.Object{}, err
	}
	q := url.Values{"fieldValidation": {"Strict"}}
	return c.object(ctx, request{method: http.MethodPost, path: collection(k, o.Namespace()), query: q, body: o.JSON()})
}

// Update replaces all but the status of an object.
func (c *Client) Update(ctx context.Context, o object.Object) (object.Object, error) {
	return c.one(ctx, http.MethodPut, o.Key(), "", url.Values{"fieldValidation": {"Strict"}}, o.JSON())
}

// UpdateStatus replaces the status of an object.
func (c *Client) UpdateStatus(ctx context.Context, o object.Object) (object.Object, error) {
	return c.one(ctx, http.MethodPut, o.Key(), "/status", nil, o.JSON())
}

// DeleteOptions refine a deletion.
type DeleteOptions struct {
	// UID, when set, must be the live object's.
	UID string
	// GracePeriodSeconds replaces the pod's own; 0 removes it at once.
	GracePeriodSeconds *int64
	// Propagation is Background (default), Foreground or Orphan.
	Propagation string
}

// Delete removes an object, or starts its removal.
func (c *Client) Delete(ctx context.Context, k object.Key, uid string) error {
	return c.DeleteWith(ctx, k, DeleteOptions{UID: uid})
}

// DeleteWith removes an object, or starts its removal, as o says.
func (c *Client) DeleteWith(ctx context.Context, k object.Key, o DeleteOptions) error {
	d := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	d.GracePeriodSeconds = o.GracePeriodSeconds
	if o.UID != "" {
		d.Preconditions = metav1.NewUIDPreconditions(o.UID)
	}
	if p := metav1.DeletionPropagation(o.Propagation); p != "" {
		d.PropagationPolicy = &p
	}
	body, err := json.Marshal(d)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	path, err := resource(k)
	if err != nil {
		return err
	}
	return c.call(ctx, request{method: http.MethodDelete, path: path, body: body}, maxObject, nil)
}

// Transact commits a transaction.
func (c *Client) Transact(ctx context.Context, t api.Transaction) (*api.TransactionResult, error) {
	body, err := object.Marshal(t)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("encode transaction: %v", err))
	}
	out := new(api.TransactionResult)
	path := "/apis/" + api.Group + "/" + api.Version + "/transactions"
	return out, c.call(ctx, request{method: http.MethodPost, path: path, body: body}, maxList, out)
}

func (c *Client) one(ctx context.Context, method string, k object.Key, sub string, q url.Values, body []byte) (object.Object, error) {
	path, err := resource(k)
	if err != nil {
		return object.Object{}, err
	}
	return c.object(ctx, request{method: method, path: path + sub, query: q, body: body})
}

func (c *Client) object(ctx context.Context, r request) (object.Object, error) {
	var o object.Object
	return o, c.call(ctx, r, maxObject, &o)
}

// call sends r and decodes the answer, of at most limit bytes, into out.
func (c *Client) call(ctx context.Context, r request, limit int64, out any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, RequestTimeout)
		defer cancel()
	}
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return unreachable(ctx, c.base.Host, err)
	}
	if int64(len(body)) > limit {
		return apierrors.NewInternalError(fmt.Errorf("%s %s: the answer is larger than %d bytes", r.method, r.path, limit))
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(out); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("%s %s: read answer: %w", r.method, r.path, err))
	}
	return nil
}
