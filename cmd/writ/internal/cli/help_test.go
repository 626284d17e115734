package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// silent are the verbs whose results are no data: they run until they are
// stopped, print what others wrote, or only do something.
var silent = map[string]bool{
	"writ agent": true, "writ server": true, "writ up": true, "writ logs": true, "writ init": true, "writ delete": true,
	"writ cache clean": true, "writ image rm": true, "writ key new": true, "writ key rotate": true, "writ key prune": true,
}

// TestHelp: every verb says in a line what it is for, shows how it is used, and
// has its results as JSON.
func TestHelp(t *testing.T) {
	root := (&app{out: io.Discard, err: io.Discard}).root()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := c.CommandPath()
		if c == root {
			return
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its line is %q", path, c.Short)
		}
		if !strings.Contains(c.Example, path) || !strings.HasPrefix(c.Example, "  ") {
			t.Errorf("%s has no example of its use, but %q", path, c.Example)
		}
		if c.HasSubCommands() {
			return
		}
		if o := c.Flags().Lookup("output"); (o == nil) != silent[path] {
			t.Errorf("%s has the flag -o: %t", path, o != nil)
		}
	}
	walk(root)
}
