package apiserver_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/consensus"
	"github.com/writ-dev/writ/cluster/store"
)

// BenchmarkCreate is durable creations of 1 KiB ConfigMaps per second through
// HTTPS, by 1 client and by 64 at once.
func BenchmarkCreate(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := store.New(store.Options{})
			n, err := consensus.Open(b.Context(), consensus.Options{Dir: b.TempDir(), Store: s})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := n.Close(); err != nil {
					b.Error(err)
				}
			})
			h := startOn(b, s, n)
			pool := make([]*client.Client, clients)
			for i := range pool {
				pool[i] = h.admin(b)
			}
			payload := strings.Repeat("x", 1024)
			var next atomic.Int64
			b.ResetTimer()
			work := func(c *client.Client) error {
				o := must(b, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default"},"data":{"v":%q}}`, next.Add(1), payload))
				_, err := c.Create(b.Context(), o)
				return err
			}
			run(b, pool, work)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
		})
	}
}

// run shares b.N pieces of work among the clients.
func run(b *testing.B, pool []*client.Client, work func(*client.Client) error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan error, len(pool))
	for _, c := range pool {
		go func() {
			for left.Add(-1) >= 0 {
				if err := work(c); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range pool {
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}
