// Package registry is the one door to the store: every verb, for whoever it
// is done, goes through here, in process and over HTTP alike.
//
// A write is worked out against an immutable snapshot: defaults, strict
// decoding, validation, identity and allocation of addresses, then proposed as
// one command in which every object carries the precondition "still as it was
// in that snapshot". When that fails the write is worked out anew; so the
// store decides, nothing is ever locked over consensus, and two registries at
// once are slow but never wrong. Clock, UIDs and names come from Options:
// what is proposed is data only.
//
// The registry answers with the error values of apimachinery. It authorizes
// nothing but what depends on a write's outcome or what no permission may
// allow: handing out more by a role than one holds, writing kinds that only the
// cluster writes, and forging the ownership by which pods get their identity.
package registry

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/store"
)

// User is who asks.
type User struct {
	Name   string
	Groups []string
	// Manager is the program by which, for managedFields; without it, what is
	// written becomes nobody's.
	Manager string
}

// System is the control plane itself: reconcilers and scheduler, in process.
// No credential maps to it.
var System = User{Name: "system:writ"}

func (u User) system() bool { return u.Name == System.Name }

// Options configure a Registry. Store and Proposer are required.
type Options struct {
	Store    *store.Store
	Proposer store.Proposer
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// NewUID makes object UIDs; random ones (RFC 9562 version 4) when nil.
	NewUID func() string
	// NewSuffix makes the 5 letters after a generateName; random when nil.
	NewSuffix func() string
	// MaxEvents bounds the Events kept in one namespace; 1000 when 0. The
	// longest unchanged go first, and all that EventTTL (1 hour when 0) is over.
	MaxEvents int
	EventTTL  time.Duration
	// Logger may be nil.
	Logger *slog.Logger
}

// Registry serves the kinds of api.Kinds. It is safe for concurrent use and
// keeps nothing but the snapshots of lists read in parts and what it compiled
// of the newest roles and definitions.
type Registry struct {
	o       Options
	pages   pages
	roles   roles
	customs customs
}

// New makes a registry.
func New(o Options) (*Registry, error) {
	if o.Store == nil || o.Proposer == nil {
		return nil, errors.New("registry: Store and Proposer are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewUID == nil {
		o.NewUID = newUID
	}
	if o.NewSuffix == nil {
		o.NewSuffix = newSuffix
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = 1000
	}
	if o.EventTTL == 0 {
		o.EventTTL = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Registry{o: o}, nil
}

// As returns the registry as seen by u; it satisfies api.Client.
func (r *Registry) As(u User) *Client { return &Client{r: r, u: u} }

// Revision returns the revision of the newest state.
func (r *Registry) Revision() uint64 { return r.o.Store.View().Revision() }

// Client does verbs for one user.
type Client struct {
	r *Registry
	u User
}

var _ api.Client = (*Client)(nil)

func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newSuffix leaves out vowels, and digits and letters that look alike, as
// Kubernetes does.
func newSuffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}
