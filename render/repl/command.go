package repl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// command is what a line that begins with a colon may ask for.
type command struct {
	name, argument, help string
	// needs says that there must be an argument.
	needs bool
	run   func(*Session, context.Context, string) (Answer, error)
}

func commands() []command {
	said := func(err error, format string, args ...any) (Answer, error) {
		return Answer{Text: fmt.Sprintf(format, args...)}, err
	}
	return []command{
		{"help", "", "what can be entered", false, func(s *Session, _ context.Context, _ string) (Answer, error) {
			return Answer{Text: s.help()}, nil
		}},
		{"type", "EXPRESSION", "what kind of value it has", true, func(s *Session, ctx context.Context, arg string) (Answer, error) {
			_, shape, err := s.look(ctx, arg)
			return said(err, "%s", shape.Type)
		}},
		{"why", "FIELD", "how the value of a field came to be, by its path", true, (*Session).why},
		{"units", "", "the units that there are", false, func(s *Session, _ context.Context, _ string) (Answer, error) {
			return Answer{Text: s.units()}, nil
		}},
		{"load", "UNIT", "look at another unit", true, func(s *Session, _ context.Context, arg string) (Answer, error) {
			err := s.choose(arg, s.target.Environment)
			return said(err, "%s", s.Where())
		}},
		{"env", "NAME", "look at it in another environment", false, func(s *Session, _ context.Context, arg string) (Answer, error) {
			if arg == "" {
				return Answer{Text: s.environments()}, nil
			}
			err := s.choose(s.target.Unit, arg)
			return said(err, "%s", s.Where())
		}},
		{"set", "NAME=VALUE", "give the program an input; without one, list them", false, (*Session).set},
		{"unset", "NAME", "take such an input back", true, (*Session).unset},
		{"reload", "", "read writ.yaml again; programs are read again anyway", false, func(s *Session, _ context.Context, _ string) (Answer, error) {
			err := s.reload()
			return said(err, "%s", s.Where())
		}},
		{"quit", "", "end; so does Ctrl-D", false, func(*Session, context.Context, string) (Answer, error) {
			return Answer{Quit: true}, nil
		}},
	}
}

func (s *Session) command(ctx context.Context, line string) (Answer, error) {
	name, arg, _ := strings.Cut(line[1:], " ")
	arg = strings.TrimSpace(arg)
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if c.name != name && (name == "" || c.name[:1] != name) {
			continue
		}
		switch {
		case c.needs && arg == "":
			return Answer{}, wrong(fmt.Sprintf(":%s needs an argument: :%s %s", c.name, c.name, c.argument), ":help lists the commands")
		case c.argument == "" && arg != "":
			return Answer{}, wrong(fmt.Sprintf(":%s takes no argument", c.name), "")
		}
		return c.run(s, ctx, arg)
	}
	hint := ":help lists the commands"
	if near := api.Nearest(name, names); near != "" {
		hint = "did you mean :" + near + "?"
	}
	return Answer{}, wrong("there is no command :"+name, hint)
}

func wrong(message, hint string) error {
	return diag.List{{Code: "REPL", Message: message, Hint: hint}}
}

func (s *Session) help() string {
	var b strings.Builder
	switch s.language() {
	case render.CUE:
		fmt.Fprintln(&b, "An expression of CUE sees the fields and definitions of the package: web.replicas * 2, #App")
	case render.Jsonnet:
		fmt.Fprintln(&b, "An expression of Jsonnet sees the program as $: std.length($.web.ports)")
	case render.YAML:
		fmt.Fprintln(&b, "Documents are looked at by their paths: [0].metadata.name")
	}
	fmt.Fprintln(&b, `A path begins with a dot: .web.ports[0]; a dot alone is the whole value.`)
	fmt.Fprintln(&b)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, ":%s\t%s\n", strings.TrimSpace(c.name+" "+c.argument), c.help)
	}
	_ = w.Flush() // to a string
	return strings.TrimRight(b.String(), "\n")
}

func (s *Session) units() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, t := range s.targets {
		fmt.Fprintf(w, "%s %s\t%s\n", marked(t.Unit == s.target.Unit), t.Unit, t.Entry)
	}
	_ = w.Flush() // to a string
	return strings.TrimRight(b.String(), "\n")
}

func (s *Session) environments() string {
	var lines []string
	for _, e := range s.source.Project.Environments {
		lines = append(lines, marked(e.Name == s.target.Environment)+" "+e.Name)
	}
	if len(lines) == 0 {
		return "the project has no environments"
	}
	return strings.Join(lines, "\n")
}

func marked(current bool) string {
	if current {
		return "*"
	}
	return " "
}

func (s *Session) set(_ context.Context, arg string) (Answer, error) {
	if arg == "" {
		return Answer{Text: s.listInputs()}, nil
	}
	name, value, ok := strings.Cut(arg, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return Answer{}, wrong(fmt.Sprintf("%q gives no input", arg), "write :set NAME=VALUE")
	}
	s.given.Inputs[name] = value
	s.given.Code = slices.DeleteFunc(s.given.Code, func(code string) bool { return code == name })
	return Answer{}, s.choose(s.target.Unit, s.target.Environment)
}

func (s *Session) unset(_ context.Context, name string) (Answer, error) {
	if _, ok := s.given.Inputs[name]; !ok {
		return Answer{}, wrong(name+" was not given here", ":set lists the inputs")
	}
	delete(s.given.Inputs, name)
	return Answer{}, s.choose(s.target.Unit, s.target.Environment)
}

// listInputs lists the inputs that the program is given, and who gives each.
func (s *Session) listInputs() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	all := maps.Clone(s.target.Offers)
	maps.Copy(all, s.target.Inputs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		from := ""
		if sources := s.source.Project.InputSources(s.target, s.given, name); len(sources) > 0 {
			from = sources[0].Where
		}
		if _, here := s.given.Inputs[name]; here {
			from = "here"
		}
		fmt.Fprintf(w, "%s=%s\t%s\n", name, all[name], from)
	}
	_ = w.Flush() // to a string
	if b.Len() == 0 {
		return "no input is given"
	}
	return strings.TrimRight(b.String(), "\n")
}
