package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

func (a *app) evalCmd() *cobra.Command {
	var (
		src       sourceFlags
		output    string
		positions bool
	)
	cmd := &cobra.Command{
		Use:   "eval DIR|FILE [PATH]",
		Short: "Evaluate a program and print its value, or the part at a path",
		Long: `Evaluates one program as 'writ render' does, but looks for no documents and checks
nothing: it prints what the program's value is, as JSON. PATH picks a part of it, such
as .web.ports or '.spec.containers[0]'. With --positions it prints where each field
was written instead.`,
		Example: `  writ eval lib/defaults.cue
  writ eval . .web.dependencies --env prod`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := src.open(args[0]); err != nil {
				return err
			}
			src.pretendBuilt()
			v, err := a.value(cmd, &src)
			if err != nil {
				return err
			}
			if len(args) == 2 {
				part, ok := v.At(args[1])
				if !ok {
					return diag.List{{Code: "EVAL", Message: "the value has nothing at " + args[1], Hint: "paths are like .a.b[0]; 'writ eval " + args[0] + "' shows the whole value"}}
				}
				v = part
			}
			if positions {
				return a.printPositions(v, &src)
			}
			return a.encode(output, jsonValue(v))
		},
	}
	src.register(cmd)
	cmd.Flags().BoolVar(&positions, "positions", false, "print where each field was written")
	a.outputFlag(cmd, &output)
	return cmd
}

// pretendBuilt gives images references that stand for them: a look at values
// builds nothing.
func (s *sourceFlags) pretendBuilt() {
	s.built = map[string]string{}
	for _, i := range s.project.Images {
		s.built[i.Input()] = s.project.Name + "/" + i.Name + ":unbuilt"
	}
}

// value evaluates the one program that is selected.
func (a *app) value(cmd *cobra.Command, src *sourceFlags) (lang.Value, error) {
	m, err := src.module()
	if err != nil {
		return lang.Value{}, err
	}
	defer m.close()
	targets, _, err := src.targets(m)
	if err != nil {
		return lang.Value{}, err
	}
	if len(targets) != 1 {
		return lang.Value{}, usageError{fmt.Errorf("want one program, not %d: name it with --unit, and --env", len(targets))}
	}
	t := targets[0]
	byLanguage, stop, err := evaluators(src.root, src.project.Limits)
	if err != nil {
		return lang.Value{}, err
	}
	defer stop()
	v, err := render.Evaluate(cmd.Context(), t.Options(m.root.FS(), m.below, byLanguage))
	return v, src.locate(err)
}

// jsonValue is printed by encoding/json as it is: its numbers stay exact.
type jsonValue lang.Value

// MarshalJSON encodes the value, without positions.
func (v jsonValue) MarshalJSON() ([]byte, error) { return lang.Value(v).AppendJSON(nil), nil }

func (a *app) printPositions(v lang.Value, src *sourceFlags) error {
	for at, part := range v.All() {
		if part.Kind == lang.Object || part.Kind == lang.List {
			continue
		}
		pos := relocatePos(part.Pos, src.root)
		if _, err := fmt.Fprintf(a.out, "%s\t%s\t%s\n", filepath.ToSlash(pos.String()), at, part.AppendJSON(nil)); err != nil {
			return err
		}
	}
	return nil
}
