package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/rbac"
	"github.com/writ-dev/writ/cluster/registry"
)

const (
	defaultTokenLife = time.Hour
	// deletedLeeway is how much longer than its object a token is good, so that
	// what ends can say so.
	deletedLeeway = 60 * time.Second

	// What a token tells of its holder beyond the name; see
	// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/.
	extraCredential = "authentication.kubernetes.io/credential-id"
	extraPodName    = "authentication.kubernetes.io/pod-name"
	extraPodUID     = "authentication.kubernetes.io/pod-uid"
	extraNodeName   = "authentication.kubernetes.io/node-name"
	extraNodeUID    = "authentication.kubernetes.io/node-uid"
)

// authenticate tells who sends r: by certificate, by the nodes' token, or by
// the token of a service account.
func (s *Server) authenticate(r *http.Request) (auth.User, error) {
	u, err := s.o.Credentials.Authenticate(r)
	if token := auth.Bearer(r); errors.Is(err, auth.ErrUnauthenticated) && token != "" {
		u, _, err = s.holder(r.Context(), token, auth.Issuer)
	}
	return u, err
}

// holder tells who holds the token of a service account, if all that it is
// bound to is still there, and for which of the audiences it is good.
func (s *Server) holder(ctx context.Context, token string, audiences ...string) (auth.User, []string, error) {
	claims, good, err := s.o.Credentials.VerifyToken(token, audiences...)
	if err != nil {
		return auth.User{}, nil, err
	}
	b := claims.Kubernetes
	refs := []struct {
		kind api.Kind
		ref  *auth.Ref
	}{{api.ServiceAccount, &b.ServiceAccount}, {api.Pod, b.Pod}, {api.Secret, b.Secret}, {api.Node, b.Node}}
	for _, r := range refs {
		if r.ref == nil {
			continue
		}
		if err := s.there(ctx, r.kind.Key(b.Namespace, r.ref.Name), r.ref.UID); err != nil {
			return auth.User{}, nil, err
		}
	}
	name := rbac.AccountUser(b.Namespace, b.ServiceAccount.Name)
	if claims.Subject != name {
		return auth.User{}, nil, auth.ErrToken
	}
	u := auth.User{Name: name, UID: b.ServiceAccount.UID, Groups: append(rbac.AccountGroups(b.Namespace), auth.GroupAuthenticated),
		Extra: map[string][]string{extraCredential: {"JTI=" + claims.ID}}}
	if b.Pod != nil {
		u.Extra[extraPodName], u.Extra[extraPodUID] = []string{b.Pod.Name}, []string{b.Pod.UID}
	}
	if b.Node != nil {
		u.Extra[extraNodeName], u.Extra[extraNodeUID] = []string{b.Node.Name}, []string{b.Node.UID}
	}
	return u, good, nil
}

// there says whether an object is still the one that a token is bound to.
func (s *Server) there(ctx context.Context, k object.Key, uid string) error {
	o, err := s.o.Registry.As(registry.System).Get(ctx, k)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %s is gone", auth.ErrToken, k)
	case err != nil:
		return err
	case o.Meta().UID != uid:
		return fmt.Errorf("%w: %s is another than it was", auth.ErrToken, k)
	}
	if at := o.Meta().DeletionTimestamp; at != "" {
		if t, err := time.Parse(time.RFC3339, at); err != nil || time.Since(t) > deletedLeeway {
			return fmt.Errorf("%w: %s is deleted", auth.ErrToken, k)
		}
	}
	return nil
}

// token makes a token for a service account.
func (s *Server) token(w http.ResponseWriter, r *http.Request, c *call) error {
	v, err := readTyped[authenticationv1.TokenRequest](r, func() runtime.Object { return new(authenticationv1.TokenRequest) })
	if err != nil {
		return err
	}
	if v.Name != "" && v.Name != c.info.name || v.Namespace != "" && v.Namespace != c.info.namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("the token request is for %s/%s and was sent to %s/%s", v.Namespace, v.Name, c.info.namespace, c.info.name))
	}
	life, err := tokenLife(c.info.name, v.Spec.ExpirationSeconds)
	if err != nil {
		return err
	}
	account, err := s.client(c).Get(r.Context(), api.ServiceAccount.Key(c.info.namespace, c.info.name))
	if err != nil {
		return err
	}
	claims := auth.Claims{Audience: v.Spec.Audiences, Subject: rbac.AccountUser(account.Namespace(), account.Name()),
		Kubernetes: auth.Bound{Namespace: account.Namespace(), ServiceAccount: refOf(account)}}
	if len(claims.Audience) == 0 {
		claims.Audience = []string{auth.Issuer}
	}
	if err := s.bindToken(r.Context(), c, v.Spec.BoundObjectRef, &claims.Kubernetes); err != nil {
		return err
	}
	token, signed, err := s.o.Credentials.SignToken(claims, life)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	c.record.annotate("authentication.kubernetes.io/issued-credential-id", "JTI="+signed.ID)
	seconds := int64(life / time.Second)
	v.TypeMeta = metav1.TypeMeta{APIVersion: authenticationGroup, Kind: "TokenRequest"}
	v.Name, v.Namespace, v.CreationTimestamp = account.Name(), account.Namespace(), metav1.Unix(signed.IssuedAt, 0)
	v.Spec.Audiences, v.Spec.ExpirationSeconds = claims.Audience, &seconds
	v.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.Unix(signed.Expiry, 0)}
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

