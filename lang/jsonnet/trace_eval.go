package jsonnet

import (
	"strconv"

	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
)

// eval evaluates an expression of the desugared syntax tree.
func (t *tracer) eval(n ast.Node, f *frame) (traced, error) {
	t.steps++
	if t.steps > maxTraceSteps || t.depth > maxTraceDepth {
		return traced{}, errTooLong
	}
	t.depth++
	defer func() { t.depth-- }()
	switch x := n.(type) {
	case *ast.LiteralNull:
		return traced{nil, literalOrigin(n, nil)}, nil
	case *ast.LiteralBoolean:
		return traced{x.Value, literalOrigin(n, x.Value)}, nil
	case *ast.LiteralString:
		return traced{x.Value, literalOrigin(n, x.Value)}, nil
	case *ast.LiteralNumber:
		v, err := strconv.ParseFloat(x.OriginalString, 64)
		if err != nil {
			return traced{}, failAt(n, "number out of range")
		}
		return traced{v, literalOrigin(n, v)}, nil
	case *ast.Array:
		return array(x, f), nil
	case *ast.DesugaredObject:
		return t.literalObject(x, f)
	case *ast.Function:
		return plain(&function{node: x, frame: f}), nil
	case *ast.Local:
		inner := f.inner(make(map[ast.Identifier]*cell, len(x.Binds)))
		bindCells(x.Binds, inner)
		return t.eval(x.Body, inner)
	case *ast.Var:
		c := f.lookup(x.Id)
		if c == nil {
			return traced{}, failAt(n, "unknown variable %s", x.Id)
		}
		return t.force(c)
	case *ast.Conditional:
		return t.conditional(x, f)
	case *ast.Binary:
		return t.binary(x, f)
	case *ast.Unary:
		return t.unary(x, f)
	case *ast.Apply:
		return t.apply(x, f)
	case *ast.Error:
		return traced{}, t.failure(x, f)
	}
	return t.evalOutside(n, f)
}

// evalOutside evaluates what looks into objects and files.
func (t *tracer) evalOutside(n ast.Node, f *frame) (traced, error) {
	switch x := n.(type) {
	case *ast.Self:
		if f.self == nil {
			return traced{}, failAt(n, "self outside of an object")
		}
		return plain(f.self), nil
	case *ast.Index:
		return t.index(x, f)
	case *ast.SuperIndex:
		name, err := t.superName(x.Index, f)
		if err != nil {
			return traced{}, err
		}
		return t.get(f.self, name, f.layer+1, n)
	case *ast.InSuper:
		name, err := t.superName(x.Index, f)
		if err != nil {
			return traced{}, err
		}
		m, _ := f.self.find(name, f.layer+1)
		return plain(m != nil), nil
	case *ast.Import:
		return t.importFile(x)
	case *ast.ImportStr:
		data, from, err := t.importData(n, x.File.Value)
		return traced{data, from}, err
	case *ast.ImportBin:
		data, from, err := t.importData(n, x.File.Value)
		bytes := &list{}
		for i := range len(data) {
			bytes.items = append(bytes.items, ready(traced{float64(data[i]), from}))
		}
		return traced{bytes, from}, err
	}
	return traced{}, failAt(n, "an expression that is not traced: %T", n)
}

// superName is the name of a field of super.
func (t *tracer) superName(n ast.Node, f *frame) (string, error) {
	v, err := t.eval(n, f)
	if err != nil {
		return "", err
	}
	s, ok := v.value.(string)
	if !ok || f.self == nil {
		return "", failAt(n, "super has no such field")
	}
	return s, nil
}

func (t *tracer) importData(n ast.Node, name string) (string, *origin, error) {
	data, file, err := t.vm.ImportData(n.Loc().FileName, name)
	if err != nil {
		return "", nil, failAt(n, "import %s", name)
	}
	return data, &origin{kind: lang.StepImport, name: file, pos: position(n.Loc()), value: data}, nil
}

func (t *tracer) failure(n *ast.Error, f *frame) error {
	v, err := t.eval(n.Expr, f)
	if err != nil {
		return err
	}
	text, err := t.toString(v.value)
	if err != nil {
		return err
	}
	return failAt(n, "%s", text)
}

func array(n *ast.Array, f *frame) traced {
	l := &list{items: make([]*cell, len(n.Elements))}
	for i, e := range n.Elements {
		loc := place(e.Expr)
		l.items[i] = &cell{node: e.Expr, frame: f, step: origin{kind: lang.StepElement, pos: position(&loc), call: f.call}}
	}
	return traced{l, &origin{kind: lang.StepLiteral, pos: position(n.Loc()), value: l, call: f.call}}
}

func (t *tracer) literalObject(n *ast.DesugaredObject, f *frame) (traced, error) {
	l := &layer{members: make(map[string]*member, len(n.Fields))}
	for i := range n.Fields {
		field := &n.Fields[i]
		name, err := t.eval(field.Name, f)
		if err != nil {
			return traced{}, err
		}
		if name.value == nil {
			continue
		}
		text, ok := name.value.(string)
		if !ok {
			return traced{}, failAt(field.Name, "the name of a field is not a string")
		}
		m := &member{
			body: field.Body, frame: f, locals: n.Locals, plus: field.PlusSuper, hide: field.Hide,
			pos: position(&field.LocRange),
		}
		if _, written := field.Name.(*ast.LiteralString); !written {
			m.nameNode = field.Name
		}
		l.members[text] = m
	}
	o := newObject(l)
	return traced{o, &origin{kind: lang.StepObject, pos: position(n.Loc()), value: o, call: f.call}}, nil
}

