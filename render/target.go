package render

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// allEnvironments stands for every environment of a project.
const allEnvironments = "all"

// Target is one program in one environment: what Render evaluates.
type Target struct {
	// Unit is the unit's name, and Environment the environment's; empty in a
	// project that has none.
	Unit, Environment string
	// Entry is the program, relative to the project.
	Entry string
	// Namespace is the default namespace.
	Namespace string
	// Inputs the program must have; Offers it may have.
	Inputs, Offers map[string]string
	// Settings are of the language; directories are relative to the project.
	Settings lang.Settings
	// Optional says that having no document is no mistake.
	Optional bool
}

// Options are how to render the target of the project in dir of a module.
func (t Target) Options(module fs.FS, dir string, evaluators map[Language]lang.Evaluator) Options {
	return Options{
		FS: module, Entry: path.Join(dir, t.Entry), Inputs: t.Inputs, Offers: t.Offers,
		Settings: t.Settings.Below(dir), Namespace: t.Namespace, Evaluators: evaluators,
		Optional: t.Optional,
	}
}

// String names the target for people: "web in prod".
func (t Target) String() string {
	s := t.Entry
	if t.Unit != "" {
		s = t.Unit
	}
	if t.Environment != "" {
		s += " in " + t.Environment
	}
	return s
}

// Select names the targets that are wanted.
type Select struct {
	// Environments are names, or "all". In a project that has environments one
	// must be named.
	Environments []string
	// Units are names or patterns of names; none means all.
	Units []string
	// Inputs go before all others. The only program of a project must have
	// them; of several programs each takes those that it has.
	Inputs map[string]string
	// Code names those of Inputs that are expressions of Jsonnet.
	Code []string
}

// Targets lists the wanted programs of the project in dir, sorted by
// environment, in the order of the project file, and by unit.
//
// An input comes, in this order, from Select, from the unit, from the
// environment, or from the project.
func (p *Project) Targets(dir fs.FS, s Select) ([]Target, error) {
	environments, err := p.environments(s.Environments)
	if err != nil {
		return nil, err
	}
	units, err := p.units(dir)
	if err != nil {
		return nil, err
	}
	for _, want := range s.Units {
		if !slices.ContainsFunc(units, func(u Unit) bool { return fits(want, u.Name) }) {
			return nil, unknown("unit", want, unitNames(units))
		}
	}
	var targets []Target
	for _, e := range environments {
		for _, u := range units {
			if !selected(s.Units, u.Name) || !selected(e.Units, u.Name) {
				continue
			}
			t := p.target(e, u)
			t.give(s.Inputs)
			t.Settings = p.Settings(e, u, s)
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		return nil, diag.List{{
			Code: "PROJECT", Pos: diag.Position{File: ProjectFile},
			Message: "no unit is left to render", Hint: "look at units: of the environment and at what was selected",
		}}
	}
	return targets, nil
}

// give adds the inputs of a Select.
func (t *Target) give(inputs map[string]string) {
	for name, value := range inputs {
		if _, ok := t.Inputs[name]; ok || t.Unit == "" {
			t.Inputs[name] = value
		} else {
			t.Offers[name] = value
		}
	}
}

// Settings are those of a unit in an environment.
func (p *Project) Settings(e Environment, u Unit, s Select) lang.Settings {
	code := map[string]bool{}
	// Who goes before others decides by what is last.
	for _, given := range []struct {
		inputs map[string]string
		code   []string
	}{{p.Inputs, p.Code}, {e.Inputs, e.Code}, {u.Inputs, u.Code}, {s.Inputs, s.Code}} {
		for name := range given.inputs {
			code[name] = slices.Contains(given.code, name)
		}
	}
	maps.DeleteFunc(code, func(_ string, is bool) bool { return !is })
	return lang.Settings{Search: p.Search, Code: slices.Sorted(maps.Keys(code)), Modules: p.Modules}
}

func (p *Project) target(e Environment, u Unit) Target {
	t := Target{
		Unit: u.Name, Environment: e.Name, Entry: u.Entry,
		Inputs: map[string]string{}, Offers: map[string]string{}, Namespace: p.Namespace,
		Optional: u.optional,
	}
	for _, n := range []string{u.Namespace, e.Namespace} {
		if n != "" {
			t.Namespace = n
			break
		}
	}
	maps.Copy(t.Offers, p.Inputs)
	maps.Copy(t.Offers, e.Inputs)
	maps.Copy(t.Inputs, u.Inputs)
	return t
}

// environments finds those named. A project without any has one without a name.
func (p *Project) environments(names []string) ([]Environment, error) {
	var known []string
	for _, e := range p.Environments {
		known = append(known, e.Name)
	}
	switch {
	case len(known) == 0 && len(names) == 0:
		return []Environment{{}}, nil
	case len(known) == 0 && slices.Equal(names, []string{allEnvironments}):
		return []Environment{{}}, nil
	case len(known) == 0:
		return nil, diag.List{{
			Code: "PROJECT", Message: fmt.Sprintf("no environment %q: the project has none", names[0]),
			Hint: "write environments: in " + ProjectFile,
		}}
	case len(names) == 0:
		return nil, diag.List{{
			Code: "PROJECT", Pos: p.Environments[0].Pos,
			Message: "the project has environments: " + strings.Join(known, ", "),
			Hint:    "name one: --env " + known[0],
		}}
	case slices.Contains(names, allEnvironments):
		return p.Environments, nil
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, unknown("environment", n, known)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.Environments), func(e Environment) bool { return !slices.Contains(names, e.Name) }), nil
}

