package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

func noSuchPath(r *http.Request) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "the server could not find the requested resource", 0, false)
}

func noSuchMethod(i *requestInfo) error {
	return apierrors.NewMethodNotSupported(schema.GroupResource{Group: i.group, Resource: i.resource}, i.verb)
}

// resources handles everything below /api/ and /apis/.
func (s *Server) resources(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	if c.info.path != "" {
		s.described(func(d *description, w http.ResponseWriter, r *http.Request) {
			if !d.discovery.serve(w, r) {
				s.fail(w, r, noSuchPath(r))
			}
		})(w, r)
		return
	}
	if err := s.dispatch(w, r, c); err != nil {
		s.fail(w, r, err)
	}
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, c *call) error {
	i := c.info
	if done, err := s.virtual(w, r, c); done {
		return err
	}
	k, ok := s.kind(i)
	if !ok || (!k.Namespaced && i.namespace != "") {
		return noSuchPath(r)
	}
	if k.Namespaced && i.namespace == "" && (i.name != "" || i.verb == "create" || i.verb == "deletecollection") {
		return noSuchPath(r)
	}
	switch i.sub {
	case "":
	case registry.SubStatus:
		if !k.Status {
			return noSuchPath(r)
		}
	case registry.SubScale:
		if !k.Scale {
			return noSuchPath(r)
		}
		return s.scale(w, r, c, k)
	case "log":
		if k.GVK() == api.Pod.GVK() && i.verb == "get" {
			return s.log(w, r, c)
		}
		return noSuchPath(r)
	case subExec, subAttach, subPortForward:
		if k.GVK() == api.Pod.GVK() {
			return s.connect(w, r, c)
		}
		return noSuchPath(r)
	case "eviction":
		if k.GVK() == api.Pod.GVK() && i.verb == "create" {
			return s.evict(w, r, c)
		}
		return noSuchPath(r)
	case "access":
		if k.GVK() == api.Node.GVK() && i.verb == "get" {
			return s.access(w, r, c)
		}
		return noSuchPath(r)
	case "token":
		if k.Kind == api.ServiceAccount.Kind && i.verb == "create" {
			return s.token(w, r, c)
		}
		return noSuchPath(r)
	case "binding":
		if k.GVK() == api.Pod.GVK() && i.verb == "create" {
			return s.bind(w, r, c)
		}
		return noSuchPath(r)
	default:
		return noSuchPath(r)
	}
	return s.verb(w, r, c, k)
}

func (s *Server) verb(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	switch c.info.verb {
	case "get":
		o, err := s.client(c).Get(r.Context(), k.Key(c.info.namespace, c.info.name))
		if err != nil {
			return err
		}
		return s.sendObject(w, r, http.StatusOK, k, o)
	case "list":
		return s.list(w, r, c, k)
	case "watch":
		return s.watch(w, r, c, k)
	case "create":
		if c.info.sub != "" || c.info.name != "" {
			return noSuchMethod(c.info)
		}
		return s.create(w, r, c, k)
	case "update":
		return s.update(w, r, c, k)
	case "patch":
		return s.patch(w, r, c, k)
	case "delete":
		if c.info.sub != "" {
			return noSuchMethod(c.info)
		}
		return s.delete(w, r, c, k)
	case "deletecollection":
		return s.deleteCollection(w, r, c, k)
	}
	return noSuchMethod(c.info)
}

// writeOptions reads the query parameters of a write. Without fieldValidation
// the server warns, as Kubernetes does.
func writeOptions(i *requestInfo) (registry.WriteOptions, error) {
	o := registry.WriteOptions{Validation: i.query.Get("fieldValidation")}
	if o.Validation == "" {
		o.Validation = registry.Warn
	}
	if !slices.Contains([]string{registry.Strict, registry.Warn, registry.Ignore}, o.Validation) {
		return o, apierrors.NewBadRequest(fmt.Sprintf("fieldValidation must be Strict, Warn or Ignore, not %q", o.Validation))
	}
	if problem := badManager(i.query.Get("fieldManager")); problem != "" {
		return o, invalidOptions("fieldManager", problem)
	}
	var err error
	o.DryRun, err = dryRun(i.query["dryRun"])
	return o, err
}

