// Command writ is the whole of Writ: compiler, planner, control plane and
// node agent.
package main

import (
	"os"

	"github.com/writ-dev/writ/cmd/writ/internal/cli"
	"github.com/writ-dev/writ/nodeagent/runtime/sandbox"
)

func main() {
	sandbox.Init()
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
