//go:build linux

package nodeagent

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
)

// BenchmarkPodStart measures from a bound pod's creation, with its grant right
// after, to the status Running, image local.
func BenchmarkPodStart(b *testing.B) {
	c := newCluster(b)
	c.run(app("warm", "serve"))
	i := 0
	for b.Loop() {
		i++
		p := c.bind(app(fmt.Sprint("p", i), "serve"))
		c.grant(p)
		events, err := c.system.Watch(b.Context(), api.Pod, 0, api.ListOptions{Namespace: "default"})
		if err != nil {
			b.Fatal(err)
		}
		timeout := time.After(5 * time.Second)
	wait:
		for {
			select {
			case e := <-events:
				if e.Type == api.Bookmark || e.Object.Name() != p.Name {
					continue
				}
				if now, _ := api.Decode[corev1.Pod](e.Object); now.Status.Phase == corev1.PodRunning {
					break wait
				}
			case <-timeout:
				b.Fatal("the pod did not start")
			}
		}
		b.StopTimer()
		if err := c.system.Delete(b.Context(), api.Pod.Key(p.Namespace, p.Name), ""); err != nil {
			b.Fatal(err)
		}
		c.eventually("pod is gone", func() error {
			if _, err := c.system.Get(b.Context(), api.Pod.Key(p.Namespace, p.Name)); err == nil {
				return fmt.Errorf("it is there")
			}
			return nil
		})
		b.StartTimer()
	}
}