func dryRun(values []string) (bool, error) {
	for _, v := range values {
		if v != metav1.DryRunAll {
			return false, apierrors.NewBadRequest(fmt.Sprintf("dryRun must be All, not %q", v))
		}
	}
	return len(values) > 0, nil
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	o, err := writeOptions(c.info)
	if err != nil {
		return err
	}
	obj, warnings, err := readObject(r, c.info, k, o.Validation)
	if err != nil {
		return err
	}
	c.record.object(obj)
	if err := s.authorizeObject(c, "create", k, "", obj.Key()); err != nil {
		return err
	}
	out, err := s.client(c).CreateWith(r.Context(), obj, o)
	if err != nil {
		return err
	}
	warn(w, append(warnings, out.Warnings...))
	return s.sendObject(w, r, http.StatusCreated, k, out.Object)
}

func (s *Server) update(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	o, err := writeOptions(c.info)
	if err != nil {
		return err
	}
	if c.info.name == "" {
		return noSuchMethod(c.info)
	}
	obj, warnings, err := readObject(r, c.info, k, o.Validation)
	if err != nil {
		return err
	}
	do := s.client(c).UpdateWith
	if c.info.sub == registry.SubStatus {
		do = s.client(c).UpdateStatusWith
	}
	out, err := do(r.Context(), obj, o)
	if err != nil {
		return err
	}
	warn(w, append(warnings, out.Warnings...))
	return s.sendObject(w, r, http.StatusOK, k, out.Object)
}

// readPatch reads a patch; its Content-Type says of which kind.
func readPatch(r *http.Request, sub string) (registry.Patch, error) {
	p := registry.Patch{Sub: sub}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return p, unsupportedMedia(r.Header.Get("Content-Type"))
	}
	if p.Data, err = io.ReadAll(r.Body); err != nil {
		return p, err
	}
	p.Type = types.PatchType(media)
	if p.Type != types.ApplyYAMLPatchType && !bytes.HasPrefix(bytes.TrimSpace(p.Data), []byte("{")) && p.Type != types.JSONPatchType {
		if y, err := yaml.YAMLToJSON(p.Data); err == nil {
			p.Data = y
		}
	}
	return p, nil
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	o, err := writeOptions(c.info)
	if err != nil {
		return err
	}
	if c.info.name == "" {
		return noSuchMethod(c.info)
	}
	p, err := readPatch(r, c.info.sub)
	if err != nil {
		return err
	}
	var warnings []string
	if p.Type == types.ApplyYAMLPatchType {
		if warnings, err = s.readApply(&p, c, k, o); err != nil {
			return err
		}
	}
	out, err := s.client(c).PatchWith(r.Context(), k.Key(c.info.namespace, c.info.name), p, o)
	if err != nil {
		return err
	}
	warn(w, append(warnings, out.Warnings...))
	code := http.StatusOK
	if out.Created {
		code = http.StatusCreated
	}
	return s.sendObject(w, r, code, k, out.Object)
}

// deleteOptions reads the options of a deletion from the body and the query.
func deleteOptions(r *http.Request, i *requestInfo) (registry.DeleteOptions, error) {
	var d metav1.DeleteOptions
	b, err := readJSON(r, func() runtime.Object { return new(metav1.DeleteOptions) })
	if err != nil {
		return registry.DeleteOptions{}, err
	}
	if len(bytes.TrimSpace(b)) > 0 {
		if err := json.Unmarshal(b, &d); err != nil {
			return registry.DeleteOptions{}, apierrors.NewBadRequest(fmt.Sprintf("decode DeleteOptions: %v", err))
		}
	}
	return registryDeleteOptions(d, i)
}

// registryDeleteOptions adds what the query says.
func registryDeleteOptions(d metav1.DeleteOptions, i *requestInfo) (registry.DeleteOptions, error) {
	var err error
	if v := i.query.Get("gracePeriodSeconds"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return registry.DeleteOptions{}, apierrors.NewBadRequest(fmt.Sprintf("gracePeriodSeconds %q is not a number", v))
		}
		d.GracePeriodSeconds = &n
	}
	if v := metav1.DeletionPropagation(i.query.Get("propagationPolicy")); v != "" {
		d.PropagationPolicy = &v
	}
	o := registry.DeleteOptions{GracePeriodSeconds: d.GracePeriodSeconds}
	if o.DryRun, err = dryRun(append(d.DryRun, i.query["dryRun"]...)); err != nil {
		return o, err
	}
	if p := d.Preconditions; p != nil {
		if p.UID != nil {
			o.UID = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			o.ResourceVersion = *p.ResourceVersion
		}
	}
	if d.PropagationPolicy != nil {
		o.Propagation = string(*d.PropagationPolicy)
	} else if legacy := legacyOrphan(d); legacy != nil && *legacy {
		o.Propagation = string(metav1.DeletePropagationOrphan)
	}
	return o, nil
}

