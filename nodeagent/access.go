package nodeagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/nodeagent/network"
)

// accessReport serves what the packet rules counted, told by workload and
// service instead of by address.
func (a *agent) accessReport(w http.ResponseWriter, _ *http.Request) {
	counts, err := a.fabric.Counters()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	report := api.AccessReport{Node: a.o.Name, Access: []api.AccessCount{}}
	for _, g := range a.grants.all() {
		report.Access = append(report.Access, countGrant(&g.Spec, a.pods.tenants(), counts)...)
	}
	slices.SortFunc(report.Access, func(x, y api.AccessCount) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Consumer, y.Consumer), cmp.Compare(x.Target, y.Target))
	})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report) // the reader is gone
}

// countGrant adds up a grant's edges, one count for each port of its Service.
func countGrant(g *api.GrantSpec, pods tenants, counts map[network.Edge]network.Count) []api.AccessCount {
	out := make([]api.AccessCount, 0, len(g.Ports))
	for _, p := range g.Ports {
		c := api.AccessCount{
			Namespace: g.ConsumerNamespace, Consumer: g.Consumer, Declared: g.Dependency != "",
			Target: fmt.Sprintf("%s/%s:%d", g.ServiceNamespace, g.ServiceName, p.Port),
		}
		// The rules of this one port are its edges.
		one := *g
		one.Ports = []api.GrantPort{p}
		state, _ := rulesOf([]*api.Grant{{Spec: one}}, pods)
		for _, e := range state.Edges {
			c.Packets += counts[e].Packets
			c.Bytes += counts[e].Bytes
		}
		out = append(out, c)
	}
	return out
}
