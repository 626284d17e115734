package jsonnet

import (
	"errors"
	"fmt"

	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// explain tells how parts of the program's value v came to be.
func (e *evaluation) explain(v lang.Value) []lang.Explanation {
	paths := e.program.Explain[:min(len(e.program.Explain), lang.MaxExplain)]
	if len(paths) == 0 {
		return nil
	}
	t := newTracer(e)
	root, err := t.guarded(func() (traced, error) { return t.program(e.node, e.entry) })
	var all []lang.Explanation
	for _, path := range paths {
		x, failed := lang.Explanation{}, err
		if err == nil {
			x, failed = t.explain(root, v, path)
		}
		if failed != nil {
			x = lang.Located(v, path, "the value could not be followed: "+failed.Error())
		}
		all = append(all, x)
	}
	return all
}

// guarded runs a part of the tracing. A fault of it is not worth a result.
func (t *tracer) guarded(f func() (traced, error)) (v traced, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the tracer failed: %v", r)
		}
	}()
	t.depth = 0
	return f()
}

// lost is a field around a value that another one replaced as a whole, and the
// path from it to the value.
type lost struct {
	field *fieldRef
	rest  []lang.Element
	by    diag.Position
}

// explain explains the part of the program's value at a path, which is known to
// be what value has there.
func (t *tracer) explain(root traced, value lang.Value, path string) (lang.Explanation, error) {
	elements, ok := lang.SplitPath(path)
	want, has := value.Inside(elements)
	if !ok || !has {
		return lang.Located(value, path, ""), nil
	}
	var replaced []lost
	v, err := t.guarded(func() (traced, error) {
		v, err := t.walk(root, elements, &replaced)
		if err != nil {
			return v, err
		}
		got, err := t.data(v.value, 0)
		if err == nil && string(got.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
			err = errors.New("it is another value when it is traced")
		}
		return v, err
	})
	if err != nil {
		return lang.Explanation{}, err
	}
	w := &explainer{tracer: t, want: want, calls: map[*callSite]bool{}, choices: map[*ast.Conditional]bool{}, seen: map[*origin]bool{}}
	_, err = t.guarded(func() (traced, error) {
		w.origin(v.from, 0, lang.Gives)
		for _, l := range replaced {
			before := len(w.steps)
			w.overridden(l.field, l.rest, 0, "all of "+l.field.name+" is replaced; with +: the two would be joined")
			if len(w.steps) > before {
				w.add(lang.Step{Depth: 1, Kind: lang.StepField, Effect: lang.Decides, Pos: l.by, Name: l.field.name})
			}
		}
		return traced{}, nil
	})
	if err == nil && len(w.steps) == 0 {
		err = errors.New("no part of the program says it")
	}
	return lang.Explanation{Path: path, Steps: w.steps, Gap: w.gap}, err
}

// walk finds the value at a path, and the fields around it that were replaced.
func (t *tracer) walk(v traced, elements []lang.Element, replaced *[]lost) (traced, error) {
	for n, e := range elements {
		var c *cell
		switch x := v.value.(type) {
		case *object:
			m, i := x.find(e.Name, 0)
			if m == nil || e.Index >= 0 {
				return v, fmt.Errorf("no field %s", e.Name)
			}
			r := &fieldRef{x, e.Name, i, m}
			c = t.fieldCell(r)
			if rest := elements[n+1:]; replaced != nil && len(rest) > 0 {
				for _, f := range hidden(r) {
					*replaced = append(*replaced, lost{f, rest, m.pos})
				}
			}
		case *list:
			if e.Index < 0 || e.Index >= len(x.items) {
				return v, fmt.Errorf("no element %d", e.Index)
			}
			c = x.items[e.Index]
		default:
			return v, errors.New("nothing is inside of a plain value")
		}
		var err error
		if v, err = t.force(c); err != nil {
			return v, err
		}
	}
	return v, nil
}

// hidden are the fields of an object that a field of it overrides: those of the
// layers below that no "+:" joins to it.
func hidden(r *fieldRef) []*fieldRef {
	var all []*fieldRef
	joined := r.member.plus
	for i := r.layer + 1; ; i++ {
		m, at := r.object.find(r.name, i)
		if m == nil {
			return all
		}
		i = at
		if joined {
			joined = m.plus
			continue
		}
		all = append(all, &fieldRef{r.object, r.name, at, m})
	}
}
