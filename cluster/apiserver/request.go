package apiserver

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

// requestInfo is what a request's method and path ask for.
type requestInfo struct {
	// verb is as in auth.Attributes.
	verb string
	// path is set for requests that are about no resource.
	path                     string
	group, version, resource string
	namespace, name, sub     string
	query                    url.Values
}

// parseRequest reads method and path; see
// https://kubernetes.io/docs/reference/using-api/api-concepts/.
func parseRequest(r *http.Request) *requestInfo {
	i := &requestInfo{query: r.URL.Query()}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) >= 3:
		i.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) >= 4:
		i.group, i.version, parts = parts[1], parts[2], parts[3:]
	default:
		i.path, i.verb = r.URL.Path, strings.ToLower(r.Method)
		if r.Method == http.MethodHead {
			i.verb = "get"
		}
		return i
	}
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		i.namespace, parts = parts[1], parts[2:]
	}
	i.resource = parts[0]
	if len(parts) > 1 {
		i.name = parts[1]
	}
	if len(parts) > 2 {
		i.sub = strings.Join(parts[2:], "/")
	}
	i.verb = verbOf(r.Method, i)
	if i.upgrades() && i.verb == "get" {
		i.verb = "create" // the same right, whatever the protocol
	}
	return i
}

func verbOf(method string, i *requestInfo) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if i.name == "" {
			return "deletecollection"
		}
		return "delete"
	case http.MethodGet, http.MethodHead:
		switch w := i.query.Get("watch"); {
		case w == "true" || w == "1":
			return "watch"
		case i.name == "":
			return "list"
		}
		return "get"
	}
	return strings.ToLower(method)
}

// long says whether the request may last as long as its client wants.
func (i *requestInfo) long() bool {
	return i.verb == "watch" || i.upgrades() || (i.sub == "log" && i.query.Get("follow") == "true")
}

// computes says whether the request takes computing time, rather than waits:
// reads do, of all that need no node's answer, and transactions, which may hold
// thousands of operations.
func (i *requestInfo) computes() bool {
	read := i.verb == "get" || i.verb == "list" || i.path != ""
	return read && i.sub != "log" && i.sub != "access" || isTransaction(i)
}

// kind finds the kind that a request is about.
func (s *Server) kind(i *requestInfo) (api.Kind, bool) {
	k, ok := s.o.Registry.ByResource(i.group, i.resource)
	return k, ok && k.Version == i.version
}

func (i *requestInfo) attributes() auth.Attributes {
	a := auth.Attributes{Verb: i.verb, Group: i.group, Resource: i.resource, Subresource: i.sub, Namespace: i.namespace, Name: i.name, Path: i.path}
	switch {
	case a.Path != "":
	case a.Group == "" && a.Resource == api.Namespace.Resource:
		// What one may do in a namespace covers the namespace itself.
		a.Namespace = a.Name
	case a.Name == "" && (a.Verb == "list" || a.Verb == "watch" || a.Verb == "deletecollection"):
		// Selecting one object by its name is asking for that one.
		if f, err := fields.ParseSelector(i.query.Get("fieldSelector")); err == nil {
			a.Name, _ = f.RequiresExactMatch("metadata.name")
		}
	}
	return a
}

// call is what the outer handler knows and the inner ones need.
type call struct {
	user   auth.User
	info   *requestInfo
	record *record // nil without an audit log
	// manager is the program that asks, as managedFields name it.
	manager string
}

// managerOf is the field manager of a request: what it says, or else the first
// word of its User-Agent, as in Kubernetes.
func managerOf(r *http.Request, i *requestInfo) string {
	name := i.query.Get("fieldManager")
	if name == "" {
		name, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, name)
	if len(name) > maxManager {
		name = strings.ToValidUTF8(name[:maxManager], "")
	}
	return cmp.Or(name, "unknown")
}

// maxManager is the longest name of a field manager, in bytes.
const maxManager = 128

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(r *http.Request) *call {
	if c := callOfContext(r.Context()); c != nil {
		return c
	}
	return &call{info: parseRequest(r)}
}

func callOfContext(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// client returns the registry as the request's user sees it.
func (s *Server) client(c *call) *registry.Client {
	return s.o.Registry.As(registry.User{Name: c.user.Name, Groups: c.user.Groups, Manager: c.manager})
}

// authorize checks all but what depends on the body: the name of an object to
// be created, and the operations of a transaction.
func (s *Server) authorize(c *call) error {
	a := c.info.attributes()
	if a.Verb == "create" && a.Name == "" && a.Path == "" && c.user.Node() != "" || isTransaction(c.info) {
		return nil // decided with the body read; see authorizeObject
	}
	return s.allowed(c.user, a, c.record)
}

func isTransaction(i *requestInfo) bool {
	return i.group == api.Group && i.resource == "transactions"
}

func (s *Server) allowed(u auth.User, a auth.Attributes, rec *record) error {
	d := auth.Authorize(u, a, s.facts())
	rec.decided(d)
	if d.Allowed {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errText(auth.Refusal(u, a, d.Reason)))
}

// authorizeObject decides what authorize left open.
func (s *Server) authorizeObject(c *call, verb string, k api.Kind, sub string, key object.Key) error {
	return s.allowed(c.user, auth.Attributes{Verb: verb, Group: k.Group, Resource: k.Resource, Subresource: sub, Namespace: key.Namespace, Name: key.Name}, c.record)
}

type errText string

func (e errText) Error() string { return string(e) }

// anyResource is for errors that are about no one resource.
var anyResource = schema.GroupResource{}
