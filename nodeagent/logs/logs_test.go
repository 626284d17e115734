package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testStore has a clock that advances one second per line written.
func testStore(t *testing.T, max int64) *Store {
	t.Helper()
	now := time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC)
	s, err := Open(t.TempDir(), Options{MaxBytes: max, Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func create(t *testing.T, s *Store, run int) *Log {
	t.Helper()
	l, err := s.Create("uid/web", run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *Store, o ReadOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Read(t.Context(), "uid/web", o, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	s := testStore(t, 0)
	l := create(t, s, 0)
	out, errs := l.Stdout(), l.Stderr()
	for _, w := range []string{"one\n", "tw", "o\n", "thr"} {
		write(t, out, w)
	}
	write(t, errs, "oops\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 12, 1, 7, 0, 5, 0, time.UTC)
	for _, c := range []struct {
		name string
		o    ReadOptions
		want string
	}{
		{"all, nothing lost at the end", ReadOptions{Tail: -1}, "one\ntwo\noops\nthr\n"},
		{"tail", ReadOptions{Tail: 2}, "oops\nthr\n"},
		{"tail none", ReadOptions{Tail: 0}, ""},
		{"tail more than there is", ReadOptions{Tail: 99}, "one\ntwo\noops\nthr\n"},
		{"since", ReadOptions{Tail: -1, Since: since}, "oops\nthr\n"},
		{"limit", ReadOptions{Tail: -1, Limit: 6}, "one\ntw"},
		{"timestamps", ReadOptions{Tail: 1, Timestamps: true}, "2026-12-01T07:00:06.000000000Z thr\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, read(t, s, c.o)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRunsAndPrevious(t *testing.T) {
	s := testStore(t, 0)
	if err := s.Read(t.Context(), "uid/web", ReadOptions{}, io.Discard); !errors.Is(err, ErrNotFound) {
		t.Errorf("read without log: %v", err)
	}
	for run := range 3 {
		if run == 1 {
			if err := s.Read(t.Context(), "uid/web", ReadOptions{Previous: true}, io.Discard); !errors.Is(err, ErrNotFound) {
				t.Errorf("read without previous log: %v", err)
			}
		}
		l := create(t, s, run)
		write(t, l.Stdout(), fmt.Sprintf("run %d\n", run))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, s, ReadOptions{Tail: -1}); got != "run 2\n" {
		t.Errorf("latest: %q", got)
	}
	if got := read(t, s, ReadOptions{Tail: -1, Previous: true}); got != "run 1\n" {
		t.Errorf("previous: %q", got)
	}
	if got := s.runs("uid/web"); len(got) != 2 {
		t.Errorf("runs kept: %v", got)
	}
}

func TestLongLinesAreCutAndJoined(t *testing.T) {
	s := testStore(t, 0)
	l := create(t, s, 0)
	long := strings.Repeat("x", 3*maxLine+5)
	write(t, l.Stdout(), long+"\nend\n")
	if got := read(t, s, ReadOptions{Tail: -1}); got != long+"\nend\n" {
		t.Errorf("got %d bytes", len(got))
	}
	if got := read(t, s, ReadOptions{Tail: 1}); got != "end\n" {
		t.Errorf("tail: %d bytes", len(got))
	}
}

func TestRotationKeepsTheNewest(t *testing.T) {
	s := testStore(t, 4000)
	l := create(t, s, 0)
	w := l.Stdout()
	const n = 1000
	for i := range n {
		write(t, w, fmt.Sprintf("line %d\n", i))
	}
	lines := strings.Split(strings.TrimSpace(read(t, s, ReadOptions{Tail: -1})), "\n")
	if len(lines) < 50 || len(lines) > 200 {
		t.Fatalf("kept %d lines", len(lines))
	}
	for i, got := range lines {
		if want := fmt.Sprintf("line %d", n-len(lines)+i); got != want {
			t.Fatalf("line %d: got %q, want %q", i, got, want)
		}
	}
}

// A follower sees every line once, over rotations too, and the end.
func TestFollow(t *testing.T) {
	s := testStore(t, 1<<20)
	l := create(t, s, 0)
	w := l.Stdout()
	write(t, w, "line 0\n")
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.Read(t.Context(), "uid/web", ReadOptions{Tail: -1, Follow: true}, pw)
		pw.Close()
		done <- err
	}()
	first := make([]byte, len("line 0\n"))
	if _, err := io.ReadFull(pr, first); err != nil {
		t.Fatal(err)
	}
	rest := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(pr)
		rest <- string(b)
	}()
	var want strings.Builder
	for i := 1; i < 500; i++ {
		fmt.Fprintf(&want, "line %d\n", i)
		write(t, w, fmt.Sprintf("line %d\n", i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), <-rest); d != "" {
		t.Error(d)
	}
}

func TestFollowEndsWithContext(t *testing.T) {
	s := testStore(t, 0)
	create(t, s, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Read(ctx, "uid/web", ReadOptions{Tail: -1, Follow: true}, io.Discard) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte("2026-12-01T07:00:00.000000001Z stdout F the text\n"))
	f.Add([]byte("2026-12-01T07:00:00.000000001Z stderr P \n"))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, ok := parseLine(raw)
		if ok && len(l.text) > len(raw) {
			t.Errorf("text longer than its line: %q", raw)
		}
	})
}
