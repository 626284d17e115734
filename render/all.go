package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxReported bounds the diagnostics of a run over many targets.
const maxReported = 200

// AllOptions say how to render many targets.
type AllOptions struct {
	// FS is the module root, and Dir the project's directory in it.
	FS  fs.FS
	Dir string
	// Evaluators are as in Options. They are used from several goroutines.
	Evaluators map[Language]lang.Evaluator
	// Parallel is how many targets are evaluated at a time; 0 means one for
	// each processor.
	Parallel int
	// Render renders one target; nil means Render.
	Render func(context.Context, Options) (*Bundle, error)
	// Progress, when not nil, is called after each target, one call at a time.
	Progress func(done, total int)
}

// All renders targets and returns their bundles in the same order. What is
// wrong with any of them is reported for all, once each.
func All(ctx context.Context, targets []Target, o AllOptions) ([]*Bundle, error) {
	parallel := cmp.Or(o.Parallel, runtime.GOMAXPROCS(0))
	one := o.Render
	if one == nil {
		one = Render
	}
	bundles := make([]*Bundle, len(targets))
	var mu sync.Mutex
	problems := make([]diag.List, len(targets))
	done, wrong := 0, 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, t := range targets {
		g.Go(func() error {
			b, err := one(ctx, t.Options(o.FS, o.Dir, o.Evaluators))
			mu.Lock()
			defer mu.Unlock()
			done++
			if o.Progress != nil {
				o.Progress(done, len(targets))
			}
			var l diag.List
			switch {
			case err == nil:
				bundles[i] = b
			case errors.As(err, &l):
				problems[i] = l
				if wrong += len(l); wrong > 10*maxReported {
					return l // there is no end to it
				}
			default:
				return fmt.Errorf("render %s: %w", t, err)
			}
			return nil
		})
	}
	err := g.Wait()
	if wrong > 0 {
		return nil, once(slices.Concat(problems...))
	}
	if err == nil {
		err = someDocument(targets, bundles)
	}
	return bundles, err
}

// someDocument refuses targets that need not have documents when none has one.
func someDocument(targets []Target, bundles []*Bundle) error {
	for i, t := range targets {
		if !t.Optional || len(bundles[i].Documents) > 0 {
			return nil
		}
	}
	if len(targets) == 0 {
		return nil
	}
	return diag.List{{
		Code: "RENDER003", Message: fmt.Sprintf("none of the %d programs has a document", len(targets)),
		Hint: "a document is an object with apiVersion and kind; it may be nested in other objects and lists",
	}}
}

// once sorts diagnostics and drops those that are there already: a fault in a
// shared file shows in every program that uses it.
func once(l diag.List) error {
	seen := map[string]bool{}
	l = slices.DeleteFunc(diag.From(l.Err()), func(d diag.Diagnostic) bool {
		text, _ := json.Marshal(d) // strings and numbers only
		defer func() { seen[string(text)] = true }()
		return seen[string(text)]
	})
	if more := len(l) - maxReported; more > 0 {
		l = append(l[:maxReported:maxReported], diag.Diagnostic{Code: "RENDER006", Message: fmt.Sprintf("there is more wrong: %d further problems are not shown", more)})
	}
	return l
}

// CheckOffers reports inputs that no program has, which are most often
// misspelt: of those that were selected, and, when every unit was, of those
// that the project file offers. Bundles are those of targets.
func CheckOffers(p *Project, s Select, targets []Target, bundles []*Bundle) error {
	used, offered := map[string]bool{}, map[string]bool{}
	for name := range s.Inputs {
		offered[name] = true
	}
	for i, t := range targets {
		if len(s.Units) == 0 {
			for name := range t.Offers {
				offered[name] = true
			}
		}
		for name := range bundles[i].Inputs {
			used[name] = true
		}
	}
	var problems diag.List
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if used[name] {
			continue
		}
		d := diag.Diagnostic{
			Code:    "LANG004",
			Message: fmt.Sprintf("no program has the input %q", name),
			Hint:    "remove it, or declare it in a program",
		}
		if _, ok := s.Inputs[name]; !ok {
			d.Pos = diag.Position{File: ProjectFile}
		}
		for _, i := range p.Images {
			if i.Input() == name {
				d.Pos = i.Pos
			}
		}
		problems = append(problems, d)
	}
	return problems.Err()
}

// Merge makes one bundle of those of several targets, which must not write the
// same object.
func Merge(targets []Target, bundles []*Bundle) (*Bundle, error) {
	if len(bundles) == 1 {
		return bundles[0], nil
	}
	c := collector{}
	out := &Bundle{Inputs: map[string]string{}}
	reads := map[string]lang.Read{}
	for i, b := range bundles {
		c.docs = append(c.docs, b.Documents...)
		for name, value := range b.Inputs {
			// Units may be given different values for one name.
			if have, ok := out.Inputs[name]; ok && have != value {
				name = targets[i].Unit + ":" + name
			}
			out.Inputs[name] = value
		}
		for _, r := range b.Reads {
			reads[r.File] = r
		}
	}
	c.refuseDuplicates()
	if err := c.errs.Err(); err != nil {
		return nil, err
	}
	order(c.docs)
	out.Documents, out.Digest = c.docs, digest(c.docs)
	for _, r := range reads {
		out.Reads = append(out.Reads, r)
	}
	slices.SortFunc(out.Reads, func(a, b lang.Read) int { return strings.Compare(a.File, b.File) })
	return out, nil
}
