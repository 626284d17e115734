package auth

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// User is who sends a request.
type User struct {
	Name   string
	Groups []string
	// UID and Extra are what else a credential says about its holder.
	UID   string
	Extra map[string][]string
}

// In says whether u is in a group.
func (u User) In(group string) bool { return slices.Contains(u.Groups, group) }

// Node returns the name of the node that u is, or "".
func (u User) Node() string {
	name, ok := strings.CutPrefix(u.Name, NodePrefix)
	if !ok || !u.In(GroupNodes) {
		return ""
	}
	return name
}

// ErrUnauthenticated means that a request carries no credential, or a wrong one.
var ErrUnauthenticated = errors.New("Unauthorized")

// Authenticate tells who sends r, by its client certificate, which TLS has
// verified already, or its bearer token. There are no anonymous users.
func (c *Credentials) Authenticate(r *http.Request) (User, error) {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		s := r.TLS.PeerCertificates[0].Subject
		if s.CommonName == "" {
			return User{}, ErrUnauthenticated
		}
		return authenticated(s.CommonName, s.Organization...), nil
	}
	if token := Bearer(r); token != "" && c.tokenIs(token) {
		return authenticated(BootstrapUser, GroupBootstrap), nil
	}
	return User{}, ErrUnauthenticated
}

// Bearer returns the bearer token of r, or "".
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func authenticated(name string, groups ...string) User {
	return User{Name: name, Groups: append(slices.Clone(groups), GroupAuthenticated)}
}
