//go:build !linux

package cli

import (
	"context"
	"errors"
	"runtime"
)

func (a *app) up(context.Context, string, upOptions) error {
	return errors.New("pods need Linux (namespaces and nftables), and this is " + runtime.GOOS +
		"; render, plan and apply work here, against a cluster elsewhere")
}
