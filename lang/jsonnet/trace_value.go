package jsonnet

import (
	"slices"

	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// A value of a tracer is nil, bool, float64, string, *list, *object or
// *function.

// traced is a value and where it comes from.
type traced struct {
	value any
	from  *origin
}

// origin is one step of where a value comes from. One without a place is not
// shown, only what is behind it.
type origin struct {
	kind lang.StepKind
	pos  diag.Position
	name string
	note string
	// value is the value that the step gave.
	value any
	// from is where the value comes from: of uses, what it was computed from;
	// else what passed it on.
	from []*origin
	uses bool
	// choice is the "if" that let the value through, which is from[0].
	choice *choice
	// field is the field of an object that the value is of.
	field *fieldRef
	// call is the call that the step is inside of.
	call *callSite
	// key is where the name or index comes from that picked the value.
	key *origin
}

// choice is a decided "if".
type choice struct {
	node  *ast.Conditional
	holds bool
	cond  *origin
}

// callSite is a call of a function, or of the body of a comprehension.
type callSite struct {
	kind  lang.StepKind
	pos   diag.Position
	name  string
	outer *callSite
}

// cell is an expression that is evaluated when it is asked for, once.
type cell struct {
	node  ast.Node
	frame *frame
	// compute is asked instead of node, when it is not nil.
	compute func(*tracer) (traced, error)
	// step is put before where the value comes from, when it has a kind.
	step origin

	done, busy bool
	result     traced
	err        error
}

// frame is a scope: variables, and the object that self is, seen from one of
// its layers.
type frame struct {
	outer *frame
	vars  map[ast.Identifier]*cell
	self  *object
	layer int
	call  *callSite
}

func (f *frame) inner(vars map[ast.Identifier]*cell) *frame {
	return &frame{outer: f, vars: vars, self: f.self, layer: f.layer, call: f.call}
}

func (f *frame) lookup(name ast.Identifier) *cell {
	for ; f != nil; f = f.outer {
		if c, ok := f.vars[name]; ok {
			return c
		}
	}
	return nil
}

type list struct{ items []*cell }

// function is a function of the program or, when native is not nil, one of std.
type function struct {
	node  *ast.Function
	frame *frame
	// name is that of a function of std.
	name   string
	params []param
	native nativeFunc
}

type param struct {
	name     ast.Identifier
	optional bool
}

// object is a sum of layers, the one that overrides the others first.
type object struct {
	layers []*layer
	cells  map[cellKey]*cell
	frames map[frameKey]*frame
}

type cellKey struct {
	name  string
	layer int
}

type frameKey struct {
	outer *frame
	layer int
}

// layer is what one object literal, or function of std, has.
type layer struct {
	members map[string]*member
	// only, when not nil, is the names that may be seen in the layers from this
	// one on.
	only map[string]bool
}

// member is a field of a layer.
type member struct {
	body     ast.Node
	nameNode ast.Node // nil when the name is written out
	frame    *frame
	locals   ast.LocalBinds
	plus     bool
	hide     ast.ObjectFieldHide
	pos      diag.Position
	// ready is the value of a member that no program has written.
	ready *cell
}

// fieldRef is a field of an object, and the layer that it is in.
type fieldRef struct {
	object *object
	name   string
	layer  int
	member *member
}

func newObject(layers ...*layer) *object {
	return &object{layers: layers, cells: map[cellKey]*cell{}, frames: map[frameKey]*frame{}}
}

// find is the member of a name in the layers from one on.
func (o *object) find(name string, from int) (*member, int) {
	for i := from; i < len(o.layers); i++ {
		if only := o.layers[i].only; only != nil && !only[name] {
			return nil, 0
		}
		if m, ok := o.layers[i].members[name]; ok {
			return m, i
		}
	}
	return nil, 0
}

// names is those of the fields, sorted.
func (o *object) names(hidden bool) []string {
	hides := map[string]ast.ObjectFieldHide{}
	for i := len(o.layers) - 1; i >= 0; i-- {
		for name, m := range o.layers[i].members {
			if _, ok := hides[name]; !ok || m.hide != ast.ObjectFieldInherit {
				hides[name] = m.hide
			}
		}
		if only := o.layers[i].only; only != nil {
			for name := range hides {
				if !only[name] {
					delete(hides, name)
				}
			}
		}
	}
	var names []string
	for name, hide := range hides {
		if hidden || hide != ast.ObjectFieldHidden {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ready is a cell that has its value.
func ready(v traced) *cell { return &cell{done: true, result: v} }

func plain(v any) traced { return traced{value: v} }

func literalOrigin(n ast.Node, v any) *origin {
	return &origin{kind: lang.StepLiteral, pos: position(n.Loc()), value: v}
}
