package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/why"
)

// whySource is an open source that can be asked about.
type whySource struct {
	asker      why.Asker
	renderings []why.Rendering
	close      func()
}

// askWhy renders an open source, without building images.
func (a *app) askWhy(ctx context.Context, src *sourceFlags) (*whySource, error) {
	src.pretendBuilt()
	targets, bundles, _, err := a.renderTargets(ctx, src)
	if err != nil {
		return nil, err
	}
	w := &whySource{renderings: renderings(targets, bundles)}
	w.asker, w.close, err = src.asker()
	return w, err
}

func renderings(targets []render.Target, bundles []*render.Bundle) []why.Rendering {
	all := make([]why.Rendering, len(targets))
	for i, t := range targets {
		all[i] = why.Rendering{Target: t, Bundle: bundles[i]}
	}
	return all
}

// asker has the programs of an open source explained, until close.
func (s *sourceFlags) asker() (asker why.Asker, close func(), err error) {
	given, err := s.given()
	if err != nil {
		return why.Asker{}, nil, err
	}
	m, err := s.module()
	if err != nil {
		return why.Asker{}, nil, err
	}
	byLanguage, stop, err := evaluators(s.root, s.project.Limits)
	if err != nil {
		m.close()
		return why.Asker{}, nil, err
	}
	asker = why.Asker{
		FS: m.root.FS(), Dir: m.below, Project: s.project,
		Select: given, Evaluators: byLanguage,
	}
	return asker, func() { stop(); m.close() }, nil
}

// listFields lists where each field of a document was written.
func (a *app) listFields(found []why.Found, src *sourceFlags, output string) error {
	type line struct {
		Environment string          `json:"environment,omitempty"`
		Path        string          `json:"path"`
		Pos         diag.Position   `json:"pos"`
		Value       json.RawMessage `json:"value"`
	}
	var all []line
	for _, f := range found {
		for _, at := range f.Fields() {
			v, _ := f.Document.Origin.Value().At(at)
			all = append(all, line{f.Target.Environment, at, relocatePos(f.Document.Origin.Field(at), src.root), v.AppendJSON(nil)})
		}
	}
	if output != "" {
		return a.encode(output, all)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, l := range all {
		value := string(l.Value)
		if len(value) > 60 {
			value = strings.ToValidUTF8(value[:60], "") + "…"
		}
		in := ""
		if len(found) > 1 {
			in = l.Environment + "\t"
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", in, filepath.ToSlash(l.Pos.String()), l.Path, value)
	}
	return w.Flush()
}

// completeWhy completes the names of documents and the paths of fields, of the
// current directory's program. It is silent about what is wrong with it.
func (a *app) completeWhy(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	quiet := app{out: io.Discard, err: io.Discard}
	var src sourceFlags
	src.environments, _ = cmd.Flags().GetStringArray("env")
	src.inputs, _ = cmd.Flags().GetStringArray("input")
	src.units, _ = cmd.Flags().GetStringArray("unit")
	if src.open(".") != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if len(src.environments) == 0 && len(src.project.Environments) > 0 {
		src.environments = []string{"all"}
	}
	w, err := quiet.askWhy(cmd.Context(), &src)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	defer w.close()
	if len(args) == 0 {
		return why.Names(w.renderings), cobra.ShellCompDirectiveNoFileComp
	}
	name, err := why.ParseName(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := why.Find(w.renderings, name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found[0].Fields(), cobra.ShellCompDirectiveNoFileComp
}
