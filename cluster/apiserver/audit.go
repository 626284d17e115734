package apiserver

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/audit"
	"github.com/writ-dev/writ/cluster/auth"
	"github.com/writ-dev/writ/cluster/object"
)

// What an audit event holds at most, in bytes and operations.
const (
	maxAuditURI        = 4096
	maxAuditAgent      = 256
	maxAuditOperations = 50
)

// auditHeader names a request's events to its client.
const auditHeader = "Audit-Id"

// record writes the audit events of one request. It stands between the
// handlers and the answer to see its code. The methods of nil do nothing.
type record struct {
	http.ResponseWriter
	log   *audit.Log
	event audit.Event
	long  bool
	code  int
}

// begin starts the record of a request, which is nil when there is no log.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) *record {
	if s.o.Audit == nil {
		return nil
	}
	a := &record{ResponseWriter: w, log: s.o.Audit}
	a.event = audit.Event{
		AuditID: newAuditID(), RequestURI: shorten(r.URL.RequestURI(), maxAuditURI), UserAgent: shorten(r.UserAgent(), maxAuditAgent),
		Verb: strings.ToLower(r.Method), Received: audit.Time{Time: time.Now()}, Annotations: map[string]string{},
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		a.event.SourceIPs = []string{host}
	}
	w.Header().Set(auditHeader, a.event.AuditID)
	return a
}

func newAuditID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "...TRUNCATED"
}

func auditUser(u auth.User) audit.User {
	return audit.User{Username: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}

// by says who asks: as is not u when u acts in another's name.
func (a *record) by(u auth.User) {
	if a != nil {
		a.event.User = auditUser(u)
	}
}

func (a *record) as(u auth.User) {
	if a != nil && u.Name != a.event.User.Username {
		who := auditUser(u)
		a.event.ImpersonatedUser = &who
	}
}

func (a *record) about(i *requestInfo) {
	if a == nil {
		return
	}
	a.event.Verb, a.long = i.verb, i.long()
	if i.path == "" {
		a.event.ObjectRef = &audit.ObjectRef{Resource: i.resource, Namespace: i.namespace, Name: i.name, APIGroup: i.group, APIVersion: i.version, Subresource: i.sub}
	}
}

// decided notes what authorization said. A request may be decided in parts;
// a refusal stays.
func (a *record) decided(d auth.Decision) {
	if a == nil || a.event.Annotations[audit.Decision] == "forbid" {
		return
	}
	a.event.Annotations[audit.Decision] = "allow"
	if !d.Allowed {
		a.event.Annotations[audit.Decision] = "forbid"
	}
	a.event.Annotations[audit.Reason] = d.Reason
}

// object names the object that came of a request, which its URL may not do.
func (a *record) object(o object.Object) {
	if a == nil || a.event.ObjectRef == nil {
		return
	}
	ref, m := a.event.ObjectRef, o.Meta()
	ref.Name, ref.UID, ref.ResourceVersion = o.Name(), m.UID, m.ResourceVersion
}

// operations says what a transaction is made of.
func (a *record) operations(ops []api.Operation) {
	if a == nil {
		return
	}
	var b strings.Builder
	for i, o := range ops {
		if i == maxAuditOperations {
			fmt.Fprintf(&b, "; and %d more", len(ops)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %s", o.Action, o.Object.Key())
	}
	a.event.Annotations["writ.dev/operations"] = b.String()
}

// annotate notes something else for those who read the log.
func (a *record) annotate(key, value string) {
	if a != nil {
		a.event.Annotations[key] = value
	}
}

// failed notes why a request failed.
func (a *record) failed(st metav1.Status) {
	if a == nil {
		return
	}
	s := &audit.Status{Status: st.Status, Reason: string(st.Reason), Code: int(st.Code)}
	if a.event.Annotations[audit.Decision] == "forbid" {
		s.Message = st.Message
	}
	a.event.ResponseStatus = s
}

// Unwrap lets http.ResponseController through.
func (a *record) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader satisfies http.ResponseWriter.
func (a *record) WriteHeader(code int) {
	if a.code == 0 && code >= 200 || code == http.StatusSwitchingProtocols {
		a.code = code
		if a.long {
			a.put(audit.ResponseStarted)
		}
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write satisfies http.ResponseWriter.
func (a *record) Write(b []byte) (int, error) {
	if a.code == 0 {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(b)
}

// end writes the last event.
func (a *record) end(panicked bool) {
	if a == nil {
		return
	}
	if panicked {
		a.put(audit.Panic)
		return
	}
	a.put(audit.ResponseComplete)
}

func (a *record) put(stage string) {
	e := a.event
	e.Stage, e.StageTime = stage, audit.Time{Time: time.Now()}
	if e.ResponseStatus == nil {
		e.ResponseStatus = &audit.Status{Code: a.code}
	}
	e.Annotations[audit.Latency] = e.StageTime.Sub(e.Received.Time).String()
	a.log.Put(&e)
}
