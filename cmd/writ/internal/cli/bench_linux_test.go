package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/worker"
	"github.com/writ-dev/writ/nodeagent/image"
	"github.com/writ-dev/writ/nodeagent/runtime/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	if len(os.Args) > 1 && os.Args[1] == worker.Argument {
		os.Exit(evalMain())
	}
	os.Exit(m.Run())
}

// benchCluster starts a cluster and builds the guestbook's store as its image.
func benchCluster(b *testing.B) (*local, string) {
	b.Helper()
	if !sandbox.Privileged() {
		b.Skip("needs root; the same runs as an ordinary user inside `unshare -Ur`")
	}
	dir := b.TempDir()
	images, err := image.Open(filepath.Join(dir, "images"))
	if err != nil {
		b.Fatal(err)
	}
	source, err := filepath.Abs("../../../../examples/guestbook/store")
	if err != nil {
		b.Fatal(err)
	}
	built, err := images.Build(b.Context(), image.BuildOptions{Dir: source, Ref: "bench/store"})
	if err != nil {
		b.Fatal(err)
	}
	run := &runDir{path: filepath.Join(dir, "run")}
	if err := os.Mkdir(run.path, 0o700); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	l, err := startLocal(b.Context(), localOptions{run: run, listen: "127.0.0.1:0", images: images, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.stop(); err != nil {
			b.Error(err)
		}
	})
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "cluster-start-ms")
	return l, built.Ref
}

// BenchmarkPodStart measures from an API call accepted to the pod running, as
// a client sees it: scheduling, address, grants, network, sandbox, process.
func BenchmarkPodStart(b *testing.B) {
	l, ref := benchCluster(b)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	events, err := l.client.Watch(ctx, api.Pod, 0, api.ListOptions{Namespace: "default"})
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		name := fmt.Sprintf("bench-%d", i)
		pod, err := object.FromTree(map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "default"},
			"spec": map[string]any{
				"terminationGracePeriodSeconds": 0,
				"containers":                    []any{map[string]any{"name": "store", "image": ref}},
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.client.Create(ctx, pod); err != nil {
			b.Fatal(err)
		}
		for e := range events {
			if e.Object.IsZero() || e.Object.Name() != name {
				continue
			}
			p, err := api.Decode[corev1.Pod](e.Object)
			if err != nil {
				b.Fatal(err)
			}
			if p.Status.Phase == corev1.PodRunning {
				break
			}
		}
		took = append(took, time.Since(start))
		b.StopTimer()
		if err := l.client.Delete(ctx, api.Pod.Key("default", name), ""); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
