package dns

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

const (
	// ttl is short: what a name stands for may be revoked. In seconds.
	ttl = 5
	// undeclared is the text that goes with a refusal.
	undeclared = "undeclared dependency"
)

// serve answers one query.
func (s *Server) serve(w dns.ResponseWriter, q *dns.Msg) {
	r := s.answer(source(w.RemoteAddr()), q)
	if w.LocalAddr().Network() == "udp" {
		size := dns.MinMsgSize
		if o := q.IsEdns0(); o != nil {
			size = max(size, int(o.UDPSize()))
		}
		r.Truncate(size)
	}
	// The pod went away or sent nonsense; there is nobody to tell.
	_ = w.WriteMsg(r)
}

// answer is the pure part: who asks, what, and from which view.
func (s *Server) answer(from netip.Addr, q *dns.Msg) *dns.Msg {
	r := new(dns.Msg)
	if q.Opcode != dns.OpcodeQuery || len(q.Question) != 1 {
		return r.SetRcode(q, dns.RcodeNotImplemented)
	}
	r.SetReply(q)
	r.Authoritative, r.RecursionAvailable = true, true
	if o := q.IsEdns0(); o != nil {
		r.SetEdns0(dns.DefaultMsgSize, false)
	}
	question := q.Question[0]
	z := (*s.views.Load())[from]
	if z == nil || question.Qclass != dns.ClassINET {
		return refuse(r)
	}
	name := strings.ToLower(strings.TrimSuffix(question.Name, "."))
	if question.Qtype == dns.TypeSRV {
		service, port := z.findPort(name)
		if service == nil {
			return s.refuseName(r, from, name, z)
		}
		if port != nil {
			answerSRV(r, question.Name, service, port)
		}
		return r
	}
	service := z.find(name)
	if service == nil {
		if question.Qtype == dns.TypeA {
			return s.refuseName(r, from, name, z)
		}
		return refuse(r)
	}
	if question.Qtype == dns.TypeA || question.Qtype == dns.TypeANY {
		r.Answer = addressRecords(question.Name, service)
	}
	return r
}

func (s *Server) refuseName(r *dns.Msg, from netip.Addr, name string, z *zone) *dns.Msg {
	s.count(from, asked(name, z.namespace))
	return refuse(r)
}

// refuse is the one answer for everything a pod did not declare.
func refuse(r *dns.Msg) *dns.Msg {
	r.Rcode, r.Authoritative = dns.RcodeRefused, false
	if o := r.IsEdns0(); o != nil {
		o.Option = append(o.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeProhibited, ExtraText: undeclared})
	}
	return r
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

func addressRecords(name string, s *Service) []dns.RR {
	var list []dns.RR
	for _, a := range s.addresses() {
		list = append(list, &dns.A{Hdr: header(name, dns.TypeA), A: a.AsSlice()})
	}
	return list
}

func answerSRV(r *dns.Msg, name string, s *Service, p *Port) {
	target := s.fqdn()
	ports := []uint16{p.Port}
	if !s.IP.IsValid() {
		// Behind a headless name are the endpoints' own ports.
		ports = nil
		seen := map[uint16]bool{}
		for _, e := range p.Endpoints {
			if !seen[e.Port()] {
				seen[e.Port()] = true
				ports = append(ports, e.Port())
			}
		}
	}
	for _, port := range ports {
		r.Answer = append(r.Answer, &dns.SRV{Hdr: header(name, dns.TypeSRV), Weight: 1, Port: port, Target: target})
	}
	r.Extra = append(addressRecords(target, s), r.Extra...)
}
