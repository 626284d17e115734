package consensus_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/store"
)

var padding = strings.Repeat("0123456789abcdef", 120)

// BenchmarkPropose writes objects of 2 KiB, each on disk before it counts.
func BenchmarkPropose(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			n := mustOpen(b, consensus.Options{Dir: b.TempDir()})
			defer mustClose(b, n)
			var turn atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for {
						i := turn.Add(1)
						if i > int64(b.N) {
							return
						}
						if _, err := n.Propose(b.Context(), put(fmt.Sprintf("o%d", i%10000), padding)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// BenchmarkOpen10k opens a directory with 10000 objects of 2 KiB: all in the
// log, or all in a snapshot.
func BenchmarkOpen10k(b *testing.B) {
	for _, test := range []struct {
		name    string
		entries uint64
	}{{"log", 1 << 40}, {"snapshot", 1}} {
		b.Run(test.name, func(b *testing.B) {
			o := consensus.Options{Dir: b.TempDir(), SnapshotEntries: test.entries, SnapshotInterval: 1e9}
			n := mustOpen(b, o)
			var wg sync.WaitGroup
			for c := range 64 {
				wg.Go(func() {
					for i := c; i < 10000; i += 64 {
						if _, err := n.Propose(b.Context(), put(fmt.Sprintf("o%d", i), padding)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			mustClose(b, n)
			if test.entries == 1 { // the next start takes it
				o.SnapshotInterval = 5e6
				n := mustOpen(b, o)
				waitForSnapshot(b, o.Dir, n)
				mustClose(b, n)
				o.SnapshotInterval = 0
			}
			for b.Loop() {
				s := store.New(store.Options{})
				o.Store = s
				n := mustOpen(b, o)
				b.StopTimer()
				if s.View().Len() != 10000 {
					b.Fatal(s.View().Len())
				}
				mustClose(b, n)
				b.StartTimer()
			}
		})
	}
}

// waitForSnapshot waits until there is a complete snapshot newer than 10000.
func waitForSnapshot(b *testing.B, dir string, n *consensus.Node) {
	b.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) && n.Err() == nil {
		kept, err := filepath.Glob(filepath.Join(dir, "snapshots", "*-1????-*[0-9]"))
		if err != nil {
			b.Fatal(err)
		}
		if len(kept) > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.Fatalf("no snapshot: %v", n.Err())
}
