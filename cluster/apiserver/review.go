package apiserver

import (
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/rbac"
)

const (
	authorizationGroup  = "authorization.k8s.io/v1"
	authenticationGroup = "authentication.k8s.io/v1"
)

// reviewed reads what a review asks about. A name that is "" or "*" stands for
// all objects.
func reviewed(r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) (auth.Attributes, error) {
	switch {
	case r != nil && n != nil, r == nil && n == nil:
		return auth.Attributes{}, apierrors.NewBadRequest("exactly one of resourceAttributes and nonResourceAttributes must be given")
	case n != nil:
		return auth.Attributes{Verb: n.Verb, Path: n.Path}, nil
	}
	a := auth.Attributes{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
	if a.Group == "" && a.Resource == api.Namespace.Resource && a.Namespace == "" {
		a.Namespace = a.Name
	}
	return a, nil
}

func (s *Server) review(u auth.User, r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
	a, err := reviewed(r, n)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	d := auth.Authorize(u, a, s.facts())
	return authorizationv1.SubjectAccessReviewStatus{Allowed: d.Allowed, Reason: d.Reason}, nil
}

func (s *Server) selfSubjectAccessReview(w http.ResponseWriter, r *http.Request, c *call) error {
	v, err := readTyped[authorizationv1.SelfSubjectAccessReview](r, func() runtime.Object { return new(authorizationv1.SelfSubjectAccessReview) })
	if err != nil {
		return err
	}
	if v.Status, err = s.review(c.user, v.Spec.ResourceAttributes, v.Spec.NonResourceAttributes); err != nil {
		return err
	}
	v.TypeMeta = metav1.TypeMeta{APIVersion: authorizationGroup, Kind: "SelfSubjectAccessReview"}
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

// subjectOf makes the user that a review is about.
func subjectOf(s authorizationv1.SubjectAccessReviewSpec) (auth.User, error) {
	if s.User == "" && len(s.Groups) == 0 {
		return auth.User{}, apierrors.NewBadRequest("at least one of user and groups must be given")
	}
	u := auth.User{Name: s.User, Groups: s.Groups, UID: s.UID, Extra: map[string][]string{}}
	for name, values := range s.Extra {
		u.Extra[name] = values
	}
	return u, nil
}

func (s *Server) subjectAccessReview(w http.ResponseWriter, r *http.Request, _ *call) error {
	v, err := readTyped[authorizationv1.SubjectAccessReview](r, func() runtime.Object { return new(authorizationv1.SubjectAccessReview) })
	if err != nil {
		return err
	}
	u, err := subjectOf(v.Spec)
	if err != nil {
		return err
	}
	if v.Status, err = s.review(u, v.Spec.ResourceAttributes, v.Spec.NonResourceAttributes); err != nil {
		return err
	}
	v.TypeMeta = metav1.TypeMeta{APIVersion: authorizationGroup, Kind: "SubjectAccessReview"}
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

// localSubjectAccessReview is a subjectAccessReview about one namespace, so
// that whoever runs that namespace may ask.
func (s *Server) localSubjectAccessReview(w http.ResponseWriter, r *http.Request, c *call) error {
	v, err := readTyped[authorizationv1.LocalSubjectAccessReview](r, func() runtime.Object { return new(authorizationv1.LocalSubjectAccessReview) })
	if err != nil {
		return err
	}
	if v.Spec.ResourceAttributes == nil || v.Spec.NonResourceAttributes != nil || v.Spec.ResourceAttributes.Namespace != c.info.namespace {
		return apierrors.NewBadRequest("spec.resourceAttributes.namespace must be the namespace of the request, " + c.info.namespace)
	}
	u, err := subjectOf(v.Spec)
	if err != nil {
		return err
	}
	if v.Status, err = s.review(u, v.Spec.ResourceAttributes, nil); err != nil {
		return err
	}
	v.TypeMeta = metav1.TypeMeta{APIVersion: authorizationGroup, Kind: "LocalSubjectAccessReview"}
	v.Namespace = c.info.namespace
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

// selfSubjectRulesReview lists what the user may do in a namespace.
func (s *Server) selfSubjectRulesReview(w http.ResponseWriter, r *http.Request, c *call) error {
	v, err := readTyped[authorizationv1.SelfSubjectRulesReview](r, func() runtime.Object { return new(authorizationv1.SelfSubjectRulesReview) })
	if err != nil {
		return err
	}
	if v.Spec.Namespace == "" {
		return apierrors.NewBadRequest("no namespace on request")
	}
	rules := s.o.Registry.Roles().Held(rbac.User{Name: c.user.Name, Groups: c.user.Groups}, v.Spec.Namespace)
	if c.user.In(auth.GroupMasters) {
		rules = slices.Concat(rbac.Everything, rules)
	}
	v.Status = rulesStatus(rules)
	if c.user.Node() != "" {
		v.Status.Incomplete = true
		v.Status.EvaluationError = "what a node may do besides depends on its pods"
	}
	v.TypeMeta = metav1.TypeMeta{APIVersion: authorizationGroup, Kind: "SelfSubjectRulesReview"}
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

func rulesStatus(rules []rbacv1.PolicyRule) authorizationv1.SubjectRulesReviewStatus {
	out := authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}}
	for _, r := range rules {
		if len(r.Resources) > 0 {
			out.ResourceRules = append(out.ResourceRules, authorizationv1.ResourceRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
		}
		if len(r.NonResourceURLs) > 0 {
			out.NonResourceRules = append(out.NonResourceRules, authorizationv1.NonResourceRule{Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs})
		}
	}
	return out
}

func (s *Server) selfSubjectReview(w http.ResponseWriter, r *http.Request, c *call) error {
	if _, err := readJSON(r, func() runtime.Object { return new(authenticationv1.SelfSubjectReview) }); err != nil {
		return err
	}
	v := authenticationv1.SelfSubjectReview{TypeMeta: metav1.TypeMeta{APIVersion: authenticationGroup, Kind: "SelfSubjectReview"}}
	v.CreationTimestamp = metav1.Now()
	v.Status.UserInfo = userInfo(c.user)
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

func userInfo(u auth.User) authenticationv1.UserInfo {
	out := authenticationv1.UserInfo{Username: u.Name, Groups: u.Groups, UID: u.UID}
	for name, values := range u.Extra {
		if out.Extra == nil {
			out.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Extra[name] = values
	}
	return out
}