func (t *tracer) conditional(n *ast.Conditional, f *frame) (traced, error) {
	cond, err := t.eval(n.Cond, f)
	if err != nil {
		return traced{}, err
	}
	holds, ok := cond.value.(bool)
	if !ok {
		return traced{}, failAt(n, "the condition is not a boolean")
	}
	branch := n.BranchTrue
	if !holds {
		branch = n.BranchFalse
	}
	v, err := t.eval(branch, f)
	if err != nil || !n.Loc().IsSet() {
		return v, err // without a place it is an assertion, not a choice
	}
	return traced{v.value, &origin{value: v.value, choice: &choice{n, holds, cond.from}, from: compact(v.from)}}, nil
}

func (t *tracer) index(n *ast.Index, f *frame) (traced, error) {
	target, err := t.eval(n.Target, f)
	if err != nil {
		return target, err
	}
	index, err := t.eval(n.Index, f)
	if err != nil {
		return index, err
	}
	switch x := target.value.(type) {
	case *object:
		if name, ok := index.value.(string); ok {
			v, err := t.get(x, name, 0, n)
			return picked(n, v, index.from), err
		}
	case *list:
		if i, ok := index.value.(float64); ok && i >= 0 && i < float64(len(x.items)) {
			v, err := t.force(x.items[int(i)])
			return picked(n, v, index.from), err
		}
	case string:
		runes := []rune(x)
		if i, ok := index.value.(float64); ok && i >= 0 && i < float64(len(runes)) {
			return computed(n, string(runes[int(i)]), target.from), nil
		}
	}
	return traced{}, failAt(n, "there is no such field or element")
}

// picked is a value that an index picked. That is a step of its own when the
// index was computed, or when nothing else tells where the value comes from.
func picked(n *ast.Index, v traced, key *origin) traced {
	if key != nil && key.kind == lang.StepLiteral {
		key = nil
	}
	if key == nil && v.from != nil {
		return v
	}
	loc := n.Loc()
	return step(v, origin{kind: lang.StepReference, name: sourceText(loc), pos: position(loc), key: key})
}

// apply evaluates a call.
func (t *tracer) apply(n *ast.Apply, f *frame) (traced, error) {
	target, err := t.eval(n.Target, f)
	if err != nil {
		return target, err
	}
	fn, ok := target.value.(*function)
	if !ok {
		return traced{}, failAt(n, "not a function")
	}
	positional := make([]*cell, len(n.Arguments.Positional))
	for i, a := range n.Arguments.Positional {
		positional[i] = argument(a.Expr, f)
	}
	named := make(map[ast.Identifier]*cell, len(n.Arguments.Named))
	for _, a := range n.Arguments.Named {
		named[a.Name] = argument(a.Arg, f)
	}
	if n.TailStrict {
		for _, c := range positional {
			if _, err := t.force(c); err != nil {
				return traced{}, err
			}
		}
	}
	return t.call(fn, positional, named, f, n)
}

func argument(n ast.Node, f *frame) *cell {
	loc := place(n)
	return &cell{node: n, frame: f, step: origin{kind: lang.StepArgument, pos: position(&loc), call: f.call}}
}

// call calls a function. The frame f is the caller's, nil for the program.
func (t *tracer) call(fn *function, positional []*cell, named map[ast.Identifier]*cell, f *frame, at ast.Node) (traced, error) {
	var site *callSite
	if f != nil {
		site = &callSite{kind: lang.StepCall, pos: position(at.Loc()), name: calledName(at), outer: f.call}
	}
	if fn.node == nil {
		args, err := fn.arguments(positional, named, at)
		if err != nil {
			return traced{}, err
		}
		v, err := fn.native(t, args, site)
		return standardStep(v, fn.name, args, at), err
	}
	if len(positional) > len(fn.node.Parameters) {
		return traced{}, failAt(at, "too many arguments")
	}
	inner := &frame{outer: fn.frame, vars: make(map[ast.Identifier]*cell, len(fn.node.Parameters)), self: fn.frame.self, layer: fn.frame.layer, call: site}
	var args []*cell
	for i, p := range fn.node.Parameters {
		c := named[p.Name]
		switch {
		case i < len(positional):
			c = positional[i]
		case c == nil && p.DefaultArg != nil:
			c = argument(p.DefaultArg, inner)
			c.step.note = "the default"
		case c == nil:
			return traced{}, failAt(at, "the argument %s is missing", p.Name)
		}
		if c.step.kind == lang.StepArgument && !c.done {
			c.step.name = string(p.Name)
		}
		inner.vars[p.Name] = c
		args = append(args, c)
	}
	v, err := t.eval(fn.node.Body, inner)
	switch {
	case err != nil || site == nil:
		return v, err
	case fn.name != "":
		return standardStep(v, fn.name, args, at), nil
	}
	return step(v, origin{kind: lang.StepCall, name: site.name, pos: site.pos, call: site.outer}), nil
}

// calledName is how a function is called in the source.
func calledName(n ast.Node) string {
	apply, ok := n.(*ast.Apply)
	if !ok {
		return ""
	}
	name, target := "", apply.Target
	for {
		switch x := target.(type) {
		case *ast.Var:
			return string(x.Id) + name
		case *ast.Self:
			return "self" + name
		case *ast.Index:
			if s := literal(x.Index); s != "" {
				name, target = "."+s+name, x.Target
				continue
			}
		}
		if name == "" {
			return "a function"
		}
		return name[1:]
	}
}
