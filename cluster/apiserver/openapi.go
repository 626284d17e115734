package apiserver

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/custom"
	"github.com/writ-dev/writ/cluster/object"
)

// openAPIV2Protobuf is the form of /openapi/v2 that client-go asks for, as
// ...spec.v2@v1.0+protobuf; the at sign is no valid media type in an answer.
const openAPIV2Protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// openapi holds the documents that describe what is served. They are made
// once, from the Go types, when somebody first asks.
type openapi struct {
	versions []string // "api/v1", "apis/apps/v1", ...
	byPath   map[string][]byte
	indexDoc []byte
	// swagger is the version 2 document, and the same as protobuf.
	swagger func() ([]byte, error)
	binary  func() ([]byte, error)
}

func newOpenAPI(set *custom.Set) (*openapi, error) {
	o := &openapi{byPath: map[string][]byte{}}
	served := kindsWith(set)
	kinds := map[string][]api.Kind{}
	for _, k := range served {
		p := strings.TrimPrefix(root(k), "/")
		if _, ok := kinds[p]; !ok {
			o.versions = append(o.versions, p)
		}
		kinds[p] = append(kinds[p], k)
	}
	index := node{}
	for _, p := range o.versions {
		b, err := object.Marshal(documentV3(set, kinds[p]))
		if err != nil {
			return nil, err
		}
		o.byPath[p] = b
		index[p] = node{"serverRelativeURL": fmt.Sprintf("/openapi/v3/%s?hash=%X", p, sha256.Sum256(b))}
	}
	var err error
	o.indexDoc, err = object.Marshal(node{"paths": index})
	o.swagger = sync.OnceValues(func() ([]byte, error) { return object.Marshal(documentV2(set, served)) })
	o.binary = sync.OnceValues(func() ([]byte, error) {
		b, err := o.swagger()
		if err != nil {
			return nil, err
		}
		doc, err := openapi_v2.ParseDocument(b)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(doc)
	})
	return o, err
}

func root(k api.Kind) string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.Group + "/" + k.Version
}

func (o *openapi) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(o.indexDoc)
}