// legacyOrphan is the field that propagationPolicy replaced; old clients send it.
func legacyOrphan(d metav1.DeleteOptions) *bool {
	//lint:ignore SA1019 deprecated, but on the wire
	return d.OrphanDependents
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	o, err := deleteOptions(r, c.info)
	if err != nil {
		return err
	}
	out, err := s.client(c).DeleteWith(r.Context(), k.Key(c.info.namespace, c.info.name), o)
	if err != nil {
		return err
	}
	if !out.Removed || k.GVK() == api.Pod.GVK() {
		return s.sendObject(w, r, http.StatusOK, k, out.Object)
	}
	s.sendValue(w, r, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Group: k.Group, Kind: k.Resource, Name: out.Object.Name(), UID: types.UID(out.Object.Meta().UID)},
	})
	return nil
}

func (s *Server) deleteCollection(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	o, err := deleteOptions(r, c.info)
	if err != nil {
		return err
	}
	l, err := s.client(c).DeleteCollection(r.Context(), k, listOptions(c.info), o)
	if err != nil {
		return err
	}
	s.sendList(w, r, k, &registry.Page{List: *l})
	return nil
}

func listOptions(i *requestInfo) api.ListOptions {
	o := api.ListOptions{Namespace: i.namespace, LabelSelector: i.query.Get("labelSelector"), FieldSelector: i.query.Get("fieldSelector")}
	if i.verb == "watch" && i.name != "" {
		o.FieldSelector = "metadata.name=" + i.name
	}
	return o
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	p := registry.PageOptions{
		Continue:        c.info.query.Get("continue"),
		ResourceVersion: c.info.query.Get("resourceVersion"),
		Match:           c.info.query.Get("resourceVersionMatch"),
	}
	if v := c.info.query.Get("limit"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("limit %q is not a number of objects", v))
		}
		p.Limit = n
	}
	page, err := s.client(c).ListPage(r.Context(), k, listOptions(c.info), p)
	if err != nil {
		return err
	}
	s.sendList(w, r, k, page)
	return nil
}

// sendObject writes one object in the form wanted.
func (s *Server) sendObject(w http.ResponseWriter, r *http.Request, code int, k api.Kind, o object.Object) error {
	callOf(r).record.object(o)
	switch f := negotiate(r); f.as {
	case "Table":
		t := s.table(k, []object.Object{o}, include(r), true)
		t.ResourceVersion = o.Meta().ResourceVersion
		s.sendValue(w, r, code, t)
	case "PartialObjectMetadata":
		s.send(w, r, code, partial(o))
	default:
		s.send(w, r, code, o.JSON())
	}
	return nil
}

// sendList writes a list in the form wanted.
func (s *Server) sendList(w http.ResponseWriter, r *http.Request, k api.Kind, p *registry.Page) {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(p.Revision, 10), Continue: p.Continue}
	if p.Remaining > 0 {
		meta.RemainingItemCount = &p.Remaining
	}
	apiVersion, kind := k.APIVersion(), k.Kind+"List"
	if c, ok := s.o.Registry.Customs().Lookup(k.Group, k.Kind); ok {
		kind = c.ListKind
	}
	item := object.Object.JSON
	switch negotiate(r).as {
	case "Table":
		t := s.table(k, p.Items, include(r), true)
		t.ListMeta = meta
		s.sendValue(w, r, http.StatusOK, t)
		return
	case "PartialObjectMetadataList":
		apiVersion, kind, item = "meta.k8s.io/v1", "PartialObjectMetadataList", partial
	}
	head, err := object.Marshal(meta)
	if err != nil {
		s.fail(w, r, apierrors.NewInternalError(err))
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, kind, apiVersion, head)
	for i, o := range p.Items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item(o))
	}
	b.WriteString("]}")
	s.send(w, r, http.StatusOK, b.Bytes())
}

// partial returns only the metadata, as PartialObjectMetadata.
func partial(o object.Object) []byte {
	var head struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	_ = json.Unmarshal(o.JSON(), &head) // It was valid when it was stored.
	return slices.Concat([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`), head.Metadata, []byte("}"))
}
