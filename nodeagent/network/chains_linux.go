package network

import (
	"encoding/binary"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Registers: 32 bits each, four of them make the longest key.
const (
	reg0 = unix.NFT_REG32_00
	reg1 = reg0 + 1
	reg2 = reg0 + 2
	reg3 = reg0 + 3
)

// Offsets in the IPv4, TCP, UDP and ICMP headers.
const (
	offSource, offDestination = 12, 16
	offSourcePort, offPort    = 0, 2
	offTCPFlags, offICMPType  = 13, 0
)

// Directions of a packet in its connection.
const (
	original = 0
	reply    = 1
)

const (
	// agentMark is the connection mark of connections made by the agent.
	agentMark = 1
	// Connection states, as bits.
	stateRelated = expr.CtStateBitRELATED
	stateNew     = expr.CtStateBitNEW
	// adminProhibited is the ICMP code "communication administratively
	// prohibited" (RFC 1812, 5.2.7.1).
	adminProhibited = 13
)

// addChains adds the hooks, in the order in which a packet meets them.
func (r *rules) addChains() {
	hook := func(name string, t nftables.ChainType, h *nftables.ChainHook, priority nftables.ChainPriority) *nftables.Chain {
		return r.w.conn.AddChain(&nftables.Chain{
			Table: r.table, Name: name, Type: t, Hooknum: h, Priority: &priority,
		})
	}
	filter, nat := nftables.ChainTypeFilter, nftables.ChainTypeNAT
	r.spoofing(hook("source", filter, nftables.ChainHookPrerouting, -300))
	r.translation(hook("service", nat, nftables.ChainHookPrerouting, -100))
	// After translation, so that edges speak of endpoints, and before routing,
	// so that one chain sees what is for pods, for the node, and for nobody.
	r.verdict(hook("access", filter, nftables.ChainHookPrerouting, -90))
	r.marking(hook("agent", filter, nftables.ChainHookOutput, 0))
	r.hairpin(hook("hairpin", nat, nftables.ChainHookPostrouting, 100))
}

func (r *rules) rule(c *nftables.Chain, parts ...[]expr.Any) {
	var all []expr.Any
	for _, p := range parts {
		all = append(all, p...)
	}
	r.w.conn.AddRule(&nftables.Rule{Table: r.table, Chain: c, Exprs: all})
}

// spoofing drops what does not come from the pod's own address.
func (r *rules) spoofing(c *nftables.Chain) {
	r.rule(c, fromLoopback(), accept())
	r.rule(c, []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIF, Register: reg0},
		network(reg1, offSource),
		&expr.Lookup{SourceRegister: reg0, SetName: r.sets.pods.Name, SetID: r.sets.pods.ID, Invert: true},
		&expr.Verdict{Kind: expr.VerdictDrop},
	})
}

// translation picks one of a Service's endpoints for a new connection.
func (r *rules) translation(c *nftables.Chain) {
	r.rule(c, []expr.Any{
		network(reg0, offDestination),
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg1},
		transport(reg2, offPort),
		&expr.Numgen{Register: reg3, Modulus: slots, Type: unix.NFT_NG_RANDOM},
		&expr.Lookup{
			SourceRegister: reg0, DestRegister: reg0, IsDestRegSet: true,
			SetName: r.sets.services.Name, SetID: r.sets.services.ID,
		},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: reg0, RegProtoMin: reg1, Specified: true},
	})
}

// verdict decides about every packet that enters the node.
func (r *rules) verdict(c *nftables.Chain) {
	r.rule(c, fromLoopback(), accept())
	r.rule(c, direction(original), r.edge(offSource, offDestination, offPort), accept())
	r.rule(c, direction(reply), r.edge(offDestination, offSource, offSourcePort), accept())
	for _, p := range []Protocol{UDP, TCP} {
		r.rule(c, direction(original), toGateway(), protocol(p), []expr.Any{
			transport(reg0, offPort), equal(reg0, binaryutil.BigEndian.PutUint16(53)),
		}, accept())
	}
	r.rule(c, direction(reply), toGateway(), []expr.Any{
		&expr.Ct{Register: reg0, Key: expr.CtKeyMARK}, equal(reg0, binaryutil.NativeEndian.PutUint32(agentMark)),
	}, accept())
	// Errors about allowed packets: path MTU, port unreachable.
	for _, icmpType := range []byte{3, 11, 12} {
		r.rule(c, state(stateRelated), protocol(ICMP), []expr.Any{
			&expr.Payload{DestRegister: reg0, Base: expr.PayloadBaseTransportHeader, Offset: offICMPType, Len: 1},
			equal(reg0, []byte{icmpType}),
		}, accept())
	}
	// Multicast and broadcast have no receivers here; nobody needs to be told.
	r.rule(c, []expr.Any{
		network(reg0, offDestination),
		&expr.Cmp{Op: expr.CmpOpGte, Register: reg0, Data: []byte{224, 0, 0, 0}},
		&expr.Verdict{Kind: expr.VerdictDrop},
	})
	r.refuse(c)
}

