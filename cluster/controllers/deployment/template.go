package deployment

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/writ-dev/writ/cluster/object"
)

// Annotations that kubectl's rollout commands read.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
)

// sortSets finds the ReplicaSet of the present template, nil if there is none,
// and the others from the oldest on. The template decides, not its hash, so a
// hash may change from version to version. Of several equal ones the oldest is
// the present one.
func sortSets(d *appsv1.Deployment, sets []set) (present *set, old []set) {
	sorted := slices.Clone(sets)
	slices.SortFunc(sorted, func(a, b set) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(revision(a.ReplicaSet), revision(b.ReplicaSet)), strings.Compare(a.Name, b.Name))
	})
	for i := range sorted {
		if present == nil && sameTemplate(&sorted[i].Spec.Template, &d.Spec.Template) {
			present = &sorted[i]
			continue
		}
		old = append(old, sorted[i])
	}
	return present, old
}

// sameTemplate compares two pod templates but for the label that tells them apart.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// templateHash names a pod template. It is the same wherever it is computed:
// of the template's canonical JSON and the collision count.
func templateHash(t *corev1.PodTemplateSpec, collisions *int32) (string, error) {
	b, err := object.Marshal(t)
	if err != nil {
		return "", err
	}
	v, err := object.Unmarshal(b)
	if err != nil {
		return "", err
	}
	if b, err = object.Marshal(v); err != nil {
		return "", err
	}
	h := fnv.New32a()
	_, _ = h.Write(b)
	if collisions != nil {
		fmt.Fprintf(h, "/%d", *collisions)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}

// revision reads a ReplicaSet's revision; 0 when it has none.
func revision(rs *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func lastRevision(sets []set) int64 {
	var n int64
	for _, s := range sets {
		n = max(n, revision(s.ReplicaSet))
	}
	return n
}

// inherited are the Deployment's annotations that its ReplicaSets get as well.
func inherited(d *appsv1.Deployment) map[string]string {
	out := map[string]string{}
	for k, v := range d.Annotations {
		switch k {
		case corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation,
			appsv1.DeprecatedRollbackTo:
		default:
			out[k] = v
		}
	}
	return out
}

// annotate brings a ReplicaSet's annotations up to date and reports whether
// that changed any. rev, if not 0, is its new revision.
func annotate(rs *appsv1.ReplicaSet, d *appsv1.Deployment, rev int64) bool {
	was := maps.Clone(rs.Annotations)
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	if rev != 0 {
		maps.Copy(rs.Annotations, inherited(d))
		if old := rs.Annotations[revisionAnnotation]; old != "" && old != strconv.FormatInt(rev, 10) {
			history := rs.Annotations[historyAnnotation]
			if history != "" {
				old = history + "," + old
			}
			const keep = 2000 // bytes, as Kubernetes keeps
			for len(old) > keep {
				_, old, _ = strings.Cut(old, ",")
			}
			rs.Annotations[historyAnnotation] = old
		}
		rs.Annotations[revisionAnnotation] = strconv.FormatInt(rev, 10)
	}
	surge, _ := bounds(d)
	rs.Annotations[desiredAnnotation] = strconv.Itoa(desired(d))
	rs.Annotations[maxAnnotation] = strconv.Itoa(desired(d) + surge)
	return !maps.Equal(was, rs.Annotations)
}
