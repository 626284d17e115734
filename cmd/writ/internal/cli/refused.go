package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/cluster/object"
)

// refusal is access that was tried, not declared, and refused.
type refusal struct {
	Namespace string    `json:"namespace"`
	Consumer  string    `json:"consumer"`
	Target    string    `json:"target"`
	Attempts  int32     `json:"attempts"`
	Last      time.Time `json:"last"`
	// Origin is where the consumer is written, when a release knows.
	Origin string `json:"origin,omitempty"`
	Fix    string `json:"fix"`
}

// refusalOf reads an Event; ok is false when it tells of something else.
func refusalOf(e *corev1.Event, origins map[object.Key]string) (refusal, bool) {
	if e.Reason != api.ReasonUndeclared || e.Annotations[api.AnnotationFrom] == "" {
		return refusal{}, false
	}
	r := refusal{
		Namespace: e.Namespace,
		Consumer:  e.Annotations[api.AnnotationFrom],
		Target:    e.Annotations[api.AnnotationTo],
		Attempts:  e.Count,
		Last:      e.LastTimestamp.Time,
	}
	kind, name, _ := strings.Cut(r.Consumer, "/")
	for k, origin := range origins {
		if k.Kind == kind && k.Namespace == r.Namespace && k.Name == name {
			r.Origin = origin
		}
	}
	r.Fix = fixIt(r, kind, name)
	return r, true
}

// fixIt is the text that would declare what was refused: one line of the
// program where the consumer comes from a typed one, else a document.
func fixIt(r refusal, kind, name string) string {
	target := strings.TrimPrefix(r.Target, r.Namespace+"/")
	namespaced, port, ok := cutLast(r.Target, ":")
	namespace, service, inCluster := strings.Cut(namespaced, "/")
	if !ok || !inCluster {
		return fmt.Sprintf("%s is no Service of this cluster, so it cannot be declared; remove the access", r.Target)
	}
	file, _, _ := strings.Cut(r.Origin, ":")
	switch {
	case strings.HasSuffix(file, ".cue"):
		return fmt.Sprintf("add to %s:  dependencies: %s: service: %q", r.Origin, fieldName(service), target)
	case strings.HasSuffix(file, "sonnet"):
		return fmt.Sprintf("add to %s:  dependencies: { %s: { service: '%s' } }", r.Origin, fieldName(service), target)
	}
	where := "apply"
	if r.Origin != "" {
		where = "add beside " + r.Origin
	}
	return fmt.Sprintf("%s:  {apiVersion: %s/%s, kind: Dependency, metadata: {name: %s-%s, namespace: %s}, "+
		"spec: {consumer: {kind: %s, name: %s}, target: {service: {namespace: %s, name: %s, ports: [%q]}}}}",
		where, api.Group, api.Version, name, service, r.Namespace, kind, name, namespace, service, port)
}

// fieldName quotes what is no identifier in CUE and Jsonnet.
func fieldName(s string) string {
	if strings.Contains(s, "-") {
		return `"` + s + `"`
	}
	return s
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// origins collects where the objects of every release are written.
func origins(ctx context.Context, c api.Client) (map[object.Key]string, error) {
	list, err := c.List(ctx, api.ReleaseKind, api.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[object.Key]string{}
	for _, o := range list.Items {
		release, err := api.Decode[api.Release](o)
		if err != nil {
			return nil, err
		}
		for _, i := range release.Spec.Inventory {
			if i.Origin != "" {
				out[object.Key{Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}] = i.Origin
			}
		}
	}
	return out, nil
}

// edge is a consumer, such as "Deployment/web" in a namespace, and the
// target that it uses, "namespace/service:port".
type edge struct{ namespace, consumer, target string }

// granted lists all access that is declared, with the time since when.
func granted(ctx context.Context, c api.Client) (map[edge]time.Time, error) {
	list, err := c.List(ctx, api.GrantKind, api.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[edge]time.Time{}
	for _, o := range list.Items {
		g, err := api.Decode[api.Grant](o)
		if err != nil {
			return nil, err
		}
		for _, p := range g.Spec.Ports {
			target := fmt.Sprintf("%s/%s:%d", g.Spec.ServiceNamespace, g.Spec.ServiceName, p.Port)
			out[edge{g.Spec.ConsumerNamespace, g.Spec.Consumer, target}] = g.CreationTimestamp.Time
		}
	}
	return out, nil
}

// refusals lists what was refused in a namespace, or in all, newest first. What
// has been declared since is left out.
func refusals(ctx context.Context, c api.Client, namespace string) ([]refusal, error) {
	where, err := origins(ctx, c)
	if err != nil {
		return nil, err
	}
	declared, err := granted(ctx, c)
	if err != nil {
		return nil, err
	}
	list, err := c.List(ctx, api.EventKind, api.ListOptions{Namespace: namespace, FieldSelector: "reason=" + api.ReasonUndeclared})
	if err != nil {
		return nil, err
	}
	merged := map[edge]refusal{}
	for _, o := range list.Items {
		e, err := api.Decode[corev1.Event](o)
		if err != nil {
			return nil, err
		}
		r, ok := refusalOf(e, where)
		if !ok {
			continue
		}
		id := edge{r.Namespace, r.Consumer, r.Target}
		if since, ok := declared[id]; ok && !r.Last.After(since) {
			continue
		}
		// One workload's pods each have their own events.
		if m, seen := merged[id]; seen {
			r.Attempts += m.Attempts
			if m.Last.After(r.Last) {
				r.Last = m.Last
			}
		}
		merged[id] = r
	}
	out := []refusal{}
	for _, r := range merged {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b refusal) int {
		if c := b.Last.Compare(a.Last); c != 0 {
			return c
		}
		return strings.Compare(a.Consumer+a.Target, b.Consumer+b.Target)
	})
	return out, nil
}

// getRefused is `writ get refused`.
func (a *app) getRefused(cmd *cobra.Command, c *client.Client, o getOptions) error {
	list, err := refusals(cmd.Context(), c, o.namespace)
	if err != nil {
		return err
	}
	if o.output != "" {
		return a.encode(o.output, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.err, "nothing was refused")
		return nil
	}
	return printRefusals(a.out, list, o.allNamespaces)
}

func printRefusals(w io.Writer, list []refusal, namespaces bool) error {
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	header := "CONSUMER\tTARGET\tATTEMPTS\tLAST\tFIX"
	if namespaces {
		header = "NAMESPACE\t" + header
	}
	fmt.Fprintln(tw, header)
	for _, r := range list {
		if namespaces {
			fmt.Fprintf(tw, "%s\t", r.Namespace)
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\n", r.Consumer, r.Target, r.Attempts, ago(r.Last), r.Fix)
	}
	return tw.Flush()
}

func ago(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return time.Since(t).Round(time.Second).String()
}
