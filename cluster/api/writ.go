package api

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Group and Version of Writ's own kinds.
const (
	Group   = "writ.dev"
	Version = "v1alpha1"
)

// The names under which Writ's own programs write, in managedFields.
const (
	// ManagerSystem are the controllers and the rest of the control plane.
	ManagerSystem = "writ-controllers"
	// ManagerApply is the command line, as it applies releases.
	ManagerApply = "writ"
)

// Annotations, labels and conditions that Writ itself writes.
const (
	// AnnotationPrune with the value "keep" on an object says that it stays,
	// as nobody's, when its release lets go of it.
	AnnotationPrune = "writ.dev/prune"
	// ConditionGranted on a Pod says that every grant naming the pod was
	// committed no later than this condition. A node agent starts no container
	// before it.
	ConditionGranted = "writ.dev/Granted"
	// AnnotationFrom and AnnotationTo are on Events of ReasonUndeclared: the
	// consumer workload "Deployment/web" and the target "namespace/service:port".
	AnnotationFrom = "writ.dev/from"
	AnnotationTo   = "writ.dev/to"
	// ReasonUndeclared is the reason of the Event that records refused access.
	ReasonUndeclared = "UndeclaredAccess"
)

// Dependency is a consumer's declaration that it uses one service. What is
// not declared cannot be resolved or connected to.
type Dependency struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DependencySpec   `json:"spec"`
	Status            DependencyStatus `json:"status,omitempty,omitzero"`
}

// DependencySpec names who uses what.
type DependencySpec struct {
	// Consumer is a workload in the same namespace.
	Consumer WorkloadReference `json:"consumer"`
	Target   DependencyTarget  `json:"target"`
	// Start says what a pod of the consumer waits for before its containers
	// start: "none" (default): the rules; "ready": at least one ready endpoint
	// of the target.
	Start string `json:"start,omitempty"`
	// Mode is "enforce", the only mode so far and the default.
	Mode string `json:"mode,omitempty"`
}

// WorkloadReference names a workload: a Deployment, ReplicaSet, CronJob, Job or Pod.
type WorkloadReference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// DependencyTarget has exactly one field set.
type DependencyTarget struct {
	Service *ServiceTarget `json:"service,omitempty"`
}

// ServiceTarget is a Service of the same cluster; it need not exist yet.
type ServiceTarget struct {
	// Namespace defaults to the dependency's.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Ports are names or numbers of the Service's ports; empty means all.
	Ports []PortName `json:"ports,omitempty"`
}

// PortName is a Service port's name, or its number as decimal text. In JSON a
// number or a string is accepted.
type PortName string

// UnmarshalJSON accepts 6379 and "6379" alike.
func (p *PortName) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*p = PortName(s)
		return nil
	}
	var n uint16
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*p = PortName(b)
	return nil
}

// DependencyStatus is written by the cluster.
type DependencyStatus struct {
	// Phase is Pending, Ready or Degraded.
	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Grant is what nodes enforce for one Dependency (or for a workload's implicit
// use of itself): packets from any of From to any of To, on To's port. It is
// cluster-scoped and written by the cluster only.
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GrantSpec `json:"spec"`
}

// GrantSpec is resolved from the live pods and endpoints.
type GrantSpec struct {
	// Dependency is "namespace/name" and DependencyUID its UID.
	Dependency    string `json:"dependency"`
	DependencyUID string `json:"dependencyUID"`
	// Consumer is "Deployment/web", in ConsumerNamespace.
	ConsumerNamespace string `json:"consumerNamespace"`
	Consumer          string `json:"consumer"`
	// Service is the target; ClusterIP is empty or "None" when it has none, or
	// the Service does not exist yet.
	ServiceNamespace string        `json:"serviceNamespace"`
	ServiceName      string        `json:"serviceName"`
	ClusterIP        string        `json:"clusterIP,omitempty"`
	Ports            []GrantPort   `json:"ports,omitempty"`
	From             []GrantSource `json:"from,omitempty"`
}

// GrantPort is one Service port with the endpoints behind it.
type GrantPort struct {
	Name     string `json:"name,omitempty"`
	Protocol string `json:"protocol"`
	// Port is the Service's port; 0 on a headless grant's endpoints is never used.
	Port int32 `json:"port"`
	// Endpoints are the ready pods' addresses and target ports.
	Endpoints []GrantEndpoint `json:"endpoints,omitempty"`
	// NotReady are the other live pods of the Service: starting, failing their
	// probe, or terminating. Access is granted, so that what is in flight can
	// finish, but nothing new is sent there: not balanced to, not in DNS.
	NotReady []GrantEndpoint `json:"notReady,omitempty"`
}

// GrantEndpoint is one backend.
type GrantEndpoint struct {
	IP     string `json:"ip"`
	Port   int32  `json:"port"`
	PodUID string `json:"podUID,omitempty"`
}

// GrantSource is a pod of the consumer.
type GrantSource struct {
	IP     string `json:"ip"`
	PodUID string `json:"podUID"`
}

// Release records the present application of a bundle: what, by whom, when, and
// the inventory that the next plan prunes by. Each application, this one too,
// has a ReleaseRevision besides.
type Release struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ReleaseSpec `json:"spec"`
}

