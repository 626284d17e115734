package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

// Get reads one object.
func (c *Client) Get(_ context.Context, key object.Key) (object.Object, error) {
	k, ok := c.r.Lookup(key.Group, key.Kind)
	if !ok {
		return object.Object{}, apierrors.NewBadRequest(fmt.Sprintf("kind %q is not served", key.Kind))
	}
	o, ok := c.r.o.Store.View().Get(key)
	if !ok {
		return object.Object{}, notFound(k, key.Name)
	}
	return o, nil
}

// List reads the objects of one kind.
func (c *Client) List(ctx context.Context, k api.Kind, o api.ListOptions) (*api.List, error) {
	p, err := c.ListPage(ctx, k, o, PageOptions{})
	if err != nil {
		return nil, err
	}
	return &p.List, nil
}

// PageOptions select a part of a list and the revision of it; see
// https://kubernetes.io/docs/reference/using-api/api-concepts/.
type PageOptions struct {
	// Limit is the most objects wanted; 0 means all.
	Limit int64
	// Continue is where the former page ended.
	Continue string
	// ResourceVersion and Match are resourceVersion and resourceVersionMatch.
	ResourceVersion, Match string
}

// Page is a part of a list.
type Page struct {
	api.List
	// Continue is for the next page; empty at the end. Remaining is how many
	// objects that has, -1 when not known.
	Continue  string
	Remaining int64
}

// cursor is what a continue token holds.
type cursor struct {
	Revision  uint64 `json:"rv"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
}

// ListPage reads a part of the objects of one kind. The pages of one list all
// show the same revision.
func (c *Client) ListPage(_ context.Context, k api.Kind, o api.ListOptions, p PageOptions) (*Page, error) {
	sel, err := c.r.parseSelector(k, o)
	if err != nil {
		return nil, err
	}
	snap, after, err := c.r.snapshot(p)
	if err != nil {
		return nil, err
	}
	out := &Page{List: api.List{Revision: snap.Revision()}}
	for item := range snap.List(k.Group, k.Kind, o.Namespace) {
		if after != nil && !later(item, after) {
			continue
		}
		if !sel.matches(item) {
			continue
		}
		if p.Limit > 0 && int64(len(out.Items)) == p.Limit {
			out.Remaining++
			if !sel.all {
				out.Remaining = -1
				break
			}
			continue
		}
		out.Items = append(out.Items, item)
	}
	if out.Remaining != 0 {
		last := out.Items[len(out.Items)-1]
		token, err := json.Marshal(cursor{Revision: snap.Revision(), Namespace: last.Namespace(), Name: last.Name()})
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		out.Continue = base64.RawURLEncoding.EncodeToString(token)
		c.r.pages.keep(snap, c.r.o.Now())
	}
	return out, nil
}

func later(o object.Object, c *cursor) bool {
	if o.Namespace() != c.Namespace {
		return o.Namespace() > c.Namespace
	}
	return o.Name() > c.Name
}

// snapshot finds the state that a list asks for.
func (r *Registry) snapshot(p PageOptions) (store.Snapshot, *cursor, error) {
	now := r.o.Store.View()
	if p.Continue != "" {
		var at cursor
		raw, err := base64.RawURLEncoding.DecodeString(p.Continue)
		if err != nil || json.Unmarshal(raw, &at) != nil {
			return now, nil, apierrors.NewBadRequest("continue key is not valid")
		}
		s, ok := r.pages.find(at.Revision, r.o.Now())
		if !ok {
			return now, nil, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.")
		}
		return s, &at, nil
	}
	if p.ResourceVersion == "" || p.ResourceVersion == "0" {
		if p.Match == string(metav1.ResourceVersionMatchExact) {
			return now, nil, apierrors.NewBadRequest("resourceVersionMatch Exact needs a resourceVersion other than 0")
		}
		return now, nil, nil
	}
	want, err := parseRevision(p.ResourceVersion)
	if err != nil {
		return now, nil, err
	}
	if want > now.Revision() {
		return now, nil, tooLarge(want, now.Revision())
	}
	if p.Match == string(metav1.ResourceVersionMatchExact) && want != now.Revision() {
		s, ok := r.pages.find(want, r.o.Now())
		if !ok {
			return now, nil, apierrors.NewResourceExpired(fmt.Sprintf("the state at resourceVersion %d is no longer kept", want))
		}
		return s, nil, nil
	}
	return now, nil, nil
}

func tooLarge(want, have uint64) error {
	e := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", want, have), 1)
	e.ErrStatus.Code = http.StatusGatewayTimeout
	e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return e
}
