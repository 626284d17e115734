package apiserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/rbac"
	"github.com/writ-dev/writ/cluster/registry"
)

// The headers by which a request is made in another's name; see
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
const (
	impersonateUser  = "Impersonate-User"
	impersonateGroup = "Impersonate-Group"
	impersonateUID   = "Impersonate-Uid"
	impersonateExtra = "Impersonate-Extra-"
)

// impersonate returns in whose name the request is made: u's own, or another's
// when it asks for that and every part of it is allowed to u. The headers are
// removed.
func (s *Server) impersonate(u auth.User, r *http.Request, rec *record) (auth.User, error) {
	want, asked := impersonated(r.Header)
	if !asked {
		return u, nil
	}
	if want.Name == "" {
		return u, apierrors.NewBadRequest("requested to impersonate groups, a UID or extra information, but no user: set the header " + impersonateUser)
	}
	if want.Name == registry.System.Name {
		return u, apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, want.Name, errText("nobody acts as the control plane itself"))
	}
	for _, a := range impersonations(want) {
		if err := s.allowed(u, a, rec); err != nil {
			return u, err
		}
	}
	if namespace, _, ok := rbac.SplitAccount(want.Name); ok && len(want.Groups) == 0 {
		want.Groups = rbac.AccountGroups(namespace)
	}
	if !want.In(auth.GroupAuthenticated) {
		want.Groups = append(want.Groups, auth.GroupAuthenticated)
	}
	return want, nil
}

// impersonated reads and removes the headers; asked says whether there are any.
func impersonated(h http.Header) (want auth.User, asked bool) {
	want.Name, want.UID = h.Get(impersonateUser), h.Get(impersonateUID)
	want.Groups = slices.Clone(h.Values(impersonateGroup))
	for name, values := range h {
		if !strings.HasPrefix(name, "Impersonate-") {
			continue
		}
		asked = true
		if key, ok := strings.CutPrefix(name, impersonateExtra); ok {
			// Header names are not case-sensitive; extra keys are lower case.
			key = strings.ToLower(key)
			if plain, err := url.PathUnescape(key); err == nil {
				key = plain
			}
			if want.Extra == nil {
				want.Extra = map[string][]string{}
			}
			want.Extra[key] = append(want.Extra[key], values...)
		}
		h.Del(name)
	}
	return want, asked
}

// impersonations are the permissions that it takes to act as want.
func impersonations(want auth.User) []auth.Attributes {
	var out []auth.Attributes
	if namespace, name, ok := rbac.SplitAccount(want.Name); ok {
		out = append(out, auth.Attributes{Verb: "impersonate", Resource: "serviceaccounts", Namespace: namespace, Name: name})
	} else {
		out = append(out, auth.Attributes{Verb: "impersonate", Resource: "users", Name: want.Name})
	}
	for _, g := range want.Groups {
		out = append(out, auth.Attributes{Verb: "impersonate", Resource: "groups", Name: g})
	}
	if want.UID != "" {
		out = append(out, auth.Attributes{Verb: "impersonate", Group: "authentication.k8s.io", Resource: "uids", Name: want.UID})
	}
	for key, values := range want.Extra {
		for _, v := range values {
			out = append(out, auth.Attributes{Verb: "impersonate", Group: "authentication.k8s.io", Resource: "userextras", Subresource: key, Name: v})
		}
	}
	return out
}
