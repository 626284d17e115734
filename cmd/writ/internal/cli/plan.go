package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/render"
)

func (a *app) planCmd() *cobra.Command {
	var (
		src      sourceFlags
		output   string
		out      string
		exitCode bool
	)
	cmd := &cobra.Command{
		Use:   "plan DIR",
		Short: "Show what applying a directory would change",
		Long: `Renders DIR, compares the result with the cluster, and shows what would change. Nothing
is written. With --out the plan is kept in a file: 'writ apply --plan FILE' then commits
exactly that, or refuses because the cluster has moved.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.bundle(cmd.Context(), args[0], &src)
			if err != nil {
				return err
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			defer c.Close()
			p, err := apply.Compute(cmd.Context(), c, b, src.planOptions())
			if err != nil {
				return src.locate(err)
			}
			if out != "" {
				if err := writePlan(out, p); err != nil {
					return err
				}
			}
			if output != "" {
				err = a.encode(output, p)
			} else {
				p.Print(a.out, a.color)
			}
			if err == nil && exitCode && !p.Empty() {
				return exitError(exitChanges)
			}
			return err
		},
	}
	src.register(cmd)
	a.outputFlag(cmd, &output)
	cmd.Flags().StringVar(&out, "out", "", "also write the plan to this file")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 when there are changes")
	return cmd
}

func writePlan(path string, p *apply.Plan) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

func readPlan(path string) (*apply.Plan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	p := new(apply.Plan)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("read the plan %s: %w", path, err)
	}
	if p.Release == "" || p.Digest == "" {
		return nil, fmt.Errorf("read the plan %s: not a plan; make one with 'writ plan DIR --out FILE'", path)
	}
	return p, nil
}

// applying is a plan about to be committed, with what it came from.
type applying struct {
	client *client.Client
	plan   *apply.Plan
	bundle *render.Bundle
}
