package api

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Annotations by which people talk to what applies a Source.
const (
	// AnnotationApprove holds the approval that the status of a Source asks
	// for. It is for that plan and no other.
	AnnotationApprove = "writ.dev/approve"
	// AnnotationSync asks for a sync now, by having another value than before.
	AnnotationSync = "writ.dev/sync"
)

// The conditions of a Source. Reconciling and Stalled are there only while true,
// as kstatus expects.
const (
	SourceReady       = "Ready"
	SourceFetched     = "Fetched"
	SourceRendered    = "Rendered"
	SourceApplied     = "Applied"
	SourceReconciling = "Reconciling"
	SourceStalled     = "Stalled"
	SourceSuspended   = "Suspended"
)

// Source is a directory of a Git repository that is kept applied, as a release.
type Source struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SourceSpec   `json:"spec"`
	Status            SourceStatus `json:"status,omitempty,omitzero"`
}

// SourceSpec says what is applied, when, and what needs somebody's approval.
type SourceSpec struct {
	// Repo is an https, ssh or, where the server allows that, file URL, without
	// credentials in it.
	Repo string `json:"repo"`
	// Ref is a branch, a tag, a full name such as refs/heads/main, or a commit;
	// empty means the repository's default branch.
	Ref string `json:"ref,omitempty"`
	// Path is the project's directory in the repository, "." when empty.
	Path string `json:"path,omitempty"`
	// Environment is one of the project's, where it has any.
	Environment string `json:"environment,omitempty"`
	// Inputs are given to the programs, as writ apply --input does.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Interval is how often the repository and the cluster are looked at, such
	// as 5m; 1m by default, and not less than 5s.
	Interval string `json:"interval,omitempty"`
	// Suspend leaves everything as it is.
	Suspend bool `json:"suspend,omitempty"`
	// Prune deletes what is no longer in the documents, which is the default.
	// Else it is let go of.
	Prune *bool `json:"prune,omitempty"`
	// Adopt takes over objects that exist already.
	Adopt bool `json:"adopt,omitempty"`
	// Drift says what becomes of objects that somebody changed while the
	// documents stayed the same: "correct" (default), or "report".
	Drift string      `json:"drift,omitempty"`
	Gates SourceGates `json:"gates,omitempty,omitzero"`
	// SecretRef names a Secret in the same namespace with the credentials:
	// username and password for https, with ca.crt for a server of a private
	// authority; ssh-privatekey and known_hosts for ssh.
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
	// Verify asks for a signature on the commit.
	Verify *SourceVerify `json:"verify,omitempty"`
	// Webhook lets a POST to /hooks/NAMESPACE/NAME trigger a sync.
	Webhook *SourceWebhook `json:"webhook,omitempty"`
}

// SourceGates hold a plan back until it is approved.
type SourceGates struct {
	// MaxDeletes is how many objects a plan may delete; where it is not given,
	// not all, and of many not most.
	MaxDeletes *int32 `json:"maxDeletes,omitempty"`
	// OpenAccess is "allow" (default), or "approve": a plan that opens access
	// needs approval.
	OpenAccess string `json:"openAccess,omitempty"`
}

// SourceVerify says whose signature counts. At least one field is set.
type SourceVerify struct {
	// AllowedSigners are lines as of an allowed signers file; see ssh-keygen(1).
	AllowedSigners string `json:"allowedSigners,omitempty"`
	// OpenPGPKeys are armored public keys.
	OpenPGPKeys string `json:"openPGPKeys,omitempty"`
}

// SourceWebhook names the Secret in the same namespace of which the key token
// is what requests are signed with: HMAC-SHA256 in X-Hub-Signature-256.
type SourceWebhook struct {
	SecretRef corev1.LocalObjectReference `json:"secretRef"`
}

// SourceStatus is written by what applies the Source.
type SourceStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	// FetchedRevision is the commit that was read last, AppliedRevision the one
	// that the cluster is as, both as "main@sha1:0123…". Digest is of the
	// documents applied.
	FetchedRevision string `json:"fetchedRevision,omitempty"`
	AppliedRevision string `json:"appliedRevision,omitempty"`
	Digest          string `json:"digest,omitempty"`
	// Signer is who signed the applied commit, where Verify asks.
	Signer string `json:"signer,omitempty"`
	// Release is "namespace/name" of the release that holds the objects.
	Release   string      `json:"release,omitempty"`
	AppliedAt metav1.Time `json:"appliedAt,omitempty,omitzero"`
	// Pending is a plan that waits for approval.
	Pending *SourcePending `json:"pending,omitempty"`
	// Drift is what differs from the documents and is not corrected.
	Drift []string `json:"drift,omitempty"`
	// Failures counts the failed syncs since the last good one.
	Failures int64 `json:"failures,omitempty"`
	// SyncHandled is the value of AnnotationSync that was seen last.
	SyncHandled string `json:"syncHandled,omitempty"`
}

// SourcePending is what is held back, and the value of AnnotationApprove that
// lets it go.
type SourcePending struct {
	Revision string   `json:"revision"`
	Approval string   `json:"approval"`
	Reasons  []string `json:"reasons"`
}

// PrunesRemoved reports whether what is no longer in the documents is deleted.
func (s *SourceSpec) PrunesRemoved() bool { return s.Prune == nil || *s.Prune }

// Every returns the interval, the default where it is none.
func (s *SourceSpec) Every() time.Duration {
	d, err := time.ParseDuration(s.Interval)
	if err != nil || d <= 0 {
		return time.Minute
	}
	return d
}

// DeepCopyObject copies through JSON.
func (s *Source) DeepCopyObject() runtime.Object { return copyJSON(s) }

// DeepCopy returns an independent copy.
func (s *Source) DeepCopy() *Source { return copyJSON(s) }
