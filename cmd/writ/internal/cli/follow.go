package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/render"
)

// published lists where the Services of a bundle can be reached from this
// machine.
func published(ctx context.Context, c *client.Client, b *render.Bundle) ([]string, error) {
	var urls []string
	for _, d := range b.Documents {
		if d.Object.Kind() != api.Service.Kind || d.Object.Group() != "" {
			continue
		}
		live, err := c.Get(ctx, d.Object.Key())
		if err != nil {
			return nil, err
		}
		service, err := api.Decode[corev1.Service](live)
		if err != nil {
			return nil, err
		}
		for _, p := range service.Spec.Ports {
			if p.NodePort == 0 {
				continue
			}
			scheme := ""
			if strings.HasPrefix(p.Name, "http") {
				scheme = "http://"
			}
			urls = append(urls, fmt.Sprintf("%s127.0.0.1:%d  (%s)", scheme, p.NodePort, service.Name))
		}
	}
	return urls, nil
}

// follow prints refused access and warnings until ctx ends. A repeated one is
// printed again when its count has doubled: often enough to be seen, seldom
// enough to be read.
func (a *app) follow(ctx context.Context, c *client.Client) {
	shown := map[string]int32{}
	for ctx.Err() == nil {
		events, err := c.Watch(ctx, api.EventKind, 0, api.ListOptions{})
		if err == nil {
			for e := range events {
				a.followOne(ctx, c, e, shown)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond): // the watch broke: take it up again
		}
	}
}

func times(n int32) string {
	if n == 1 {
		return "tried once"
	}
	return fmt.Sprintf("tried %d times", n)
}

func (a *app) followOne(ctx context.Context, c *client.Client, e api.Event, shown map[string]int32) {
	if e.Type != api.Added && e.Type != api.Modified {
		return
	}
	event, err := api.Decode[corev1.Event](e.Object)
	if err != nil || event.Type != corev1.EventTypeWarning {
		return
	}
	where, err := origins(ctx, c)
	if err != nil {
		return
	}
	r, refused := refusalOf(event, where)
	id := event.InvolvedObject.Name + event.Reason + event.Message
	if refused {
		id = r.Namespace + r.Consumer + r.Target
	}
	before, known := shown[id]
	if known && event.Count < 2*before {
		return
	}
	shown[id] = max(event.Count, 1)
	if !refused {
		a.step("warning", "%s/%s: %s: %s", strings.ToLower(event.InvolvedObject.Kind), event.InvolvedObject.Name, event.Reason, event.Message)
		return
	}
	fmt.Fprintf(a.err, "%s %s → %s  not declared, %s\n",
		paint(a.errColor, red, fmt.Sprintf("%-9s", "refused")), r.Consumer, strings.TrimPrefix(r.Target, r.Namespace+"/"), times(r.Attempts))
	if !known {
		fmt.Fprintf(a.err, "          fix: %s\n", r.Fix)
	}
}
