package jsonnet

import (
	"errors"
	"fmt"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Bounds of a tracing evaluation.
const (
	maxTraceSteps = 20_000_000
	maxTraceDepth = 20_000
)

// tracer evaluates a program once more and remembers for every value where it
// comes from. go-jsonnet's evaluator keeps nothing of the kind and cannot be
// observed, so this is one of its own, for the syntax tree that go-jsonnet has
// desugared and analysed. Nothing depends on it being right: what it tells of a
// value counts only when it arrives at the same value.
//
// It is as lazy as Jsonnet, so it evaluates what is asked about and no more.
// Assertions are not checked again.
type tracer struct {
	vm     *jsonnet.VM
	inputs bound
	std    *object
	files  map[string]*cell
	// steps counts what is evaluated, and depth how deep that nests.
	steps, depth int
}

// errTooLong says that an evaluation was given up.
var errTooLong = errors.New("the program is too long or nests too deep to be evaluated once more")

// traceError is a failure of the program, or something that is not traced.
type traceError struct {
	pos     diag.Position
	message string
}

func (e traceError) Error() string {
	if e.pos.IsValid() {
		return e.pos.String() + ": " + e.message
	}
	return e.message
}

func failAt(n ast.Node, format string, args ...any) error {
	var pos diag.Position
	if n != nil {
		pos = position(n.Loc())
	}
	return traceError{pos, fmt.Sprintf(format, args...)}
}

func newTracer(e *evaluation) *tracer {
	t := &tracer{vm: e.vm, inputs: e.inputs, files: map[string]*cell{}}
	t.std = t.standardLibrary()
	return t
}

// program is the value of the program; a function is called with the inputs.
func (t *tracer) program(node ast.Node, file string) (traced, error) {
	v, err := t.eval(node, t.fileFrame(file))
	f, ok := v.value.(*function)
	if err != nil || !ok {
		return v, err
	}
	if f.node == nil {
		return v, failAt(node, "the program is a function of std")
	}
	named := map[ast.Identifier]*cell{}
	for _, p := range f.node.Parameters {
		v, ok, err := t.input(string(p.Name), position(&p.LocRange))
		if err != nil {
			return v, err
		}
		if ok {
			named[p.Name] = ready(v)
		}
	}
	return t.call(f, nil, named, nil, node)
}

// input is the value of an input that is asked for at pos, if there is one of
// that name.
func (t *tracer) input(name string, pos diag.Position) (traced, bool, error) {
	text, ok := t.inputs.text[name]
	if !ok {
		return traced{}, false, nil
	}
	o := origin{kind: lang.StepInput, name: name, pos: pos, value: text}
	node := t.inputs.code[name]
	if node == nil {
		return traced{text, &o}, true, nil
	}
	v, err := t.eval(node, t.fileFrame("<input "+name+">"))
	return step(v, o), true, err
}

// fileFrame is the scope of a file.
func (t *tracer) fileFrame(file string) *frame {
	here := &layer{members: map[string]*member{
		"thisFile": {hide: ast.ObjectFieldHidden, ready: ready(plain(file))},
	}}
	std := ready(plain(newObject(append([]*layer{here}, t.std.layers...)...)))
	return &frame{vars: map[ast.Identifier]*cell{"std": std, "$std": std}}
}

// importFile is the value of an imported file.
func (t *tracer) importFile(n *ast.Import) (traced, error) {
	node, file, err := t.vm.ImportAST(n.Loc().FileName, n.File.Value)
	if err != nil {
		return traced{}, failAt(n, "import %s", n.File.Value)
	}
	c, ok := t.files[file]
	if !ok {
		c = &cell{node: node, frame: t.fileFrame(file)}
		t.files[file] = c
	}
	v, err := t.force(c)
	return step(v, origin{kind: lang.StepImport, name: file, pos: position(n.Loc())}), err
}

// step puts a step before where a value comes from.
func step(v traced, o origin) traced {
	o.value = v.value
	if v.from != nil {
		o.from = []*origin{v.from}
	}
	return traced{v.value, &o}
}

// force is the value of a cell.
func (t *tracer) force(c *cell) (traced, error) {
	if c.done {
		return c.result, c.err
	}
	if c.busy {
		return traced{}, failAt(c.node, "the value depends on itself")
	}
	c.busy = true
	var v traced
	var err error
	if c.compute != nil {
		v, err = c.compute(t)
	} else {
		v, err = t.eval(c.node, c.frame)
	}
	c.busy = false
	if err == nil && c.step.kind != "" {
		v = step(v, c.step)
	}
	if errors.Is(err, errTooLong) {
		return v, err // another time it may not be
	}
	c.done, c.result, c.err = true, v, err
	c.node, c.frame, c.compute = nil, nil, nil
	return v, err
}

// get is a field of an object, in the layers from one on.
func (t *tracer) get(o *object, name string, from int, at ast.Node) (traced, error) {
	m, i := o.find(name, from)
	if m == nil {
		return traced{}, failAt(at, "field does not exist: %s", name)
	}
	return t.force(t.fieldCell(&fieldRef{o, name, i, m}))
}

// fieldCell is the cell of a field.
func (t *tracer) fieldCell(r *fieldRef) *cell {
	key := cellKey{r.name, r.layer}
	if c, ok := r.object.cells[key]; ok {
		return c
	}
	c := r.member.ready
	if c == nil {
		f := t.memberFrame(r)
		c = &cell{node: r.member.body, frame: f, step: origin{
			kind: lang.StepField, name: r.name, pos: r.member.place(), field: r, call: f.call,
		}}
		if r.member.plus {
			s := c.step
			s.kind = lang.StepExtend
			c.step = origin{}
			c.compute = func(t *tracer) (traced, error) { return t.extend(r, f, s) }
		}
	}
	r.object.cells[key] = c
	return c
}

// place is where the value of a member is written.
func (m *member) place() diag.Position {
	if m.body == nil {
		return m.pos
	}
	loc := place(m.body)
	return firstValid(position(&loc), m.pos)
}

func firstValid(positions ...diag.Position) diag.Position {
	for _, p := range positions {
		if p.IsValid() {
			return p
		}
	}
	return diag.Position{}
}

// extend is the value of a field with "+:", joined to the one that it inherits.
func (t *tracer) extend(r *fieldRef, f *frame, s origin) (traced, error) {
	own, err := t.eval(r.member.body, f)
	if err != nil {
		return own, err
	}
	if super, _ := r.object.find(r.name, r.layer+1); super == nil {
		return step(own, s), nil
	}
	inherited, err := t.get(r.object, r.name, r.layer+1, r.member.body)
	if err != nil {
		return inherited, err
	}
	v, err := t.plus(inherited.value, own.value, r.member.body)
	s.value, s.from, s.uses = v, compact(own.from, inherited.from), true
	return traced{v, &s}, err
}

// compact leaves out what there is not.
func compact(origins ...*origin) []*origin {
	var all []*origin
	for _, o := range origins {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// memberFrame is the scope of a member of an object.
func (t *tracer) memberFrame(r *fieldRef) *frame {
	m := r.member
	key := frameKey{m.frame, r.layer}
	if f, ok := r.object.frames[key]; ok {
		return f
	}
	f := &frame{outer: m.frame, vars: make(map[ast.Identifier]*cell, len(m.locals)), self: r.object, layer: r.layer, call: m.frame.call}
	bindCells(m.locals, f)
	r.object.frames[key] = f
	return f
}

// bindCells puts local variables into their scope.
func bindCells(binds ast.LocalBinds, f *frame) {
	for _, b := range binds {
		body := b.Body
		if b.Fun != nil {
			body = b.Fun
		}
		c := &cell{node: body, frame: f}
		if _, function := body.(*ast.Function); !function && b.Variable != "$" {
			loc := place(body)
			c.step = origin{kind: lang.StepLocal, name: string(b.Variable), pos: firstValid(position(&loc), position(&b.LocRange)), call: f.call}
		}
		f.vars[b.Variable] = c
	}
}
