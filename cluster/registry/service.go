package registry

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// serviceAddresses lists the cluster IPs and node ports in a Service's spec.
func serviceAddresses(spec map[string]any) (ips, ports []string) {
	if ip, _ := spec["clusterIP"].(string); ip != "" && ip != "None" {
		ips = append(ips, ip)
	}
	list, _ := spec["ports"].([]any)
	for _, p := range list {
		port, _ := p.(map[string]any)
		if n := number(port["nodePort"]); n != 0 && !slices.Contains(ports, strconv.Itoa(n)) {
			ports = append(ports, strconv.Itoa(n))
		}
	}
	return ips, ports
}

// hasClusterIP says whether Services of this type have a cluster IP, and
// hasNodePorts whether node ports.
func hasClusterIP(spec map[string]any) bool { return spec["type"] != "ExternalName" }
func hasNodePorts(spec map[string]any) bool {
	return spec["type"] == "NodePort" || spec["type"] == "LoadBalancer"
}

// carryService keeps the live addresses where an update leaves them out.
func carryService(spec, was map[string]any) {
	if hasClusterIP(spec) && hasClusterIP(was) && spec["clusterIP"] == nil {
		copyField(spec, was, "clusterIP")
		copyField(spec, was, "clusterIPs")
	}
	if !hasNodePorts(spec) || !hasNodePorts(was) {
		return
	}
	ports, _ := spec["ports"].([]any)
	old, _ := was["ports"].([]any)
	for _, p := range ports {
		port, _ := p.(map[string]any)
		if port == nil || port["nodePort"] != nil {
			continue
		}
		for _, o := range old {
			op, _ := o.(map[string]any)
			if op["port"] == port["port"] && protocol(op) == protocol(port) && op["nodePort"] != nil {
				port["nodePort"] = op["nodePort"]
			}
		}
	}
}

func protocol(port map[string]any) string {
	if p, _ := port["protocol"].(string); p != "" {
		return p
	}
	return "TCP"
}

// allocateService gives a Service its cluster IP and node ports, takes those
// that its author chose, and gives back those that it no longer has.
func (t *tx) allocateService(k api.Kind, next, live object.Object, tree map[string]any) error {
	spec, uid := child(tree, "spec"), next.Meta().UID
	if err := t.serviceIP(k, next.Name(), uid, spec); err != nil {
		return err
	}
	if err := t.servicePorts(k, next.Name(), uid, spec); err != nil {
		return err
	}
	if live.IsZero() {
		return nil
	}
	oldIPs, oldPorts := serviceAddresses(child(live.Tree(), "spec"))
	ips, ports := serviceAddresses(spec)
	for _, ip := range oldIPs {
		if !slices.Contains(ips, ip) {
			t.give(clusterIPPool, ip, uid)
		}
	}
	for _, p := range oldPorts {
		if !slices.Contains(ports, p) {
			t.give(nodePortPool, p, uid)
		}
	}
	return nil
}

func (t *tx) serviceIP(k api.Kind, name, uid string, spec map[string]any) error {
	if !hasClusterIP(spec) {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
		return nil
	}
	ip, _ := spec["clusterIP"].(string)
	switch {
	case ip == "None":
	case ip == "":
		free, err := t.pick(clusterIPPool, uid)
		if err != nil {
			return err
		}
		ip = free
	case !inClusterRange(ip):
		return invalid(k, name, problem(api.CodeInvalid, ".spec.clusterIP", "%s is not in the range of Service addresses, 10.96.0.16 to 10.96.255.254", ip))
	case !t.take(clusterIPPool, ip, uid):
		return invalid(k, name, problem(api.CodeInvalid, ".spec.clusterIP", "%s is already allocated", ip))
	}
	spec["clusterIP"], spec["clusterIPs"] = ip, []any{ip}
	return nil
}

func inClusterRange(ip string) bool {
	a, err := netip.ParseAddr(ip)
	if err != nil || !a.Is4() {
		return false
	}
	b := a.As4()
	n := int(b[2])<<8 + int(b[3])
	return b[0] == 10 && b[1] == 96 && n >= firstClusterIP && n < firstClusterIP+clusterIPs && ip == a.String()
}

func (t *tx) servicePorts(k api.Kind, name, uid string, spec map[string]any) error {
	list, _ := spec["ports"].([]any)
	for i, p := range list {
		port, _ := p.(map[string]any)
		if port == nil {
			continue
		}
		if !hasNodePorts(spec) {
			delete(port, "nodePort")
			continue
		}
		path := ".spec.ports[" + strconv.Itoa(i) + "].nodePort"
		switch n := number(port["nodePort"]); {
		case n == 0:
			free, err := t.pick(nodePortPool, uid+"/"+strconv.Itoa(i))
			if err != nil {
				return err
			}
			t.record(nodePortPool, free, uid)
			port["nodePort"] = json.Number(free)
		case n < firstNodePort || n > lastNodePort:
			return invalid(k, name, problem(api.CodeInvalid, path, "%d is not in the range of node ports, %d to %d", n, firstNodePort, lastNodePort))
		case !t.take(nodePortPool, strconv.Itoa(n), uid):
			return invalid(k, name, problem(api.CodeInvalid, path, "%d is already allocated", n))
		}
	}
	return nil
}
