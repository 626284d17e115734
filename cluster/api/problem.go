package api

import "strings"

// Problem is one reason why an object cannot be accepted: what is wrong, where
// in the object, and what to do about it. Admission in the cluster and checks
// in the compiler report the same problems.
type Problem struct {
	// Code is stable, for tests and tools: one of the codes below or a
	// dependency rule such as "DEP005".
	Code string `json:"code"`
	// Path is the field, such as ".spec.template.spec.containers[0].image";
	// keys that are not identifiers are quoted: `.metadata.labels["a/b"]`.
	// Empty means the object as a whole.
	Path string `json:"path,omitempty"`
	// Message says what is wrong: lower-case, no period.
	Message string `json:"message"`
	// Hint says what to do, in the imperative; empty when the message says it.
	Hint string `json:"hint,omitempty"`
}

// The codes of problems that are not dependency rules. Where Kubernetes has a
// cause type for it (metav1.CauseType), the code is the same text.
const (
	CodeUnknownField = "UnknownField"
	CodeType         = "FieldValueTypeInvalid"
	CodeRequired     = "FieldValueRequired"
	CodeDuplicate    = "FieldValueDuplicate"
	CodeInvalid      = "FieldValueInvalid"
	CodeNotFound     = "FieldValueNotFound"
	CodeImmutable    = "FieldValueForbidden"
	// CodeUnsupported is for fields and values that Kubernetes has and Writ does
	// not honour.
	CodeUnsupported = "FieldValueNotSupported"
)

// The dependency rules in force.
const (
	// CodeConsumer: the consumer does not exist or is no workload.
	CodeConsumer = "DEP001"
	// CodePort: the target Service has no such port.
	CodePort = "DEP002"
	// CodeCycle: workloads wait for each other to be ready.
	CodeCycle = "DEP004"
	// CodeSelf: a workload waits for itself to be ready.
	CodeSelf = "DEP005"
	// CodeHostAccess: a pod asks for access that enforcement cannot see or stop.
	CodeHostAccess = "DEP010"
	// CodeReserved: a user writes what only the cluster may write.
	CodeReserved = "DEP012"
	// CodeProbeHost: a probe names a host, and so could reach any address.
	CodeProbeHost = "DEP015"
)

// String formats p in one line: path: message (code); hint.
func (p Problem) String() string {
	var b strings.Builder
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if strings.HasPrefix(p.Code, "DEP") {
		b.WriteString(" (" + p.Code + ")")
	}
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}