// units resolves the patterns. A project without units is one, without a name.
func (p *Project) units(dir fs.FS) ([]Unit, error) {
	if len(p.Units) == 0 {
		return []Unit{{Entry: p.Entry}}, nil
	}
	var units []Unit
	for _, u := range p.Units {
		if !strings.ContainsAny(u.Entry, "*?[") && !isTree(u.Entry) {
			units = append(units, u)
			continue
		}
		found, err := expand(dir, u)
		if err != nil {
			return nil, err
		}
		units = append(units, found...)
	}
	slices.SortFunc(units, func(a, b Unit) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(units); i++ {
		if a, b := units[i-1], units[i]; a.Name == b.Name {
			return nil, diag.List{{
				Code: "PROJECT", Pos: b.Pos, Message: fmt.Sprintf("unit %q is there twice", b.Name),
				Notes: []diag.Note{{Pos: a.Pos, Text: "the other one"}},
			}}
		}
	}
	return units, nil
}

// expand makes a unit of each match of a pattern.
func expand(dir fs.FS, u Unit) ([]Unit, error) {
	find := glob
	if isTree(u.Entry) {
		find = tree
		u.optional = true
	}
	found, err := find(dir, u.Entry)
	if err != nil {
		return nil, diag.Errorf(u.Pos, "PROJECT", "find the units of %s: %s", u.Entry, err)
	}
	var units []Unit
	for _, m := range found {
		if !u.optional && !isProgram(path.Base(m.name), m.isDir) {
			continue
		}
		one := u
		one.Entry = m.name
		one.Name = strings.TrimSuffix(m.name, path.Ext(m.name))
		if m.isDir {
			one.Name = m.name
		}
		units = append(units, one)
	}
	if len(units) == 0 {
		return nil, diag.List{{
			Code: "PROJECT", Pos: u.Pos, Path: ".units." + u.Name,
			Message: fmt.Sprintf("no directory and no program matches %q", u.Entry),
		}}
	}
	return units, nil
}

type match struct {
	name  string
	isDir bool
}

// glob is fs.Glob that also tells directories from files. Where only the last
// element is a pattern, the listing of its directory tells, and nothing is
// asked for each match.
func glob(dir fs.FS, pattern string) ([]match, error) {
	var found []match
	add := func(name string, info fs.FileInfo, err error) error {
		if err == nil {
			found = append(found, match{name, info.IsDir()})
		}
		return err
	}
	parent, last := path.Split(pattern)
	if strings.ContainsAny(parent, `*?[\`) {
		names, err := fs.Glob(dir, pattern)
		for i := 0; i < len(names) && err == nil; i++ {
			info, statErr := fs.Stat(dir, names[i])
			err = add(names[i], info, statErr)
		}
		return found, err
	}
	entries, err := fs.ReadDir(dir, path.Clean(parent))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for i := 0; i < len(entries) && err == nil; i++ {
		e := entries[i]
		if ok, bad := path.Match(last, e.Name()); bad != nil || !ok {
			err = bad
			continue
		}
		name := path.Join(parent, e.Name())
		if e.Type()&fs.ModeSymlink == 0 {
			found = append(found, match{name, e.IsDir()})
			continue
		}
		info, statErr := fs.Stat(dir, name)
		err = add(name, info, statErr)
	}
	return found, err
}

// isTree reports whether an entry stands for all programs in or below a directory.
func isTree(entry string) bool { return path.Base(entry) == "..." }

// tree lists the directories in or below that of an entry that are programs. As
// for cue, directories whose names start with "." or "_", testdata, and modules of
// their own are left out, and so are vendored packages.
func tree(dir fs.FS, entry string) ([]match, error) {
	var found []match
	top := path.Dir(entry)
	err := fs.WalkDir(dir, top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		entries, err := fs.ReadDir(dir, name)
		if err != nil {
			return err
		}
		program := false
		for _, e := range entries {
			inner := !e.IsDir() && !lang.IsTest(e.Name())
			program = program || inner && (e.Name() == JsonnetMain || isPackageFile(e.Name()))
			module := e.Name() == "cue.mod" || e.Name() == "jsonnetfile.json"
			if module && name != top {
				return fs.SkipDir
			}
		}
		base := path.Base(name)
		hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || !isProgram(base, true)
		if name != top && (hidden || base == "cue.mod" || base == "vendor") {
			return fs.SkipDir
		}
		if program {
			found = append(found, match{name, true})
		}
		return nil
	})
	return found, err
}

// isPackageFile reports whether a file belongs to the CUE package of its directory.
func isPackageFile(name string) bool {
	return path.Ext(name) == ".cue" && name[0] != '_' && name[0] != '.' && !strings.HasSuffix(name, "_tool.cue") && !lang.IsTest(name)
}

func selected(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return fits(p, name) })
}

func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

func unitNames(units []Unit) []string {
	var names []string
	for _, u := range units {
		names = append(names, u.Name)
	}
	return names
}

func unknown(what, name string, known []string) error {
	d := diag.Diagnostic{Code: "PROJECT", Message: fmt.Sprintf("no %s %q", what, name)}
	if near := api.Nearest(name, known); near != "" {
		d.Hint = fmt.Sprintf("did you mean %q?", near)
	} else if len(known) > 0 {
		shown := known[:min(len(known), 10)]
		d.Hint = "there is " + strings.Join(shown, ", ")
		if len(known) > len(shown) {
			d.Hint += fmt.Sprintf(" and %d more", len(known)-len(shown))
		}
	} else {
		d.Hint = "the project has none"
	}
	return diag.List{d}
}
