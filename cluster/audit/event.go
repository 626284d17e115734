package audit

import "time"

// The stages of a request at which events are written.
const (
	// ResponseStarted is written for requests that last, such as watches, when
	// they are answered.
	ResponseStarted  = "ResponseStarted"
	ResponseComplete = "ResponseComplete"
	Panic            = "Panic"
)

// The annotations that every decided request has.
const (
	// Decision is "allow" or "forbid".
	Decision = "authorization.k8s.io/decision"
	Reason   = "authorization.k8s.io/reason"
	// Latency is how long the request took.
	Latency = "apiserver.latency.k8s.io/total"
)

// Event says who asked for what, and what came of it: the Event of
// audit.k8s.io/v1 at the level Metadata. It holds no body of a request or an
// answer.
type Event struct {
	Kind             string            `json:"kind"`
	APIVersion       string            `json:"apiVersion"`
	Level            string            `json:"level"`
	AuditID          string            `json:"auditID"`
	Stage            string            `json:"stage"`
	RequestURI       string            `json:"requestURI"`
	Verb             string            `json:"verb"`
	User             User              `json:"user"`
	ImpersonatedUser *User             `json:"impersonatedUser,omitempty"`
	SourceIPs        []string          `json:"sourceIPs,omitempty"`
	UserAgent        string            `json:"userAgent,omitempty"`
	ObjectRef        *ObjectRef        `json:"objectRef,omitempty"`
	ResponseStatus   *Status           `json:"responseStatus,omitempty"`
	Received         Time              `json:"requestReceivedTimestamp"`
	StageTime        Time              `json:"stageTimestamp"`
	Annotations      map[string]string `json:"annotations,omitempty"`
}

// User is who asked.
type User struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// ObjectRef is what a request is about.
type ObjectRef struct {
	Resource        string `json:"resource,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	UID             string `json:"uid,omitempty"`
	APIGroup        string `json:"apiGroup,omitempty"`
	APIVersion      string `json:"apiVersion,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Subresource     string `json:"subresource,omitempty"`
}

// Status is how a request was answered. There is no message but that of an
// authorization: others may quote what was sent.
type Status struct {
	Metadata struct{} `json:"metadata"`
	Status   string   `json:"status,omitempty"`
	Message  string   `json:"message,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Code     int      `json:"code"`
}

// Time is a time in UTC, written to the microsecond as metav1.MicroTime is.
type Time struct{ time.Time }

// MarshalJSON satisfies json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}
