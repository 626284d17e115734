package store_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/cluster/store"
)

// saved returns a store after some transactions, and its saved bytes.
func saved(t testing.TB) (*store.Store, []byte) {
	t.Helper()
	s, m := store.New(store.Options{}), newModel(rand.New(rand.NewPCG(1, 2)))
	for range 200 {
		m.step(t, s)
	}
	var b bytes.Buffer
	if err := s.View().Save(&b); err != nil {
		t.Fatal(err)
	}
	return s, b.Bytes()
}

func TestSaveRestore(t *testing.T) {
	s, b := saved(t)
	restored := store.New(store.Options{})
	if err := restored.Restore(iotest.OneByteReader(bytes.NewReader(b))); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(documents(s.View()), documents(restored.View())); d != "" {
		t.Errorf("(-saved +restored):\n%s", d)
	}
	if got, want := restored.View().Revision(), s.View().Revision(); got != want {
		t.Errorf("revision %d, want %d", got, want)
	}
	var again bytes.Buffer
	if err := restored.View().Save(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), b) {
		t.Error("equal states have different bytes")
	}
	// Life goes on after the restore, with preconditions on old revisions.
	for o := range restored.View().All() {
		k := o.Key()
		r, err := restored.Apply(s.View().Revision()+1, store.Command{Mutations: []store.Mutation{{Key: k, Delete: true, ExpectRevision: revisionOf(t, o)}}})
		if err != nil || len(r.Failed) > 0 {
			t.Errorf("delete %s after the restore: %v %v", k, r, err)
		}
		break
	}
}

func TestRestoreRefusesDamage(t *testing.T) {
	_, b := saved(t)
	s := store.New(store.Options{})
	before := s.View()
	for n := 0; n < len(b); n += 1 + len(b)/400 {
		if err := s.Restore(bytes.NewReader(b[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(b))
		}
		damaged := bytes.Clone(b)
		damaged[n] ^= 0x20
		if err := s.Restore(bytes.NewReader(damaged)); err == nil {
			t.Fatalf("a change of byte %d of %d was accepted", n, len(b))
		}
	}
	if err := s.Restore(bytes.NewReader(append(bytes.Clone(b), 0))); err == nil {
		t.Error("a byte too many was accepted")
	}
	if s.View() != before {
		t.Error("a failed restore changed the store")
	}
}

func TestRestoreRefusesOtherVersions(t *testing.T) {
	_, b := saved(t)
	const version, firstType = len("WRITSTATE\n") + 3, len("WRITSTATE\n") + 4 + 8
	for _, at := range []int{version, firstType} {
		other := bytes.Clone(b)
		other[at] = 77
		err := store.New(store.Options{}).Restore(bytes.NewReader(other))
		if !errors.Is(err, store.ErrUnknownFormat) || !strings.Contains(err.Error(), "77") {
			t.Errorf("byte %d: error %v, want ErrUnknownFormat naming 77", at, err)
		}
	}
	if err := store.New(store.Options{}).Restore(strings.NewReader(strings.Repeat("something else ", 5))); err == nil {
		t.Error("something else was accepted")
	}
}

func TestSaveReportsWriteErrors(t *testing.T) {
	s, _ := saved(t)
	broken := errors.New("disk is gone")
	if err := s.View().Save(writerFunc(func([]byte) (int, error) { return 0, broken })); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func FuzzRestore(f *testing.F) {
	small := store.New(store.Options{})
	put(f, small, pod("a"))
	put(f, small, grant("b"))
	var b bytes.Buffer
	if err := small.View().Save(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:40])
	f.Add([]byte("WRITSTATE\n\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x01\xff\xff\xff\x03"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := store.New(store.Options{})
		if s.Restore(bytes.NewReader(b)) != nil {
			return
		}
		if err := s.View().Save(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}