// refuse counts attempts by their original destination, and answers.
func (r *rules) refuse(c *nftables.Chain) {
	count := []expr.Any{
		network(reg0, offSource),
		&expr.Ct{Register: reg1, Key: expr.CtKeyDST, Direction: original},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg2},
		&expr.Ct{Register: reg3, Key: expr.CtKeyPROTODST, Direction: original},
		&expr.Dynset{
			SrcRegKey: reg0, SetName: r.sets.refused.Name, SetID: r.sets.refused.ID,
			Operation: unix.NFT_DYNSET_OP_UPDATE,
		},
	}
	const finSynRstAck, syn = 0x17, 0x02
	r.rule(c, direction(original), protocol(TCP), []expr.Any{
		&expr.Payload{DestRegister: reg0, Base: expr.PayloadBaseTransportHeader, Offset: offTCPFlags, Len: 1},
		&expr.Bitwise{SourceRegister: reg0, DestRegister: reg0, Len: 1, Mask: []byte{finSynRstAck}, Xor: []byte{0}},
		equal(reg0, []byte{syn}),
	}, count)
	r.rule(c, direction(original), []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg0},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg0, Data: []byte{byte(TCP)}},
	}, count)
	r.rule(c, protocol(TCP), []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}})
	r.rule(c, []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_ICMP_UNREACH, Code: adminProhibited}})
}

// marking marks the connections that the agent opens, so that their answers
// are let in.
func (r *rules) marking(c *nftables.Chain) {
	r.rule(c, direction(original), state(stateNew), []expr.Any{
		&expr.Immediate{Register: reg0, Data: binaryutil.NativeEndian.PutUint32(agentMark)},
		&expr.Ct{Register: reg0, SourceRegister: true, Key: expr.CtKeyMARK},
	})
}

// hairpin gives a pod that reached itself through a Service another source:
// it would take a packet from its own address for a forgery.
func (r *rules) hairpin(c *nftables.Chain) {
	gateway := Gateway().As4()
	r.rule(c, []expr.Any{
		network(reg0, offSource), network(reg1, offDestination),
		&expr.Lookup{SourceRegister: reg0, SetName: r.sets.hairpin.Name, SetID: r.sets.hairpin.ID},
		&expr.Immediate{Register: reg0, Data: gateway[:]},
		&expr.NAT{Type: expr.NATTypeSourceNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: reg0},
	})
}

// dropIPv6 refuses IPv6 altogether, should a link ever speak it.
func (r *rules) dropIPv6() {
	table := r.w.conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv6, Name: "writ"})
	drop, first := nftables.ChainPolicyDrop, nftables.ChainPriority(-300)
	for name, h := range map[string]*nftables.ChainHook{"in": nftables.ChainHookPrerouting, "out": nftables.ChainHookOutput} {
		r.w.conn.AddChain(&nftables.Chain{
			Table: table, Name: name, Type: nftables.ChainTypeFilter, Hooknum: h, Priority: &first, Policy: &drop,
		})
	}
}

func (r *rules) edge(from, to, port uint32) []expr.Any {
	return []expr.Any{
		network(reg0, from), network(reg1, to),
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg2},
		transport(reg3, port),
		&expr.Lookup{SourceRegister: reg0, SetName: r.sets.edges.Name, SetID: r.sets.edges.ID},
	}
}

func network(reg, offset uint32) expr.Any {
	return &expr.Payload{DestRegister: reg, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4}
}

func transport(reg, offset uint32) expr.Any {
	return &expr.Payload{DestRegister: reg, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 2}
}

func equal(reg uint32, b []byte) expr.Any {
	return &expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: b}
}

func accept() []expr.Any { return []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}} }

// fromLoopback matches the node's traffic with itself: lo is link 1 in every
// network namespace.
func fromLoopback() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIF, Register: reg0},
		equal(reg0, binaryutil.NativeEndian.PutUint32(1)),
	}
}

func direction(d byte) []expr.Any {
	return []expr.Any{&expr.Ct{Register: reg0, Key: expr.CtKeyDIRECTION}, equal(reg0, []byte{d})}
}

func protocol(p Protocol) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: reg0}, equal(reg0, []byte{byte(p)})}
}

func toGateway() []expr.Any {
	b := Gateway().As4()
	return []expr.Any{network(reg0, offDestination), equal(reg0, b[:])}
}

func state(bit uint32) []expr.Any {
	mask := make([]byte, 4)
	binary.NativeEndian.PutUint32(mask, bit)
	return []expr.Any{
		&expr.Ct{Register: reg0, Key: expr.CtKeySTATE},
		&expr.Bitwise{SourceRegister: reg0, DestRegister: reg0, Len: 4, Mask: mask, Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg0, Data: make([]byte, 4)},
	}
}
