package cli

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/apply"
)

// planFlags say how a plan deals with what is there already.
type planFlags struct {
	adopt  bool
	force  []string
	orphan bool
	drift  bool
}

func (p *planFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.adopt, "adopt", false, "take over objects that exist already, also from other releases")
	f.StringArrayVar(&p.force, "force-field", nil, "set this field although another program has set it, such as .spec.replicas; or all (repeatable)")
	f.BoolVar(&p.orphan, "orphan", false, "let go of what is no longer in the documents, instead of deleting it")
	f.BoolVar(&p.drift, "drift", false, "also list the defaults of live objects")
}

// planOptions name the release: environments of one project are releases of
// their own, so that none takes another's objects for gone.
func (s *sourceFlags) planOptions(p planFlags) apply.Options {
	o := apply.Options{
		Release: s.project.Name, Namespace: s.project.Namespace, By: userName(), Source: gitSource(s.dir),
		Adopt: p.adopt, ForceFields: p.force, Orphan: p.orphan, Defaulted: p.drift,
	}
	if e := s.environment(); e.Name != "" {
		o.Release += "-" + e.Name
		o.Namespace = cmp.Or(e.Namespace, o.Namespace)
	}
	return o
}

func userName() string {
	if u := os.Getenv("USER"); u != "" {
		return u
	}
	return "uid " + hostUID()
}

// gitSource is the commit that a directory is at, with "+changes" when it is
// not as committed; empty where there is no Git repository, or no git.
func gitSource(dir string) string {
	git := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(context.Background(), "git", append([]string{"-C", dir}, args...)...).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	commit, ok := git("rev-parse", "HEAD")
	if !ok {
		return ""
	}
	source := "git " + commit[:min(len(commit), 12)]
	if changes, ok := git("status", "--porcelain", "--", "."); !ok || changes != "" {
		source += "+changes"
	}
	return source
}
