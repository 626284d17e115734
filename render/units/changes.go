package units

import (
	"io/fs"
	"maps"
	"slices"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
)

// Before is a state that programs are compared with.
type Before struct {
	// FS is its module root. What it has of a file is asked once.
	FS fs.FS
	// Targets are the programs that there were; nil when that is not known.
	Targets []render.Target
	// Same, when not nil, tells of a read that comes out otherwise whether that
	// is to be overlooked.
	Same func(lang.Read) bool

	again map[string]string
}

// Changes tells why a program may render to something else than it did before:
// nothing means that its evaluation reads the same, and is given the same.
func (b *Before) Changes(p Program) []Use {
	i := slices.IndexFunc(b.Targets, func(t render.Target) bool { return t.Unit == p.Unit && t.Environment == p.Environment })
	if i < 0 {
		return []Use{{Added, ""}}
	}
	var all []Use
	t := b.Targets[i]
	if t.Entry != p.Entry || t.Namespace != p.Namespace {
		all = append(all, Use{Unlike, render.ProjectFile})
	}
	for _, name := range differing(given(t), given(p.Target)) {
		// Only inputs that the program has can make a difference. Whether it had
		// one that is given no more is not known.
		_, has := p.Bundle.Inputs[name]
		if _, still := given(p.Target)[name]; has || !still {
			all = append(all, Use{Takes, name})
		}
	}
	for _, r := range p.Bundle.Reads {
		if lang.IsLibrary(r.File) || b.read(r) == r.SHA256 || b.Same != nil && b.Same(r) {
			continue
		}
		all = append(all, useOf(r))
	}
	return tidy(all)
}

// Gone lists the targets that no program is any more.
func (b *Before) Gone(programs []Program) []render.Target {
	return slices.DeleteFunc(slices.Clone(b.Targets), func(t render.Target) bool {
		return slices.ContainsFunc(programs, func(p Program) bool { return t.Unit == p.Unit && t.Environment == p.Environment })
	})
}

func (b *Before) read(r lang.Read) string {
	if b.again == nil {
		b.again = map[string]string{}
	}
	digest, ok := b.again[r.File]
	if !ok {
		digest = r.Again(b.FS, nil)
		b.again[r.File] = digest
	}
	return digest
}

// given is what a target is given and offered.
func given(t render.Target) map[string]string {
	all := maps.Clone(t.Offers)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, t.Inputs)
	return all
}

// differing are the names that two sets of inputs do not have alike, sorted.
func differing(a, b map[string]string) []string {
	var names []string
	for name, value := range b {
		if old, ok := a[name]; !ok || old != value {
			names = append(names, name)
		}
	}
	for name := range a {
		if _, ok := b[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
