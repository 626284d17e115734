package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

func (a *app) planCmd() *cobra.Command {
	var (
		src      sourceFlags
		how      planFlags
		output   string
		out      string
		exitCode bool
	)
	cmd := &cobra.Command{
		Use:   "plan DIR",
		Short: "Show what applying a directory would change",
		Long: `Renders DIR, compares the result with the cluster, and shows what would change. Nothing
is written. With --out the plan is kept in a file: 'writ apply FILE' then commits exactly
that, or refuses because the cluster has moved. The file's checksum, which is printed,
tells one plan from another: 'writ apply FILE --checksum SUM' applies no other.`,
		Example: `  writ plan . --env prod
  writ plan . --env prod --out plan.json
  writ plan . --exit-code    exit with 3 when there is something to do`,
		ValidArgsFunction: completeDirs,
		Args:              cobra.ExactArgs(1),
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
			p, err := apply.Compute(cmd.Context(), c, b, src.planOptions(how))
			if err != nil {
				return src.locate(err)
			}
			if out != "" {
				if err := a.writePlan(out, p); err != nil {
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
	how.register(cmd)
	a.outputFlag(cmd, &output)
	cmd.Flags().StringVar(&out, "out", "", "also write the plan to this file")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 when there are changes")
	return cmd
}

func (a *app) writePlan(path string, p *apply.Plan) error {
	text, checksum, err := p.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	a.step("plan", "%s  %s", path, checksum)
	return nil
}

// maxPlan bounds a plan's file, in bytes.
const maxPlan = 1 << 30

// readPlan reads a plan's file. Where checksum is given, it must be that plan.
func readPlan(path, checksum string) (*apply.Plan, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxPlan {
		err = fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxPlan)
	}
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	p, is, err := apply.Decode(text)
	if err != nil {
		list := diag.From(err)
		for i := range list {
			list[i].Pos.File = path
		}
		return nil, list
	}
	if checksum != "" && checksum != is {
		return nil, diag.List{{Code: "PLAN", Pos: diag.Position{File: path}, Message: fmt.Sprintf("is plan %s, not %s", is, checksum), Hint: "apply the plan that was reviewed"}}
	}
	return p, nil
}

// isPlanFile reports whether path is a plan's file, rather than sources.
func isPlanFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	return apply.IsPlan(head[:n])
}

// applying is a plan about to be committed, with what it came from.
type applying struct {
	client *client.Client
	plan   *apply.Plan
	bundle *render.Bundle
}