func (o *openapi) v3(w http.ResponseWriter, r *http.Request) {
	b, ok := o.byPath[strings.TrimPrefix(r.URL.Path, "/openapi/v3/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	tag := etag(b)
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func (o *openapi) v2(w http.ResponseWriter, r *http.Request) {
	doc, media := o.swagger, "application/json"
	if strings.Contains(r.Header.Get("Accept"), "proto-openapi.spec.v2") {
		doc, media = o.binary, openAPIV2Protobuf
	}
	b, err := doc()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(b)
}

func documentV3(set *custom.Set, kinds []api.Kind) node {
	s := &schemas{set: set, ref: "#/components/schemas/", named: node{}}
	s.of(reflect.TypeFor[metav1.DeleteOptions]())
	s.of(reflect.TypeFor[metav1.Status]())
	paths := node{}
	for _, k := range kinds {
		addPaths(s, paths, k, false)
	}
	return node{"openapi": "3.0.0", "info": node{"title": "Writ", "version": kubernetesVersionText()}, "paths": paths, "components": node{"schemas": s.named}}
}

func documentV2(set *custom.Set, kinds []api.Kind) node {
	s := &schemas{set: set, v2: true, ref: "#/definitions/", named: node{}}
	s.of(reflect.TypeFor[metav1.DeleteOptions]())
	s.of(reflect.TypeFor[metav1.Status]())
	paths := node{}
	for _, k := range kinds {
		addPaths(s, paths, k, true)
	}
	return node{"swagger": "2.0", "info": node{"title": "Writ", "version": kubernetesVersionText()}, "paths": paths, "definitions": s.named}
}

func kubernetesVersionText() string { return "v" + kubernetesMajor + "." + kubernetesMinor + ".0" }

// addPaths describes the verbs of a kind, in OpenAPI version 2 or 3.
func addPaths(s *schemas, paths node, k api.Kind, v2 bool) {
	one, list := s.kind(k)
	base := root(k)
	if k.Namespaced {
		base += "/namespaces/{namespace}"
	}
	base += "/" + k.Resource
	op := func(action, what, result string, body bool, query ...string) node {
		o := operation{s: s, k: k, v2: v2, action: action, result: result, query: append(query, "pretty")}
		if body {
			o.body = what
		}
		return o.node()
	}
	status := schemaName(reflect.TypeFor[metav1.Status]())
	options := schemaName(reflect.TypeFor[metav1.DeleteOptions]())
	listing := []string{"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"}
	writing := []string{"dryRun", "fieldManager", "fieldValidation"}
	collection := node{"get": op("list", "", list, false, listing...)}
	item := node{"get": op("get", "", one, false)}
	// Of kinds that only the cluster writes too: a client that finds no such
	// verb looks for it elsewhere, and tells people of that instead of what the
	// server answers.
	collection["post"] = op("post", one, one, true, writing...)
	collection["delete"] = op("deletecollection", options, status, true, append(listing, "dryRun")...)
	item["put"] = op("put", one, one, true, writing...)
	item["patch"] = op("patch", "", one, true, append(writing, "force")...)
	item["delete"] = op("delete", options, status, true, "dryRun", "gracePeriodSeconds", "propagationPolicy")
	params := []any{}
	if k.Namespaced {
		params = append(params, parameter("namespace", "path", v2))
		paths[root(k)+"/"+k.Resource] = node{"get": op("list", "", list, false, listing...)}
	}
	collection["parameters"] = params
	item["parameters"] = append(append([]any{}, params...), parameter("name", "path", v2))
	paths[base] = collection
	paths[base+"/{name}"] = item
	if k.Status && !k.System {
		paths[base+"/{name}/status"] = node{
			"get": op("get", "", one, false), "put": op("put", one, one, true, writing...), "patch": op("patch", "", one, true, append(writing, "force")...),
			"parameters": item["parameters"],
		}
	}
}

// operation is one verb on one path.
type operation struct {
	s      *schemas
	k      api.Kind
	v2     bool
	action string
	// body and result name schemas; a patch has a body without one.
	body, result string
	query        []string
}

var patchMedia = []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"}

func (o operation) node() node {
	params := []any{}
	for _, q := range o.query {
		params = append(params, parameter(q, "query", o.v2))
	}
	n := node{
		"tags": []string{o.k.Group + "_" + o.k.Version}, "x-kubernetes-action": o.action,
		"x-kubernetes-group-version-kind": gvkNode(o.k, ""),
	}
	result := node{"$ref": o.s.ref + o.result}
	body := node{"type": "object"}
	if o.body != "" {
		body = node{"$ref": o.s.ref + o.body}
	}
	media := []string{"application/json", "application/yaml", protobufMedia}
	if o.k.Custom {
		media = media[:2]
	}
	if o.action == "patch" {
		media = patchMedia
		if o.k.Custom || o.k.Group == api.Group { // kubectl takes the strategic one where it is offered
			media = slices.DeleteFunc(slices.Clone(media), func(m string) bool { return strings.HasPrefix(m, "application/strategic") })
		}
	}
	hasBody := o.body != "" || o.action == "patch"
	if o.v2 {
		n["consumes"], n["produces"], n["schemes"] = media, []string{"application/json", "application/yaml"}, []string{"https"}
		n["responses"] = node{"200": node{"description": "OK", "schema": result}}
		if hasBody {
			params = append(params, node{"name": "body", "in": "body", "required": o.action != "delete" && o.action != "deletecollection", "schema": body})
		}
	} else {
		n["responses"] = node{"200": node{"description": "OK", "content": node{"application/json": node{"schema": result}}}}
		if hasBody {
			content := node{}
			for _, m := range media {
				content[m] = node{"schema": body}
			}
			n["requestBody"] = node{"content": content}
		}
	}
	n["parameters"] = params
	return n
}

func parameter(name, in string, v2 bool) node {
	kind := node{"type": "string", "uniqueItems": true}
	switch name {
	case "limit", "timeoutSeconds", "gracePeriodSeconds":
		kind["type"] = "integer"
	case "watch", "allowWatchBookmarks", "sendInitialEvents", "force":
		kind["type"] = "boolean"
	}
	p := node{"name": name, "in": in}
	if in == "path" {
		p["required"] = true
	}
	if !v2 {
		p["schema"] = kind
		return p
	}
	for f, v := range kind {
		p[f] = v
	}
	return p
}
