package consensus_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/store"
	"github.com/writ-dev/writ/cluster/store/proposertest"
)

const childVariable = "WRIT_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		fmt.Println("ended", writeUntilKilled(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(fullVariable); dir != "" {
		if err := fillDisk(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeUntilKilled has clients overwrite eight objects with growing numbers and
// prints "name number revision" after each acknowledgement.
func writeUntilKilled(dir string) error {
	ctx := context.Background()
	s := store.New(store.Options{})
	n, err := consensus.Open(ctx, consensus.Options{Dir: dir, Store: s, SnapshotEntries: 50, SnapshotInterval: 5 * time.Millisecond, SegmentSize: 64 << 10})
	if err != nil {
		return err
	}
	var out sync.Mutex
	failed := make(chan error, 8)
	for c := range 8 {
		go func() {
			name := "client" + strconv.Itoa(c)
			number := 0
			if o, ok := s.View().Get(proposertest.Key(name)); ok {
				number, _ = strconv.Atoi(proposertest.Value(o))
			}
			for {
				number++
				r, err := n.Propose(ctx, put(name, strconv.Itoa(number)))
				if err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Println(name, number, r.Revision)
				out.Unlock()
			}
		}()
	}
	return <-failed
}

// TestKill kills a writing process again and again: what it acknowledged must
// be there, and revisions must never go back.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]int{}
	var newest uint64
	for round := range 10 {
		lines := killRound(t, dir, time.Duration(rand.IntN(250))*time.Millisecond)
		for _, l := range lines {
			if l.number <= acknowledged[l.name] {
				t.Fatalf("round %d: %s wrote %d after %d was acknowledged", round, l.name, l.number, acknowledged[l.name])
			}
			acknowledged[l.name] = l.number
			newest = max(newest, l.revision)
		}
		s := store.New(store.Options{})
		n := mustOpen(t, consensus.Options{Dir: dir, Store: s})
		if s.View().Revision() < newest {
			t.Fatalf("round %d: at revision %d, but %d was acknowledged", round, s.View().Revision(), newest)
		}
		for name, number := range acknowledged {
			o, _ := s.View().Get(proposertest.Key(name))
			if o.IsZero() {
				t.Fatalf("round %d: %s is lost", round, name)
			}
			if got, _ := strconv.Atoi(proposertest.Value(o)); got < number {
				t.Fatalf("round %d: %s is %d, but %d was acknowledged", round, name, got, number)
			}
		}
		mustClose(t, n)
	}
	if newest == 0 {
		t.Fatal("no write was acknowledged in any round")
	}
	t.Logf("%d revisions in 10 rounds", newest)
}

type acknowledgement struct {
	name     string
	number   int
	revision uint64
}

func killRound(t *testing.T, dir string, after time.Duration) (lines []acknowledgement) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { child.Process.Kill() })
	defer timer.Stop()
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		var a acknowledgement
		// The last line may be cut short by the kill; then it is no promise.
		if n, _ := fmt.Sscan(scanner.Text(), &a.name, &a.number, &a.revision); n == 3 {
			lines = append(lines, a)
		} else if a.name == "ended" {
			t.Fatalf("the child ended by itself: %s", scanner.Text())
		}
	}
	if err := child.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return lines
}
