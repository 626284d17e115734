package lint

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// The rules about a project as a whole.
var (
	unreadFile      = lang.Rule{Code: "UnreadFile", Text: "a file of a project that has a writ.yaml which no unit, test or policy of it reads"}
	unusedInput     = lang.Rule{Code: "UnusedInput", Text: "an input, or an image, of writ.yaml that no program takes"}
	sameEnvironment = lang.Rule{Code: "SameEnvironment", Text: "an environment of writ.yaml that gives what another one gives"}
)

func projectRules() []lang.Rule { return []lang.Rule{unreadFile, unusedInput, sameEnvironment} }

// project is one that has a project file. Project is nil when that is broken.
type project struct {
	*render.Project
	dir string
}

// file is the name of the project file.
func (p *project) file() string { return path.Join(p.dir, render.ProjectFile) }

// relative is the name of a file of the project, relative to it.
func (p *project) relative(file string) string {
	if p.dir == "." {
		return file
	}
	return strings.TrimPrefix(file, p.dir+"/")
}

// findProjects reads the project files among the files, and the nearest one
// above them.
func (l *linter) findProjects() {
	dirs := map[string]bool{}
	for _, name := range l.names {
		if path.Base(name) == render.ProjectFile {
			dirs[path.Dir(name)] = true
		}
	}
	for d := l.o.Name; ; d = path.Dir(d) {
		if info, err := fs.Stat(l.o.FS, path.Join(d, render.ProjectFile)); err == nil && info.Mode().IsRegular() {
			dirs[d] = true
			break
		}
		if d == "." {
			break
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		l.projects = append(l.projects, l.readProject(dir))
	}
	slices.SortStableFunc(l.projects, func(a, b *project) int { return len(b.dir) - len(a.dir) })
}

func (l *linter) readProject(dir string) *project {
	p := &project{dir: dir}
	data, ok := l.files[p.file()]
	if !ok {
		var err error
		if data, err = lang.ReadSource(l.o.FS, p.file()); err != nil {
			l.broken(p.file(), err)
			return p
		}
	}
	parsed, err := render.ParseProject(data)
	l.broken(p.file(), below(err, dir))
	if err == nil {
		p.Project = parsed
	}
	return p
}

// below moves the positions of an error from a project to the module.
func below(err error, dir string) error {
	list := slices.Clone(diag.From(err))
	for i := range list {
		if list[i].Pos.IsValid() {
			list[i].Pos.File = path.Join(dir, list[i].Pos.File)
		}
	}
	return list.Err()
}

// projectOf is the innermost project that a file belongs to, or nil.
func (l *linter) projectOf(file string) *project {
	for _, p := range l.projects {
		if p.dir == "." || strings.HasPrefix(file, p.dir+"/") {
			return p
		}
	}
	return nil
}

// project looks at a project as a whole, and reports what concerns the files of
// this run.
func (l *linter) project(ctx context.Context, p *project) error {
	if p.Project == nil {
		return nil
	}
	dir, err := fs.Sub(l.o.FS, p.dir)
	if err != nil {
		return err
	}
	targets, err := p.Targets(dir, render.Select{Environments: []string{"all"}})
	if err != nil {
		l.broken(p.file(), below(err, p.dir))
		return nil
	}
	v := &survey{linter: l, project: p, targets: targets, outlines: map[string]lang.Outline{}, read: map[string]bool{p.file(): true}}
	if err := v.outline(ctx); err != nil || v.failed {
		return err // what a broken program would read is not known
	}
	v.unreadFiles()
	v.unusedInputs()
	v.sameEnvironments()
	return nil
}

// survey is a look at a project as a whole.
type survey struct {
	*linter
	*project
	targets  []render.Target
	outlines map[string]lang.Outline // by key
	outliner render.Outliner
	read     map[string]bool
	failed   bool
}

// key tells apart what may have outlines of their own.
func key(t render.Target) string {
	k := t.Entry
	for _, name := range t.Settings.Code { // expressions may import files
		k += "\x00" + name + "=" + t.Inputs[name] + t.Offers[name]
	}
	return k
}

func (v *survey) outline(ctx context.Context) error {
	for _, t := range v.targets {
		k := key(t)
		if _, done := v.outlines[k]; done {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		v.outlines[k] = v.reads(t.Options(v.o.FS, v.dir, nil))
	}
	settings := lang.Settings{Search: v.Search, Modules: v.Modules}.Below(v.dir)
	for _, name := range v.names {
		if lang.IsTest(name) && v.projectOf(name) == v.project {
			v.reads(render.Options{FS: v.o.FS, Entry: name, Settings: settings})
		}
	}
	for _, name := range v.Policies {
		if name = path.Join(v.dir, name); path.Ext(name) == ".cue" {
			v.reads(render.Options{FS: v.o.FS, Entry: name, Settings: settings})
		}
	}
	return nil
}

// reads outlines a program, and notes its files.
func (v *survey) reads(o render.Options) lang.Outline {
	outline, err := v.outliner.Outline(o)
	v.failed = v.failed || err != nil
	for _, f := range outline.Files {
		v.read[f] = true
	}
	return outline
}

func (v *survey) report(rule lang.Rule, pos diag.Position, message, hint string, notes ...diag.Note) {
	if _, here := v.files[pos.File]; here {
		v.found = append(v.found, diag.Diagnostic{Code: rule.Code, Pos: pos, Message: message, Hint: hint, Notes: notes})
	}
}

// at is a position in the project file, from the module root.
func (v *survey) at(p diag.Position) diag.Position {
	p.File = v.file()
	return p
}

// notSources are files that other tools read from a project's directory.
var notSources = []string{"jsonnetfile.json", "jsonnetfile.lock.json"}

func (v *survey) unreadFiles() {
	for _, name := range v.names {
		base := path.Base(name)
		switch {
		case v.read[name] || v.projectOf(name) != v.project || slices.Contains(notSources, base):
		case strings.HasSuffix(base, "_tool.cue"): // for cue cmd
		case v.under(name, v.Policies) || v.under(name, v.Schemas):
		default:
			v.report(unreadFile, diag.Position{File: name}, "no unit, test or policy of the project reads it", "remove it, or say in "+render.ProjectFile+" what it is for: units, policies, schemas or lint.ignore")
		}
	}
}

// under reports whether a file is one of those that are named relative to the
// project, or below one.
func (v *survey) under(file string, names []string) bool {
	file = v.relative(file)
	return slices.ContainsFunc(names, func(n string) bool { return n == "." || file == n || strings.HasPrefix(file, n+"/") })
}

// takes reports whether one of the targets takes an input.
func (v *survey) takes(name string, of func(render.Target) bool) bool {
	return slices.ContainsFunc(v.targets, func(t render.Target) bool {
		o := v.outlines[key(t)]
		_, known := slices.BinarySearch(o.Inputs, name)
		return of(t) && (known || o.Any)
	})
}

func (v *survey) unusedInputs() {
	unused := func(where string, positions map[string]diag.Position, of func(render.Target) bool) {
		for _, name := range slices.Sorted(maps.Keys(positions)) {
			if !v.takes(name, of) {
				v.report(unusedInput, v.at(positions[name]), fmt.Sprintf("no program%s takes the input %s", where, name), "remove it, or declare it in a program")
			}
		}
	}
	every := func(render.Target) bool { return true }
	unused("", v.InputPos, every)
	for _, e := range v.Environments {
		unused(" of environment "+e.Name, e.InputPos, func(t render.Target) bool { return t.Environment == e.Name })
	}
	for _, i := range v.Images {
		if !v.takes(i.Input(), every) {
			v.report(unusedInput, v.at(i.Pos), fmt.Sprintf("image %s is built, and no program takes the input %s", i.Name, i.Input()), "remove it, or declare the input in a program")
		}
	}
}

// sameEnvironments finds environments in which every program is given the same.
func (v *survey) sameEnvironments() {
	given := func(e string) (out []string) {
		for _, t := range v.targets {
			if t.Environment != e {
				continue
			}
			inputs := maps.Clone(t.Offers)
			maps.Copy(inputs, t.Inputs)
			o := v.outlines[key(t)]
			maps.DeleteFunc(inputs, func(name, _ string) bool {
				_, takes := slices.BinarySearch(o.Inputs, name)
				return !takes && !o.Any
			})
			out = append(out, fmt.Sprintf("%q %q %q", key(t), t.Namespace, inputs))
		}
		return out
	}
	for j, e := range v.Environments {
		for _, other := range v.Environments[:j] {
			if slices.Equal(given(e.Name), given(other.Name)) {
				v.report(sameEnvironment, v.at(e.Pos), fmt.Sprintf("environment %s gives its programs what %s gives them", e.Name, other.Name),
					"remove one, or give them the inputs or the namespace in which they are to differ", diag.Note{Pos: v.at(other.Pos), Text: "the other one"})
				break
			}
		}
	}
}
