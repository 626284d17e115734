package server

import (
	"net"
	"os"
	"strconv"
)

// reach is how a listener can be reached.
type reach struct {
	// local and nodes are URLs: for people on this machine, and for other
	// machines where there is a difference.
	local, nodes string
	// hosts are all the names and addresses that the certificate must hold.
	hosts []string
}

func reachable(a net.Addr) reach {
	addr, ok := a.(*net.TCPAddr)
	if !ok {
		return reach{local: "https://" + a.String(), nodes: "https://" + a.String()}
	}
	url := func(ip net.IP) string {
		return "https://" + net.JoinHostPort(ip.String(), strconv.Itoa(addr.Port))
	}
	if !addr.IP.IsUnspecified() {
		return reach{local: url(addr.IP), nodes: url(addr.IP), hosts: []string{addr.IP.String()}}
	}
	r := reach{local: url(net.IPv4(127, 0, 0, 1))}
	if name, err := os.Hostname(); err == nil {
		r.hosts = append(r.hosts, name)
	}
	all, _ := net.InterfaceAddrs() // without them only this machine can connect
	for _, i := range all {
		n, ok := i.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		r.hosts = append(r.hosts, n.IP.String())
		if r.nodes == "" {
			r.nodes = url(n.IP)
		}
	}
	if r.nodes == "" {
		r.nodes = r.local
	}
	return r
}
