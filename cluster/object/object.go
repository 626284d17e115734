// Package object holds the one thing the cluster stores: an API object as an
// immutable JSON document, with the few fields that every layer needs already
// parsed. It knows no kinds.
//
// An Object has no setters. To change one, take a copy of its Tree, change
// that, and make a new Object from it.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Key identifies an object. The API version is not part of identity; an empty
// Namespace means cluster-scoped.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String formats k as people name objects: Deployment.apps default/web.
func (k Key) String() string {
	s := k.Kind
	if k.Group != "" {
		s += "." + k.Group
	}
	if k.Namespace != "" {
		return s + " " + k.Namespace + "/" + k.Name
	}
	return s + " " + k.Name
}

// OwnerReference is metav1.OwnerReference without its dependencies.
type OwnerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

// Meta is the parsed part of metadata. Treat its maps and slices as read-only.
type Meta struct {
	Name              string            `json:"name"`
	GenerateName      string            `json:"generateName"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	Generation        int64             `json:"generation"`
	CreationTimestamp string            `json:"creationTimestamp"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	OwnerReferences   []OwnerReference  `json:"ownerReferences"`
	Finalizers        []string          `json:"finalizers"`
}

// Object is an immutable API object. The zero Object is "no object".
type Object struct {
	d *doc
}

type doc struct {
	json            []byte
	apiVersion      string
	kind            string
	namespace, name string
	// late parses meta on first use; without it meta is there already.
	late *sync.Once
	meta Meta
	// decoded is the typed form, filled by cluster/api on first use.
	decoded atomic.Pointer[any]
}

// Parse reads one JSON object with apiVersion, kind and metadata. It keeps b;
// the caller must not change it afterwards. Numbers stay exact.
func Parse(b []byte) (Object, error) { return ParseHead(b, b) }

// ParseHead is Parse for a caller that knows b to be right JSON and has its
// apiVersion, kind and metadata by themselves: top is a JSON object of these.
func ParseHead(b, top []byte) (Object, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   Meta   `json:"metadata"`
	}
	if err := json.Unmarshal(top, &head); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) && te.Field != "" {
			if m := notString(top, te.Field); m != "" {
				return Object{}, errors.New(m)
			}
			return Object{}, fmt.Errorf(".%s: must be a %s, not a %s", te.Field, te.Type, te.Value)
		}
		return Object{}, err
	}
	if head.APIVersion == "" {
		return Object{}, errors.New("apiVersion is missing")
	}
	if head.Kind == "" {
		return Object{}, errors.New("kind is missing")
	}
	return Object{&doc{
		json: b, apiVersion: head.APIVersion, kind: head.Kind, meta: head.Metadata,
		namespace: head.Metadata.Namespace, name: head.Metadata.Name,
	}}, nil
}

// Known makes an object of a document that Parse has accepted before, without
// reading it again: its metadata is parsed when it is first asked for. The
// caller vouches for apiVersion and key, and must not change json afterwards.
func Known(json []byte, apiVersion string, k Key) Object {
	return Object{&doc{
		json: json, apiVersion: apiVersion, kind: k.Kind,
		namespace: k.Namespace, name: k.Name, late: new(sync.Once),
	}}
}

// notString explains which label or annotation is no string: people write
// `release: false`, and the decoder only names the whole map. It returns ""
// for any other field.
func notString(b []byte, field string) string {
	var tree struct {
		Metadata map[string]map[string]any `json:"metadata"`
	}
	_, name, ok := strings.Cut(field, "metadata.")
	if !ok || (name != "labels" && name != "annotations") {
		return ""
	}
	_ = json.Unmarshal(b, &tree) // other members do not fit, and are not needed
	for _, key := range slices.Sorted(maps.Keys(tree.Metadata[name])) {
		var what string
		switch v := tree.Metadata[name][key].(type) {
		case string:
			continue
		case bool:
			what = fmt.Sprintf("%t is a boolean, and %s are strings; quote it: \"%t\"", v, name, v)
		case float64:
			what = fmt.Sprintf("is a number, and %s are strings; quote it", name)
		default:
			what = fmt.Sprintf("must be a string: %s are strings", name)
		}
		return fmt.Sprintf(".metadata.%s.%s: %s", name, key, what)
	}
	return ""
}

// FromTree makes an object of a decoded JSON tree: maps, slices, strings,
// bools, nil and json.Number (or Go numbers).
func FromTree(tree map[string]any) (Object, error) {
	b, err := Marshal(tree)
	if err != nil {
		return Object{}, err
	}
	if o, ok := ofTree(b, tree); ok {
		return o, nil
	}
	return Parse(b) // which says what is wrong
}

// IsZero reports whether o is "no object".
func (o Object) IsZero() bool { return o.d == nil }

// JSON returns the document. Do not change it.
func (o Object) JSON() []byte { return o.d.json }

// MarshalJSON returns the document.
func (o Object) MarshalJSON() ([]byte, error) {
	if o.d == nil {
		return []byte("null"), nil
	}
	return o.d.json, nil
}

// UnmarshalJSON parses a document into o.
func (o *Object) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*o = Object{}
		return nil
	}
	p, err := Parse(bytes.Clone(b))
	if err != nil {
		return err
	}
	*o = p
	return nil
}

// APIVersion returns "v1" or "group/version".
func (o Object) APIVersion() string { return o.d.apiVersion }

// Kind returns the kind.
func (o Object) Kind() string { return o.d.kind }

// Group returns the API group, empty for the core group.
func (o Object) Group() string {
	for i := range len(o.d.apiVersion) {
		if o.d.apiVersion[i] == '/' {
			return o.d.apiVersion[:i]
		}
	}
	return ""
}

// Meta returns the parsed metadata.
func (o Object) Meta() *Meta {
	if o.d.late != nil {
		o.d.late.Do(func() {
			var head struct {
				Metadata Meta `json:"metadata"`
			}
			if err := json.Unmarshal(o.d.json, &head); err != nil {
				panic("object: document was valid when parsed: " + err.Error())
			}
			o.d.meta = head.Metadata
		})
	}
	return &o.d.meta
}

// Name returns metadata.name.
func (o Object) Name() string { return o.d.name }

// Namespace returns metadata.namespace.
func (o Object) Namespace() string { return o.d.namespace }

// Key returns o's identity.
func (o Object) Key() Key {
	return Key{Group: o.Group(), Kind: o.d.kind, Namespace: o.d.namespace, Name: o.d.name}
}

// Controller returns the owner reference with controller: true, or nil.
func (o Object) Controller() *OwnerReference {
	refs := o.Meta().OwnerReferences
	for i := range refs {
		if r := &refs[i]; r.Controller != nil && *r.Controller {
			return r
		}
	}
	return nil
}

// Tree returns a fresh decoded copy that the caller owns. Numbers are
// json.Number.
func (o Object) Tree() map[string]any {
	v, err := Unmarshal(o.d.json)
	if err != nil {
		panic("object: document was valid when parsed: " + err.Error())
	}
	return v.(map[string]any)
}

// Decoded returns the value kept with SetDecoded, or nil.
func (o Object) Decoded() any {
	if p := o.d.decoded.Load(); p != nil {
		return *p
	}
	return nil
}

// SetDecoded keeps a typed form beside the document; it must never be changed
// afterwards. Only cluster/api calls it.
func (o Object) SetDecoded(v any) { o.d.decoded.Store(&v) }
