package store_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

// model is the store as one would write it in an afternoon: a map, and a copy
// of it for every revision.
type model struct {
	rand     *rand.Rand
	revision uint64
	now      map[object.Key]uint64 // revision of each object
	at       map[uint64]map[object.Key]uint64
}

func newModel(r *rand.Rand) *model {
	return &model{rand: r, now: map[object.Key]uint64{}, at: map[uint64]map[object.Key]uint64{0: {}}}
}

var kinds = []struct{ group, kind string }{{"", "Pod"}, {"apps", "Deployment"}, {"app", "sDeployment"}, {"", "Node"}}

func (m *model) key() object.Key {
	kind := kinds[m.rand.IntN(len(kinds))]
	k := object.Key{Group: kind.group, Kind: kind.kind, Name: "n" + strconv.Itoa(m.rand.IntN(4))}
	if k.Kind != "Node" {
		k.Namespace = []string{"a", "a-b", "b"}[m.rand.IntN(3)]
	}
	return k
}

func document(k object.Key, note string) []byte {
	version := "v1"
	if k.Group != "" {
		version = k.Group + "/v1"
	}
	namespace := ""
	if k.Namespace != "" {
		namespace = fmt.Sprintf(`,"namespace":%q`, k.Namespace)
	}
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q%s},"note":%q}`, version, k.Kind, k.Name, namespace, note)
}

// command makes a random transaction and says which preconditions fail.
func (m *model) command() (c store.Command, failed []int) {
	keys := map[object.Key]bool{}
	for range 1 + m.rand.IntN(4) {
		k := m.key()
		if keys[k] {
			continue
		}
		keys[k] = true
		mut := store.Mutation{Key: k}
		revision, exists := m.now[k]
		holds := true
		switch m.rand.IntN(8) {
		case 0:
			mut.ExpectAbsent, holds = true, !exists
		case 1:
			mut.ExpectExists, holds = true, exists
		case 2:
			mut.ExpectRevision = max(1, revision-uint64(m.rand.IntN(2)))
			holds = exists && revision == mut.ExpectRevision
		}
		checked := mut.ExpectAbsent || mut.ExpectExists || mut.ExpectRevision != 0
		switch n := m.rand.IntN(5); {
		case n == 0:
			mut.Delete = true
		case n == 1 && checked:
		default:
			mut.Object = document(k, strconv.FormatUint(m.revision, 10))
		}
		if !holds {
			failed = append(failed, len(c.Mutations))
		}
		c.Mutations = append(c.Mutations, mut)
	}
	return c, failed
}

// step applies one random transaction to both and compares.
func (m *model) step(t testing.TB, s *store.Store) {
	t.Helper()
	c, failed := m.command()
	m.revision += 1 + uint64(m.rand.IntN(3)) // a Raft log has entries of its own
	if len(failed) == 0 {
		m.now = maps.Clone(m.now)
		for _, mut := range c.Mutations {
			switch {
			case mut.Delete:
				delete(m.now, mut.Key)
			case mut.Object != nil:
				m.now[mut.Key] = m.revision
			}
		}
	}
	m.at[m.revision] = m.now
	r, err := s.Apply(m.revision, c)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	if d := cmp.Diff(store.Result{Revision: m.revision, Failed: failed}, r); d != "" {
		t.Fatalf("result (-want +got):\n%s", d)
	}
}

func revisionOf(t testing.TB, o object.Object) uint64 {
	t.Helper()
	r, err := strconv.ParseUint(o.Meta().ResourceVersion, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", o.Key(), err)
	}
	return r
}

// contents is what a snapshot holds, in the model's terms.
func contents(t testing.TB, v store.Snapshot) map[object.Key]uint64 {
	t.Helper()
	m := map[object.Key]uint64{}
	for o := range v.All() {
		m[o.Key()] = revisionOf(t, o)
	}
	return m
}

func documents(v store.Snapshot) map[object.Key]string {
	m := map[object.Key]string{}
	for o := range v.All() {
		m[o.Key()] = string(o.JSON())
	}
	return m
}

func TestModel(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newModel(rand.New(rand.NewPCG(seed, 0)))
			s := store.New(store.Options{})
			views := []store.Snapshot{s.View()}
			for range 300 {
				m.step(t, s)
				views = append(views, s.View())
			}
			// Old snapshots have not changed, though all was written since.
			for _, v := range views {
				if d := cmp.Diff(m.at[v.Revision()], contents(t, v)); d != "" {
					t.Fatalf("revision %d (-want +got):\n%s", v.Revision(), d)
				}
			}
			checkLists(t, views[len(views)-1])
			checkReplay(t, m, s)
		})
	}
}

// checkLists compares List and Get with what All has.
func checkLists(t *testing.T, v store.Snapshot) {
	t.Helper()
	for _, k := range kinds {
		for _, namespace := range []string{"", "a", "a-b", "b", "a-"} {
			var want, got []object.Key
			for o := range v.All() {
				if key := o.Key(); key.Group == k.group && key.Kind == k.kind && (namespace == "" || namespace == key.Namespace) {
					want = append(want, key)
				}
			}
			slices.SortFunc(want, func(a, b object.Key) int {
				if a.Namespace != b.Namespace {
					return cmpStrings(a.Namespace, b.Namespace)
				}
				return cmpStrings(a.Name, b.Name)
			})
			for o := range v.List(k.group, k.kind, namespace) {
				got = append(got, o.Key())
				if same, ok := v.Get(o.Key()); !ok || same != o {
					t.Errorf("Get %s does not give the listed object", o.Key())
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("list %s %s %q (-want +got):\n%s", k.group, k.kind, namespace, d)
			}
		}
	}
}

func cmpStrings(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// checkReplay watches from every revision and checks that the events, laid over
// the state there, pass through the model's state at every later revision.
func checkReplay(t *testing.T, m *model, s *store.Store) {
	t.Helper()
	revisions := slices.Sorted(maps.Keys(m.at))
	selectors := make([]store.Selector, len(kinds))
	for i, k := range kinds {
		selectors[i] = store.Selector{Group: k.group, Kind: k.kind}
	}
	for i, from := range revisions {
		if i%17 != 0 && i != len(revisions)-1 || from == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		events, err := s.WatchAll(ctx, selectors, from)
		if err != nil {
			t.Fatal(err)
		}
		state := maps.Clone(m.at[from])
		at := from
		for at < m.revision {
			e, ok := <-events
			if !ok {
				t.Fatalf("watch from %d ended at %d", from, at)
			}
			if e.Revision != at {
				if e.Revision < at {
					t.Fatalf("watch from %d went back from %d to %d", from, at, e.Revision)
				}
				if d := cmp.Diff(m.at[at], state); d != "" {
					t.Fatalf("watch from %d, at %d (-want +got):\n%s", from, at, d)
				}
				at = e.Revision
			}
			overlay(t, state, e)
		}
		// The rest of the last revision.
		for !maps.Equal(state, m.now) {
			e, ok := <-events
			if !ok {
				t.Fatalf("watch from %d ended within %d", from, at)
			}
			overlay(t, state, e)
		}
		cancel()
		if d := cmp.Diff(m.now, state); d != "" {
			t.Fatalf("watch from %d, at the end (-want +got):\n%s", from, d)
		}
	}
}

// overlay applies e to state and checks that it fits.
func overlay(t *testing.T, state map[object.Key]uint64, e store.Event) {
	t.Helper()
	if e.Type == store.Bookmark {
		return
	}
	if got := revisionOf(t, e.Object); got != e.Revision {
		t.Fatalf("%s %s carries resourceVersion %d at %d", e.Type, e.Key, got, e.Revision)
	}
	if e.Object.Key() != e.Key {
		t.Fatalf("event for %s holds %s", e.Key, e.Object.Key())
	}
	revision, exists := state[e.Key]
	if exists == (e.Type == store.Added) {
		t.Fatalf("%s %s, but exists: %v", e.Type, e.Key, exists)
	}
	if exists != !e.Previous.IsZero() || exists && revisionOf(t, e.Previous) != revision {
		t.Fatalf("%s %s does not hold the previous state", e.Type, e.Key)
	}
	if e.Type == store.Deleted {
		delete(state, e.Key)
		return
	}
	state[e.Key] = e.Revision
}
