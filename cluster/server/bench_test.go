package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
)

// BenchmarkCreate creates durable ConfigMaps of 1 KiB over HTTPS, each with
// its own fsync'd log entry unless others share it.
func BenchmarkCreate(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := start(b, b.TempDir())
			// Four connections, as the drivers of other API servers use.
			var conns []*client.Client
			for range min(4, clients) {
				conns = append(conns, s.admin(b))
			}
			padding := strings.Repeat("x", 1000)
			var next atomic.Int64
			took := make([][]time.Duration, clients)
			var wg sync.WaitGroup
			b.ResetTimer()
			for w := range clients {
				c := conns[w%len(conns)]
				wg.Go(func() {
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						o := doc(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default"},"data":{"v":%q}}`, i, padding)
						begin := time.Now()
						if _, err := c.Create(b.Context(), o); err != nil {
							b.Error(err)
							return
						}
						took[w] = append(took[w], time.Since(begin))
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			all := slices.Concat(took...)
			slices.Sort(all)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkStart opens a data directory until the API is ready.
func BenchmarkStart(b *testing.B) {
	for _, objects := range []int{0, 10000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			data := b.TempDir()
			s := start(b, data)
			c := s.admin(b)
			padding := strings.Repeat("x", 1000)
			for i := 0; i < objects; i += 500 {
				var tx api.Transaction
				for j := range 500 {
					tx.Operations = append(tx.Operations, api.Operation{Action: api.ActionCreate,
						Object: doc(b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"default"},"data":{"v":%q}}`, i+j, padding)})
				}
				if _, err := c.Transact(b.Context(), tx); err != nil {
					b.Fatal(err)
				}
			}
			s.stop(b)
			for b.Loop() {
				s := start(b, data)
				b.StopTimer()
				s.stop(b)
				b.StartTimer()
			}
		})
	}
}
