package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/registry"
)

// virtualResource is a resource that is asked but not stored.
type virtualResource struct {
	kind, singular string
	namespaced     bool
	handle         func(*Server, http.ResponseWriter, *http.Request, *call) error
}

// virtuals are they, by group/version/resource.
var virtuals = map[string]virtualResource{
	api.Group + "/" + api.Version + "/transactions":     {kind: "Transaction", singular: "transaction", handle: (*Server).transact},
	"authentication.k8s.io/v1/selfsubjectreviews":       {kind: "SelfSubjectReview", singular: "selfsubjectreview", handle: (*Server).selfSubjectReview},
	"authentication.k8s.io/v1/tokenreviews":             {kind: "TokenReview", singular: "tokenreview", handle: (*Server).tokenReview},
	"authorization.k8s.io/v1/selfsubjectaccessreviews":  {kind: "SelfSubjectAccessReview", singular: "selfsubjectaccessreview", handle: (*Server).selfSubjectAccessReview},
	"authorization.k8s.io/v1/selfsubjectrulesreviews":   {kind: "SelfSubjectRulesReview", singular: "selfsubjectrulesreview", handle: (*Server).selfSubjectRulesReview},
	"authorization.k8s.io/v1/subjectaccessreviews":      {kind: "SubjectAccessReview", singular: "subjectaccessreview", handle: (*Server).subjectAccessReview},
	"authorization.k8s.io/v1/localsubjectaccessreviews": {kind: "LocalSubjectAccessReview", singular: "localsubjectaccessreview", namespaced: true, handle: (*Server).localSubjectAccessReview},
}

// virtual handles the resources that are asked but not stored.
func (s *Server) virtual(w http.ResponseWriter, r *http.Request, c *call) (done bool, err error) {
	i := c.info
	v, ok := virtuals[i.group+"/"+i.version+"/"+i.resource]
	if !ok {
		return false, nil
	}
	if i.sub != "" || v.namespaced != (i.namespace != "") {
		return true, noSuchPath(r)
	}
	if i.verb != "create" || i.name != "" {
		return true, noSuchMethod(i)
	}
	return true, v.handle(s, w, r, c)
}

// transact commits several operations at once.
func (s *Server) transact(w http.ResponseWriter, r *http.Request, c *call) error {
	b, err := readJSON(r, nil)
	if err != nil {
		return err
	}
	var t api.Transaction
	if err := json.Unmarshal(b, &t); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("decode transaction: %v", err))
	}
	c.record.operations(t.Operations)
	for n, o := range t.Operations {
		if o.Object.IsZero() {
			return apierrors.NewBadRequest(fmt.Sprintf("operations[%d]: the object is missing", n))
		}
		k, ok := s.o.Registry.Lookup(o.Object.Group(), o.Object.Kind())
		if !ok {
			continue // The registry names what is wrong with it.
		}
		verb, sub := string(o.Action), ""
		if o.Action == api.ActionUpdateStatus {
			verb, sub = "update", registry.SubStatus
		}
		if err := s.authorizeObject(c, verb, k, sub, o.Object.Key()); err != nil {
			return err
		}
	}
	if dry, err := dryRun(c.info.query["dryRun"]); err != nil {
		return err
	} else if dry {
		t.DryRun = true
	}
	res, warnings, err := s.client(c).TransactWith(r.Context(), t)
	if err != nil {
		return err
	}
	warn(w, warnings)
	s.sendValue(w, r, http.StatusOK, res)
	return nil
}

// readTyped reads the body into a typed object.
func readTyped[T any](r *http.Request, empty func() runtime.Object) (*T, error) {
	b, err := readJSON(r, empty)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized: %v", err))
	}
	return v, nil
}

// bind assigns a pod to a node.
func (s *Server) bind(w http.ResponseWriter, r *http.Request, c *call) error {
	o, err := writeOptions(c.info)
	if err != nil {
		return err
	}
	b, err := readTyped[corev1.Binding](r, func() runtime.Object { return new(corev1.Binding) })
	if err != nil {
		return err
	}
	if b.Target.Kind != "" && b.Target.Kind != api.Node.Kind || b.Target.Name == "" {
		return apierrors.NewBadRequest("a binding's target must be a Node with a name")
	}
	if b.Name != "" && b.Name != c.info.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the binding's name %q is not %q", b.Name, c.info.name))
	}
	out, err := s.client(c).Bind(r.Context(), c.info.namespace, c.info.name, string(b.UID), b.Target.Name, o)
	if err != nil {
		return err
	}
	warn(w, out.Warnings)
	s.sendValue(w, r, http.StatusCreated, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated})
	return nil
}

// scale serves the scale subresource.
func (s *Server) scale(w http.ResponseWriter, r *http.Request, c *call, k api.Kind) error {
	key := k.Key(c.info.namespace, c.info.name)
	o, err := writeOptions(c.info)
	if err != nil {
		return err
	}
	var out *autoscalingv1.Scale
	var warnings []string
	switch c.info.verb {
	case "get":
		out, err = s.client(c).Scale(r.Context(), key)
	case "update":
		var want *autoscalingv1.Scale
		if want, err = readTyped[autoscalingv1.Scale](r, func() runtime.Object { return new(autoscalingv1.Scale) }); err != nil {
			return err
		}
		out, warnings, err = s.client(c).UpdateScale(r.Context(), key, o, func(*autoscalingv1.Scale) (*autoscalingv1.Scale, error) { return want, nil })
	case "patch":
		var p registry.Patch
		if p, err = readPatch(r, registry.SubScale); err != nil {
			return err
		}
		out, warnings, err = s.client(c).PatchScale(r.Context(), key, p, o)
	default:
		return noSuchMethod(c.info)
	}
	if err != nil {
		return err
	}
	warn(w, warnings)
	s.sendValue(w, r, http.StatusOK, out)
	return nil
}

// join signs the certificate of a node.
func (s *Server) join(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.fail(w, r, apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, r.Method, anyResource, "", "joining is a POST", 0, false))
		return
	}
	out, err := s.signNode(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.sendValue(w, r, http.StatusOK, out)
}

// The request and answer of a join; cluster/client has the same.
type joinRequest struct {
	Name string `json:"name"`
	CSR  []byte `json:"csr"`
}

type joinResult struct {
	Certificate []byte `json:"certificate"`
	CA          []byte `json:"ca"`
}

func (s *Server) signNode(r *http.Request) (*joinResult, error) {
	b, err := readJSON(r, nil)
	if err != nil {
		return nil, err
	}
	var q joinRequest
	if err := json.Unmarshal(b, &q); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode join request: %v", err))
	}
	if problems := utilvalidation.IsDNS1123Subdomain(q.Name); len(problems) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("node name %q: %s", q.Name, problems[0]))
	}
	if own := callOf(r).user.Node(); own != "" && own != q.Name {
		return nil, apierrors.NewForbidden(anyResource, q.Name, fmt.Errorf("node %q may only renew its own certificate", own))
	}
	a := s.o.Credentials.Authority()
	cert, err := a.SignNode(q.Name, q.CSR)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	s.o.Logger.Info("node joined", "node", q.Name)
	return &joinResult{Certificate: cert, CA: a.PEM()}, nil
}
