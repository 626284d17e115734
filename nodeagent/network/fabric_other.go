//go:build !linux

package network

import (
	"context"
	"net"
)

// Fabric is the network of one node. It exists on Linux only.
type Fabric struct{}

// Open returns ErrUnsupported.
func Open(Options) (*Fabric, error) { return nil, ErrUnsupported }

// Close does nothing.
func (f *Fabric) Close() error { return nil }

// Attach returns ErrUnsupported.
func (f *Fabric) Attach(context.Context, PodNet) error { return ErrUnsupported }

// Detach returns ErrUnsupported.
func (f *Fabric) Detach(string) error { return ErrUnsupported }

// Program returns ErrUnsupported.
func (f *Fabric) Program(State) error { return ErrUnsupported }

// Counters returns ErrUnsupported.
func (f *Fabric) Counters() (map[Edge]Count, error) { return nil, ErrUnsupported }

// Refusals returns ErrUnsupported.
func (f *Fabric) Refusals() ([]Refusal, error) { return nil, ErrUnsupported }

// Dial returns ErrUnsupported.
func (f *Fabric) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, ErrUnsupported
}

// Listen returns ErrUnsupported.
func (f *Fabric) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, ErrUnsupported
}

// ListenPacket returns ErrUnsupported.
func (f *Fabric) ListenPacket(context.Context, string, string) (net.PacketConn, error) {
	return nil, ErrUnsupported
}