func refOf(o object.Object) auth.Ref { return auth.Ref{Name: o.Name(), UID: o.Meta().UID} }

func tokenLife(name string, seconds *int64) (time.Duration, error) {
	if seconds == nil {
		return defaultTokenLife, nil
	}
	problem := ""
	switch {
	case *seconds < int64(auth.MinTokenLife/time.Second):
		problem = "may not specify a duration less than 10 minutes"
	case *seconds > 1<<32:
		problem = "may not specify a duration larger than 2^32 seconds"
	}
	if problem != "" {
		return 0, apierrors.NewInvalid(schema.GroupKind{Group: "authentication.k8s.io", Kind: "TokenRequest"}, name,
			field.ErrorList{field.Invalid(field.NewPath("spec", "expirationSeconds"), *seconds, problem)})
	}
	return min(time.Duration(*seconds)*time.Second, auth.MaxTokenLife), nil
}

// bindToken looks up the object that a token is to be bound to.
func (s *Server) bindToken(ctx context.Context, c *call, ref *authenticationv1.BoundObjectReference, b *auth.Bound) error {
	node := c.user.Node()
	if ref == nil {
		if node != "" {
			return apierrors.NewForbidden(api.ServiceAccount.GVR().GroupResource(), c.info.name, fmt.Errorf("node %q may only ask for tokens that are bound to its pods", node))
		}
		return nil
	}
	kinds := map[string]api.Kind{"Pod": api.Pod, "Secret": api.Secret, "Node": api.Node}
	k, ok := kinds[ref.Kind]
	if !ok || ref.APIVersion != "v1" {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s, Kind=%s", ref.APIVersion, ref.Kind))
	}
	o, err := s.o.Registry.As(registry.System).Get(ctx, k.Key(b.Namespace, ref.Name))
	if err != nil {
		return err
	}
	if ref.UID != "" && ref.UID != types.UID(o.Meta().UID) {
		return apierrors.NewConflict(k.GVR().GroupResource(), ref.Name, fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	if node != "" && (k.Kind != api.Pod.Kind || ref.UID == "") {
		return apierrors.NewForbidden(api.ServiceAccount.GVR().GroupResource(), c.info.name, fmt.Errorf("node %q may only ask for tokens that are bound to its pods, by name and UID", node))
	}
	bound := refOf(o)
	switch k.Kind {
	case api.Secret.Kind:
		b.Secret = &bound
	case api.Node.Kind:
		b.Node = &bound
	case api.Pod.Kind:
		pod, err := api.Decode[corev1.Pod](o)
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		if node != "" && pod.Spec.NodeName != node {
			return apierrors.NewForbidden(api.ServiceAccount.GVR().GroupResource(), c.info.name, fmt.Errorf("pod %q is not on node %q", ref.Name, node))
		}
		if have := accountOf(pod); have != c.info.name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name", c.info.name))
		}
		b.Pod = &bound
		if n, err := s.o.Registry.As(registry.System).Get(ctx, api.Node.Key("", pod.Spec.NodeName)); err == nil && pod.Spec.NodeName != "" {
			on := refOf(n)
			b.Node = &on
		}
	}
	return nil
}

// accountOf returns the service account of a pod.
func accountOf(p *corev1.Pod) string {
	if p.Spec.ServiceAccountName == "" {
		return "default"
	}
	return p.Spec.ServiceAccountName
}

// tokenReview tells who holds a token.
func (s *Server) tokenReview(w http.ResponseWriter, r *http.Request, _ *call) error {
	v, err := readTyped[authenticationv1.TokenReview](r, func() runtime.Object { return new(authenticationv1.TokenReview) })
	if err != nil {
		return err
	}
	if v.Spec.Token == "" {
		return apierrors.NewBadRequest("spec.token: Required value: a token must be given")
	}
	audiences := v.Spec.Audiences
	if len(audiences) == 0 {
		audiences = []string{auth.Issuer}
	}
	u, good, err := s.holder(r.Context(), strings.TrimSpace(v.Spec.Token), audiences...)
	v.Status = authenticationv1.TokenReviewStatus{}
	if err != nil {
		v.Status.Error = err.Error()
	} else {
		v.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(u), Audiences: good}
	}
	v.TypeMeta = metav1.TypeMeta{APIVersion: authenticationGroup, Kind: "TokenReview"}
	s.sendValue(w, r, http.StatusCreated, v)
	return nil
}

// keySet serves what it takes to check tokens without asking the server; see
// https://openid.net/specs/openid-connect-discovery-1_0.html.
func (s *Server) keySet(w http.ResponseWriter, r *http.Request) {
	b, err := s.o.Credentials.KeySet()
	if err != nil {
		s.fail(w, r, apierrors.NewInternalError(err))
		return
	}
	w.Header().Set("Content-Type", "application/jwk-set+json")
	_, _ = w.Write(b)
}

func (s *Server) openIDConfiguration(w http.ResponseWriter, r *http.Request) {
	s.sendValue(w, r, http.StatusOK, map[string]any{
		"issuer": auth.Issuer, "jwks_uri": auth.Issuer + "/openid/v1/jwks", "response_types_supported": []string{"id_token"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
	})
}
