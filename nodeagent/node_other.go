//go:build !linux

package nodeagent

import "github.com/writ-dev/writ/nodeagent/network"

// inspect is never reached: the network does not open.
func inspect() (machine, error) { return machine{}, network.ErrUnsupported }
