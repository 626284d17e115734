//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/writ-dev/writ/nodeagent/runtime"
)

// BenchmarkStartContainer measures from the call to the command running; the
// container's end and removal are not in the figure. It aims at 25 ms.
func BenchmarkStartContainer(b *testing.B) {
	r := openRuntime(b)
	defer r.Close()
	ctx := context.Background()
	if _, err := r.CreateSandbox(ctx, runtime.SandboxConfig{ID: "p", Hostname: "p"}); err != nil {
		b.Fatal(err)
	}
	if _, err := r.Image(ctx, probe64); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		id := fmt.Sprint("c", len(took))
		begin := time.Now()
		if err := r.StartContainer(ctx, runtime.ContainerConfig{ID: id, SandboxID: "p", Image: probe64, Args: []string{"sleep:1m"}}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
		b.StopTimer()
		if err := r.RemoveContainer(ctx, id); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "ms-p90")
}

// BenchmarkPod is a pod's whole life: sandbox, one container that ends at
// once, removal.
func BenchmarkPod(b *testing.B) {
	r := openRuntime(b)
	defer r.Close()
	ctx := context.Background()
	if _, err := r.Image(ctx, probe64); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.CreateSandbox(ctx, runtime.SandboxConfig{ID: "p", Hostname: "p"}); err != nil {
			b.Fatal(err)
		}
		if err := r.StartContainer(ctx, runtime.ContainerConfig{ID: "c", SandboxID: "p", Image: probe64}); err != nil {
			b.Fatal(err)
		}
		if _, err := r.Wait(ctx, "c"); err != nil {
			b.Fatal(err)
		}
		if err := r.RemoveSandbox(ctx, "p"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExec is one command in a running container.
func BenchmarkExec(b *testing.B) {
	r := openRuntime(b)
	defer r.Close()
	ctx := context.Background()
	if _, err := r.CreateSandbox(ctx, runtime.SandboxConfig{ID: "p", Hostname: "p"}); err != nil {
		b.Fatal(err)
	}
	if err := r.StartContainer(ctx, runtime.ContainerConfig{ID: "c", SandboxID: "p", Image: probe64, Args: []string{"sleep:10m"}}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if code, err := r.Exec(ctx, "c", runtime.ExecConfig{Argv: []string{"probe"}}); err != nil || code != 0 {
			b.Fatal(code, err)
		}
	}
}
