//go:build !linux

package cli

import (
	"context"
	"errors"
	"runtime"
)

func (a *app) agent(context.Context, agentOptions) error {
	return errors.New("pods need Linux (namespaces and nftables), and this is " + runtime.GOOS)
}
