// Package proposertest is the contract of store.Proposer as a test suite: the
// proposer without a log and the one on Raft must be told apart by nothing but
// durability.
package proposertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/cluster/store"
)

// Run runs the suite; open returns a Proposer on a new, empty Store and
// releases both with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) (store.Proposer, *store.Store)) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, store.Proposer, *store.Store)
	}{
		{"Transactions", transactions},
		{"Preconditions", preconditions},
		{"Refusals", refusals},
		{"EndedContext", endedContext},
		{"ReadYourWrite", readYourWrite},
		{"Race", race},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, s := open(t)
			test.run(t, p, s)
		})
	}
}

// Key returns the key of a ConfigMap in the namespace default.
func Key(name string) object.Key {
	return object.Key{Kind: "ConfigMap", Namespace: "default", Name: name}
}

// Document returns that ConfigMap with one datum.
func Document(name, value string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"},"data":{"value":%q}}`, name, value)
}

// Value returns the datum.
func Value(o object.Object) string {
	data, _ := o.Tree()["data"].(map[string]any)
	v, _ := data["value"].(string)
	return v
}

func propose(t *testing.T, p store.Proposer, m ...store.Mutation) store.Result {
	t.Helper()
	r, err := p.Propose(t.Context(), store.Command{Mutations: m})
	if err != nil {
		t.Fatalf("propose: %v", err)
	}
	return r
}

func transactions(t *testing.T, p store.Proposer, s *store.Store) {
	r := propose(t, p,
		store.Mutation{Key: Key("a"), Object: Document("a", "1")},
		store.Mutation{Key: Key("b"), Object: Document("b", "1")})
	for _, name := range []string{"a", "b"} {
		o, ok := s.View().Get(Key(name))
		if !ok {
			t.Fatalf("%s is not there", name)
		}
		if got, want := o.Meta().ResourceVersion, strconv.FormatUint(r.Revision, 10); got != want {
			t.Errorf("%s has resourceVersion %s, want %s", name, got, want)
		}
	}
	r2 := propose(t, p, store.Mutation{Key: Key("a"), Delete: true})
	if r2.Revision <= r.Revision {
		t.Errorf("revision went from %d to %d", r.Revision, r2.Revision)
	}
	if _, ok := s.View().Get(Key("a")); ok {
		t.Error("a is still there")
	}
}

func preconditions(t *testing.T, p store.Proposer, s *store.Store) {
	first := propose(t, p, store.Mutation{Key: Key("there"), Object: Document("there", "1")})
	write := store.Mutation{Key: Key("witness"), Object: Document("witness", "1")}
	for _, test := range []struct {
		name string
		m    store.Mutation
		ok   bool
	}{
		{"absent, and is", store.Mutation{Key: Key("none"), ExpectAbsent: true}, true},
		{"absent, but there", store.Mutation{Key: Key("there"), ExpectAbsent: true}, false},
		{"exists, and does", store.Mutation{Key: Key("there"), ExpectExists: true}, true},
		{"exists, but absent", store.Mutation{Key: Key("none"), ExpectExists: true}, false},
		{"revision, right", store.Mutation{Key: Key("there"), ExpectRevision: first.Revision}, true},
		{"revision, wrong", store.Mutation{Key: Key("there"), ExpectRevision: first.Revision + 1}, false},
		{"revision, absent", store.Mutation{Key: Key("none"), ExpectRevision: first.Revision}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := propose(t, p, write, test.m)
			var want []int
			if !test.ok {
				want = []int{1}
			}
			if d := cmp.Diff(want, r.Failed); d != "" {
				t.Errorf("Failed (-want +got):\n%s", d)
			}
			if s.View().Revision() < r.Revision {
				t.Errorf("store is at %d after transaction %d", s.View().Revision(), r.Revision)
			}
			if _, ok := s.View().Get(write.Key); ok != test.ok {
				t.Errorf("witness written: %v, want %v", ok, test.ok)
			}
			propose(t, p, store.Mutation{Key: write.Key, Delete: true})
		})
	}
}

func refusals(t *testing.T, p store.Proposer, s *store.Store) {
	ok := store.Mutation{Key: Key("a"), Object: Document("a", "1")}
	for name, m := range map[string][]store.Mutation{
		"empty":            nil,
		"twice":            {ok, ok},
		"nothing to do":    {{Key: Key("a")}},
		"both":             {{Key: Key("a"), Object: Document("a", "1"), Delete: true}},
		"two conditions":   {{Key: Key("a"), ExpectAbsent: true, ExpectExists: true}},
		"other name":       {{Key: Key("a"), Object: Document("b", "1")}},
		"not JSON":         {{Key: Key("a"), Object: []byte(`{"apiVersion":"v1",`)}},
		"no metadata":      {{Key: Key("a"), Object: []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)}},
		"zero byte in key": {{Key: object.Key{Kind: "ConfigMap", Name: "a\x00b"}, Delete: true}},
		"too large":        {{Key: Key("a"), Object: make([]byte, store.MaxCommand+1)}},
	} {
		if _, err := p.Propose(t.Context(), store.Command{Mutations: m}); !errors.Is(err, store.ErrInvalidCommand) {
			t.Errorf("%s: error %v, want ErrInvalidCommand", name, err)
		}
	}
	if n := s.View().Len(); n != 0 {
		t.Errorf("%d objects were written", n)
	}
}

func endedContext(t *testing.T, p store.Proposer, _ *store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Propose(ctx, store.Command{Mutations: []store.Mutation{{Key: Key("a"), Object: Document("a", "1")}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func readYourWrite(t *testing.T, p store.Proposer, s *store.Store) {
	for i := range 50 {
		propose(t, p, store.Mutation{Key: Key("a"), Object: Document("a", strconv.Itoa(i))})
		o, _ := s.View().Get(Key("a"))
		if got := Value(o); got != strconv.Itoa(i) {
			t.Fatalf("read %q after writing %d", got, i)
		}
	}
}

// race has clients add one to a counter by compare-and-swap; none may be lost.
func race(t *testing.T, p store.Proposer, s *store.Store) {
	const clients, each = 8, 20
	propose(t, p, store.Mutation{Key: Key("n"), Object: Document("n", "0")})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for done := 0; done < each; {
				o, _ := s.View().Get(Key("n"))
				n, _ := strconv.Atoi(Value(o))
				revision, _ := strconv.ParseUint(o.Meta().ResourceVersion, 10, 64)
				r, err := p.Propose(t.Context(), store.Command{Mutations: []store.Mutation{
					{Key: Key("n"), Object: Document("n", strconv.Itoa(n+1)), ExpectRevision: revision},
				}})
				if err != nil {
					t.Errorf("propose: %v", err)
					return
				}
				if len(r.Failed) == 0 {
					done++
				}
			}
		})
	}
	wg.Wait()
	o, _ := s.View().Get(Key("n"))
	if got := Value(o); got != strconv.Itoa(clients*each) {
		t.Errorf("counted %s, want %d", got, clients*each)
	}
}
