package registry_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/registry"
)

// model is what the registry should be: a map of names to values and the
// revision that wrote each.
type model struct {
	values    map[string]string
	revisions map[string]uint64
}

func (m *model) clone() *model {
	c := &model{map[string]string{}, map[string]uint64{}}
	for k, v := range m.values {
		c.values[k], c.revisions[k] = v, m.revisions[k]
	}
	return c
}

// step is one operation of a random transaction.
type step struct {
	action      api.Action
	name, value string
	revision    uint64 // precondition, 0 for none
}

// try applies a step; ok is false when the registry must refuse it. at is the
// snapshot's revision of each name before the transaction.
func (m *model) try(s step, at map[string]uint64) (reason string) {
	_, exists := m.values[s.name]
	if s.action == api.ActionCreate {
		if exists {
			return "AlreadyExists"
		}
		m.values[s.name] = s.value
		return ""
	}
	if !exists {
		return "NotFound"
	}
	if s.revision != 0 && s.revision != at[s.name] {
		return "Conflict"
	}
	if s.action == api.ActionDelete {
		delete(m.values, s.name)
	} else {
		m.values[s.name] = s.value
	}
	return ""
}

// TestModel runs random transactions against the registry and the model.
func TestModel(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, nil)
			c := w.As(user)
			m := &model{map[string]string{}, map[string]uint64{}}
			for range 150 {
				compareStep(t, r, w, c, m)
				if t.Failed() {
					return
				}
			}
		})
	}
}

func compareStep(t *testing.T, r *rand.Rand, w *world, c *registry.Client, m *model) {
	steps := make([]step, 1+r.IntN(4))
	for i := range steps {
		steps[i] = randomStep(r, m)
	}
	next, refused := m.clone(), ""
	for _, s := range steps {
		if reason := next.try(s, m.revisions); reason != "" && refused == "" {
			refused = reason
		}
	}
	tx := api.Transaction{DryRun: r.IntN(8) == 0}
	for _, s := range steps {
		op := api.Operation{Action: s.action, Object: configMap(t, s.name, s.value)}
		if s.revision != 0 {
			op.ResourceVersion = strconv.FormatUint(s.revision, 10)
		}
		tx.Operations = append(tx.Operations, op)
	}
	before := w.Revision()
	res, err := c.Transact(t.Context(), tx)
	if (err != nil) != (refused != "") || err != nil && string(apierrors.ReasonForError(err)) != refused {
		t.Fatalf("%+v\ngot %v, want %q", steps, err, refused)
	}
	if err != nil || tx.DryRun {
		if w.Revision() != before {
			t.Fatalf("%+v: wrote nothing, but the revision went from %d to %d", steps, before, w.Revision())
		}
		check(t, c, m)
		return
	}
	for name, v := range next.values {
		if old, had := m.values[name]; !had || old != v || recreated(steps, name) {
			next.revisions[name] = res.Revision
		}
	}
	for name := range next.revisions {
		if _, ok := next.values[name]; !ok {
			delete(next.revisions, name)
		}
	}
	*m = *next
	check(t, c, m)
}

func recreated(steps []step, name string) bool {
	for _, s := range steps {
		if s.name == name && s.action == api.ActionDelete {
			return true
		}
	}
	return false
}

func randomStep(r *rand.Rand, m *model) step {
	s := step{
		action: []api.Action{api.ActionCreate, api.ActionUpdate, api.ActionDelete}[r.IntN(3)],
		name:   fmt.Sprintf("n%d", r.IntN(6)),
		value:  strconv.Itoa(r.IntN(3)),
	}
	if s.action != api.ActionCreate && r.IntN(2) == 0 {
		s.revision = m.revisions[s.name]
		if r.IntN(3) == 0 {
			s.revision++
		}
	}
	return s
}

// check compares everything that can be read.
func check(t *testing.T, c *registry.Client, m *model) {
	t.Helper()
	l, err := c.List(t.Context(), api.ConfigMap, api.ListOptions{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	values, revisions := map[string]string{}, map[string]uint64{}
	uids := map[string]bool{}
	for _, o := range l.Items {
		values[o.Name()] = value(o)
		revisions[o.Name()], _ = strconv.ParseUint(o.Meta().ResourceVersion, 10, 64)
		uids[o.Meta().UID] = true
	}
	if diff := cmp.Diff(m.values, values); diff != "" {
		t.Fatalf("values: %s", diff)
	}
	if diff := cmp.Diff(m.revisions, revisions); diff != "" {
		t.Fatalf("revisions: %s", diff)
	}
	if len(uids) != len(l.Items) {
		t.Fatal("two objects have one UID")
	}
}

func value(o object.Object) string {
	data, _ := o.Tree()["data"].(map[string]any)
	v, _ := data["v"].(string)
	return v
}
