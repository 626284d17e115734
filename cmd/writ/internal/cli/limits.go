package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/render"
)

// limitFlags bound an evaluation instead of what writ.yaml says.
type limitFlags struct {
	time          time.Duration
	memory, stack string
}

func (l *limitFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&l.time, "time", 0, "how long one evaluation may take (default 1m, or what writ.yaml says)")
	f.StringVar(&l.memory, "memory", "", "how much memory one evaluation may use (default 2GiB, or what writ.yaml says)")
	f.StringVar(&l.stack, "stack", "", "how many calls inside calls one evaluation may have (default 500, or what writ.yaml says)")
}

// apply changes the limits that are given.
func (l *limitFlags) apply(to *render.Limits) (err error) {
	if l.time > 0 {
		to.Time = l.time
	}
	if l.memory != "" {
		if to.Memory, err = render.ParseSize(l.memory); err != nil {
			return usageError{fmt.Errorf("--memory: %w", err)}
		}
	}
	if l.stack != "" {
		if to.Stack, err = render.ParseStack(l.stack); err != nil {
			return usageError{fmt.Errorf("--stack: %w", err)}
		}
	}
	return nil
}
