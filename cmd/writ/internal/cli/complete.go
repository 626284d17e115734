package cli

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/client"
	"github.com/writ-dev/writ/render"
)

// completeTime bounds what a completion may ask a cluster for.
const completeTime = 2 * time.Second

// completer completes a word; like all of them, it is silent about what is wrong.
type completer func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completeDirs completes the names of directories, for the only argument.
func completeDirs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeSource completes the flags of sourceFlags, from the project that the
// arguments name.
func (s *sourceFlags) completeSource(cmd *cobra.Command) {
	for flag, names := range map[string]func(*render.Project, fs.FS) []string{
		"env": environmentCandidates, "unit": unitCandidates, "input": s.inputCandidates,
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if flag == "input" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			p, dir := projectOf(args)
			if p == nil {
				return nil, directive
			}
			return names(p, dir), directive
		})
	}
}

// projectOf is the project in the first argument that is a directory, or in this
// one; nil when it has none.
func projectOf(args []string) (*render.Project, fs.FS) {
	dir := "."
	for _, a := range args {
		if info, err := os.Stat(a); err == nil && info.IsDir() {
			dir = a
			break
		}
	}
	p, err := render.LoadProject(dir)
	if err != nil {
		return nil, nil
	}
	return p, os.DirFS(dir)
}

func environmentCandidates(p *render.Project, _ fs.FS) []string {
	var names []string
	for _, e := range p.Environments {
		names = append(names, e.Name)
	}
	if len(names) > 0 {
		names = append(names, "all")
	}
	return names
}

func allTargets(p *render.Project, dir fs.FS) []render.Target {
	targets, err := p.Targets(dir, render.Select{Environments: []string{"all"}})
	if err != nil {
		return nil
	}
	return targets
}

func unitCandidates(p *render.Project, dir fs.FS) []string {
	var names []string
	for _, t := range allTargets(p, dir) {
		if t.Unit != "" && !slices.Contains(names, t.Unit) {
			names = append(names, t.Unit)
		}
	}
	return names
}

// maxOutlines bounds how many programs are looked at for a completion.
const maxOutlines = 20

// inputCandidates are the inputs of the project file, and those that the programs
// take.
func (s *sourceFlags) inputCandidates(p *render.Project, dir fs.FS) []string {
	names := maps.Clone(p.Inputs)
	if names == nil {
		names = map[string]string{}
	}
	seen := map[string]bool{}
	var outliner render.Outliner
	for _, t := range allTargets(p, dir) {
		maps.Copy(names, t.Offers)
		maps.Copy(names, t.Inputs)
		chosen := len(s.units) == 0 || slices.ContainsFunc(s.units, func(u string) bool { ok, _ := path.Match(u, t.Unit); return ok })
		if !chosen || seen[t.Entry] || len(seen) == maxOutlines {
			continue
		}
		seen[t.Entry] = true
		outline, err := outliner.Outline(t.Options(dir, ".", nil))
		if err != nil {
			continue
		}
		for _, name := range outline.Inputs {
			names[name] = ""
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, name+"=")
	}
	return out
}

// fromCluster answers a completion from the cluster.
func (a *app) fromCluster(cmd *cobra.Command, ask func(context.Context, *client.Client) []string) ([]string, cobra.ShellCompDirective) {
	c, err := a.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	return ask(ctx, c), cobra.ShellCompDirectiveNoFileComp
}

func namesOf(ctx context.Context, c *client.Client, k api.Kind, namespace string) []string {
	list, err := c.List(ctx, k, api.ListOptions{Namespace: scope(k, namespace)})
	if err != nil {
		return nil
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, o.Name())
	}
	return names
}

// completeReleases completes the names of releases, for the first argument.
func (a *app) completeReleases(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, _ := cmd.Flags().GetString("namespace")
	return a.fromCluster(cmd, func(ctx context.Context, c *client.Client) []string {
		return namesOf(ctx, c, api.ReleaseKind, namespace)
	})
}

// completeObjects completes KIND NAME... and KIND/NAME. Alone are the words that
// may stand there besides kinds.
func (a *app) completeObjects(alone ...string) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		kind, _, slash := strings.Cut(word, "/")
		switch {
		case len(args) > 0:
			kind, slash = args[0], false
		case !slash:
			names := slices.Clone(alone)
			for _, k := range api.Kinds {
				names = append(names, k.Resource)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		kinds, _, err := parseTargets([]string{kind})
		if err != nil || len(kinds) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		namespace, _ := cmd.Flags().GetString("namespace")
		return a.fromCluster(cmd, func(ctx context.Context, c *client.Client) []string {
			names := namesOf(ctx, c, kinds[0], namespace)
			for i := range names {
				if slash {
					names[i] = kind + "/" + names[i]
				}
			}
			return names
		})
	}
}

// completePods completes POD and KIND/NAME, for the first argument.
func (a *app) completePods(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if strings.Contains(word, "/") {
		return a.completeObjects()(cmd, nil, word)
	}
	namespace, _ := cmd.Flags().GetString("namespace")
	return a.fromCluster(cmd, func(ctx context.Context, c *client.Client) []string {
		return namesOf(ctx, c, api.Pod, namespace)
	})
}