// ReleaseSpec is written by the applier in the transaction it describes.
type ReleaseSpec struct {
	Application `json:",inline"`
	// Inventory names every object that the release owns.
	Inventory []InventoryItem `json:"inventory,omitempty"`
	// Transaction is made up by the applier for each attempt to apply, so that
	// one that lost its connection can find out whether it was heard.
	Transaction string `json:"transaction,omitempty"`
}

// Application is what is remembered of an application of a bundle.
type Application struct {
	// Revision counts applications, from 1.
	Revision  int64       `json:"revision"`
	Digest    string      `json:"digest"`
	AppliedAt metav1.Time `json:"appliedAt"`
	AppliedBy string      `json:"appliedBy,omitempty"`
	// Source says of which sources the documents are, such as a Git commit.
	Source string            `json:"source,omitempty"`
	Inputs map[string]string `json:"inputs,omitempty"`
	// Documents is the gzipped JSON array of the documents as rendered, without
	// the values of Secrets: what the next application compares with to know
	// which fields it owns, and what a rollback applies.
	Documents []byte `json:"documents,omitempty"`
	// Rollback is the revision whose documents these are, when they were
	// brought back.
	Rollback int64 `json:"rollback,omitempty"`
	// Summary is what the plan came to.
	Summary PlanSummary `json:"summary,omitzero"`
}

// PlanSummary counts what an application did.
type PlanSummary struct {
	Created  int `json:"created,omitempty"`
	Changed  int `json:"changed,omitempty"`
	Replaced int `json:"replaced,omitempty"`
	Deleted  int `json:"deleted,omitempty"`
	Orphaned int `json:"orphaned,omitempty"`
	// Opened and Closed are connections that were allowed and cut.
	Opened int `json:"opened,omitempty"`
	Closed int `json:"closed,omitempty"`
}

// ReleaseRevision is one application of a release, named "release.revision".
// The applier writes it in the transaction it describes, and removes those
// that are older than it keeps.
type ReleaseRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ReleaseRevisionSpec `json:"spec"`
}

// ReleaseRevisionSpec never changes.
type ReleaseRevisionSpec struct {
	Release     string `json:"release"`
	Application `json:",inline"`
}

// InventoryItem is one object of a release. The server fills in the UID of what
// it creates in the same transaction; Origin is the source position "app.cue:12:3".
type InventoryItem struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	Origin    string `json:"origin,omitempty"`
}

// DeepCopyObject copies through JSON: these kinds are small and rare.
func (d *Dependency) DeepCopyObject() runtime.Object { return copyJSON(d) }

// DeepCopyObject copies through JSON.
func (g *Grant) DeepCopyObject() runtime.Object { return copyJSON(g) }

// DeepCopyObject copies through JSON.
func (r *ReleaseRevision) DeepCopyObject() runtime.Object { return copyJSON(r) }

// DeepCopyObject copies through JSON.
func (r *Release) DeepCopyObject() runtime.Object { return copyJSON(r) }

// DeepCopy returns an independent copy.
func (d *Dependency) DeepCopy() *Dependency { return copyJSON(d) }

// DeepCopy returns an independent copy.
func (g *Grant) DeepCopy() *Grant { return copyJSON(g) }

// DeepCopy returns an independent copy.
func (r *Release) DeepCopy() *Release { return copyJSON(r) }

func copyJSON[T any](v *T) *T {
	b, err := json.Marshal(v)
	if err != nil {
		panic("api: " + err.Error())
	}
	c := new(T)
	if err := json.Unmarshal(b, c); err != nil {
		panic("api: " + err.Error())
	}
	return c
}

func unmarshal(b []byte, v any) error { return json.Unmarshal(b, v) }
