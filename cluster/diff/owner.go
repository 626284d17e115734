package diff

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/writ-dev/writ/cluster/object"
)

// Owner is who set a field last, as metadata.managedFields tells.
type Owner struct {
	// Manager is the program's name, such as "kubectl-edit".
	Manager string    `json:"manager"`
	Time    time.Time `json:"time,omitzero"`
}

// Owners tells by path who set the fields of one object.
type Owners map[string]Owner

// OwnersOf reads an object's managedFields. What cannot be read is nobody's.
func OwnersOf(o object.Object) Owners {
	out := Owners{}
	if o.IsZero() {
		return out
	}
	var head struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(o.JSON(), &head) != nil {
		return out
	}
	for _, e := range head.Metadata.ManagedFields {
		var fields Set
		if e.FieldsV1 == nil || e.Subresource == "status" || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		owner := Owner{Manager: e.Manager}
		if e.Time != nil {
			owner.Time = e.Time.UTC()
		}
		for _, path := range fields.Paths() {
			if old, ok := out[path]; !ok || old.Time.Before(owner.Time) {
				out[path] = owner
			}
		}
	}
	return out
}

// Of returns who set the field at path: this field, the latest of those below
// it, or the list or struct that it is part of.
func (o Owners) Of(path string) (Owner, bool) {
	if owner, ok := o[path]; ok {
		return owner, true
	}
	var latest Owner
	found := false
	for p, owner := range o {
		if below(p, path) && (!found || latest.Time.Before(owner.Time) || latest.Time.Equal(owner.Time) && owner.Manager < latest.Manager) {
			latest, found = owner, true
		}
	}
	if found {
		return latest, true
	}
	for p, owner := range o {
		if below(path, p) {
			return owner, true
		}
	}
	return Owner{}, false
}

// below reports whether path is of a part of what is at parent.
func below(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}
