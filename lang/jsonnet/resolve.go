package jsonnet

import (
	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// Bounds on following a program's syntax tree.
const (
	maxSteps      = 1_000_000
	maxFollow     = 200
	maxCandidates = 32
)

// thunk is an expression with the variables it sees.
type thunk struct {
	node ast.Node
	env  *env
}

// env is a scope. self is the object literal that encloses it.
type env struct {
	outer *env
	vars  map[ast.Identifier]thunk
	self  *thunk
}

func (e *env) lookup(name ast.Identifier) (thunk, bool) {
	for ; e != nil; e = e.outer {
		if t, ok := e.vars[name]; ok {
			return t, true
		}
	}
	return thunk{}, false
}

func (e *env) enclosing() *thunk {
	for ; e != nil; e = e.outer {
		if e.self != nil {
			return e.self
		}
	}
	return nil
}

// resolver follows expressions to the literals that make their value, without
// evaluating anything. Its answers are guesses at where things were written:
// conditions are not decided, and self means the object as written.
type resolver struct {
	vm      *jsonnet.VM
	steps   int
	known   map[thunk][]thunk
	objects map[thunk]*env
}

func newResolver(vm *jsonnet.VM) *resolver {
	return &resolver{vm: vm, known: map[thunk][]thunk{}, objects: map[thunk]*env{}}
}

// parameters is those of the function that a program is, or nil.
func (r *resolver) parameters(node ast.Node) []ast.Parameter {
	for _, t := range r.follow(thunk{node: node}, 0) {
		if f, ok := t.node.(*ast.Function); ok {
			return f.Parameters
		}
	}
	return nil
}

// follow finds the expressions that t may be the value of, the one that
// overrides the others first.
func (r *resolver) follow(t thunk, depth int) []thunk {
	if t.node == nil || depth > maxFollow || r.steps >= maxSteps {
		return nil
	}
	if found, ok := r.known[t]; ok {
		return found
	}
	r.steps++
	r.known[t] = nil // a cycle ends here
	found := r.step(t, depth+1)
	if len(found) > maxCandidates {
		found = found[:maxCandidates]
	}
	r.known[t] = found
	return found
}

func (r *resolver) step(t thunk, depth int) []thunk {
	switch n := t.node.(type) {
	case *ast.Var:
		if bound, ok := t.env.lookup(n.Id); ok {
			return r.follow(bound, depth)
		}
	case *ast.Local:
		return r.follow(thunk{n.Body, bindLocals(n.Binds, t.env)}, depth)
	case *ast.Import:
		if node, _, err := r.vm.ImportAST(n.Loc().FileName, n.File.Value); err == nil {
			return r.follow(thunk{node: node}, depth)
		}
		return nil
	case *ast.Conditional:
		return append(r.follow(thunk{n.BranchTrue, t.env}, depth), r.follow(thunk{n.BranchFalse, t.env}, depth)...)
	case *ast.Error:
		return nil
	case *ast.Binary:
		if n.Op == ast.BopPlus {
			right, left := r.follow(thunk{n.Right, t.env}, depth), r.follow(thunk{n.Left, t.env}, depth)
			if anyObject(right) || anyObject(left) {
				return append(right[:len(right):len(right)], left...)
			}
		}
	case *ast.Self:
		if self := t.env.enclosing(); self != nil {
			return []thunk{*self}
		}
	case *ast.Index:
		if found := r.index(n, t.env, depth); found != nil {
			return found
		}
	case *ast.Apply:
		return r.apply(n, t, depth)
	}
	return []thunk{t}
}

func anyObject(ts []thunk) bool {
	for _, t := range ts {
		if _, ok := t.node.(*ast.DesugaredObject); ok {
			return true
		}
	}
	return false
}

func bindLocals(binds ast.LocalBinds, outer *env) *env {
	e := &env{outer: outer, vars: make(map[ast.Identifier]thunk, len(binds))}
	for _, b := range binds {
		if b.Fun != nil {
			e.vars[b.Variable] = thunk{b.Fun, e}
		} else {
			e.vars[b.Variable] = thunk{b.Body, e}
		}
	}
	return e
}

// index follows target.name.
func (r *resolver) index(n *ast.Index, e *env, depth int) []thunk {
	name := literal(n.Index)
	if name == "" {
		return nil
	}
	var found []thunk
	for _, f := range r.fields(r.follow(thunk{n.Target, e}, depth), name) {
		found = append(found, r.follow(f.body, depth)...)
	}
	return found
}

// field is a member of an object literal.
type field struct {
	loc  ast.LocationRange
	body thunk
}

// fields finds the members called name in the objects, the one that counts
// first. Members that it extends with "+:" follow. Members whose name is
// computed count when there is no other.
func (r *resolver) fields(objects []thunk, name string) []field {
	var exactly, computed []field
	done := false
	for _, o := range objects {
		object, ok := o.node.(*ast.DesugaredObject)
		if !ok {
			continue
		}
		inner := r.objectEnv(o, object)
		for _, f := range object.Fields {
			member := field{f.LocRange, thunk{f.Body, inner}}
			switch is, sure := r.named(thunk{f.Name, o.env}, name); {
			case is && !done:
				exactly = append(exactly, member)
				done = sure && !f.PlusSuper
			case !is && !sure:
				computed = append(computed, member)
			}
		}
	}
	if exactly == nil {
		return computed
	}
	return exactly
}

// named reports whether a field's name is, or may be, the given one, and
// whether that is sure.
func (r *resolver) named(t thunk, name string) (is, sure bool) {
	if s, ok := t.node.(*ast.LiteralString); ok {
		return s.Value == name, true
	}
	for _, c := range r.follow(t, 0) {
		if literal(c.node) == name {
			return true, false
		}
	}
	return false, false
}

// objectEnv is the scope inside of an object literal.
func (r *resolver) objectEnv(t thunk, n *ast.DesugaredObject) *env {
	if e, ok := r.objects[t]; ok {
		return e
	}
	e := bindLocals(n.Locals, t.env)
	e.self = &t
	r.objects[t] = e
	return e
}

// apply follows a call into the function's body.
func (r *resolver) apply(n *ast.Apply, t thunk, depth int) []thunk {
	if name := standard(n); name != "" {
		return r.standard(name, n, t, depth)
	}
	var found []thunk
	for _, target := range r.follow(thunk{n.Target, t.env}, depth) {
		if f, ok := target.node.(*ast.Function); ok {
			found = append(found, r.follow(thunk{f.Body, arguments(f, target.env, n.Arguments, t.env)}, depth)...)
		}
	}
	if found == nil {
		return []thunk{t}
	}
	return found
}

// arguments is the scope of a function's body in a call.
func arguments(f *ast.Function, outer *env, args ast.Arguments, caller *env) *env {
	e := &env{outer: outer, vars: make(map[ast.Identifier]thunk, len(f.Parameters))}
	for i, p := range f.Parameters {
		switch {
		case i < len(args.Positional):
			e.vars[p.Name] = thunk{args.Positional[i].Expr, caller}
		case p.DefaultArg != nil:
			e.vars[p.Name] = thunk{p.DefaultArg, e}
		default:
			e.vars[p.Name] = thunk{}
		}
	}
	for _, a := range args.Named {
		e.vars[a.Name] = thunk{a.Arg, caller}
	}
	return e
}

// standard is the name of the std function that a call is of, or "".
func standard(n *ast.Apply) string {
	index, ok := n.Target.(*ast.Index)
	if !ok {
		return ""
	}
	if v, ok := index.Target.(*ast.Var); !ok || v.Id != "std" && v.Id != "$std" {
		return ""
	}
	return literal(index.Index)
}

// standard follows the functions that pass their arguments' parts on.
func (r *resolver) standard(name string, n *ast.Apply, t thunk, depth int) []thunk {
	argument := func(i int) []thunk {
		if i >= len(n.Arguments.Positional) {
			return nil
		}
		return r.follow(thunk{n.Arguments.Positional[i].Expr, t.env}, depth)
	}
	switch name {
	case "prune":
		return argument(0)
	case "mergePatch":
		return append(argument(1), argument(0)...)
	case "$objectFlatMerge":
		var found []thunk
		for _, list := range argument(0) {
			items, _ := r.elements(list, depth)
			for _, item := range items {
				found = append(found, r.follow(item, depth)...)
			}
		}
		return found
	}
	return []thunk{t}
}

// elements finds the elements of a list. When it knows only what each one
// looks like, as for a comprehension, there is one element and every is true.
func (r *resolver) elements(t thunk, depth int) (items []thunk, every bool) {
	switch n := t.node.(type) {
	case *ast.Array:
		for _, e := range n.Elements {
			items = append(items, thunk{e.Expr, t.env})
		}
		return items, false
	case *ast.Binary:
		if n.Op != ast.BopPlus || depth > maxFollow {
			return nil, false
		}
		for _, side := range []ast.Node{n.Left, n.Right} {
			var part []thunk
			for _, list := range r.follow(thunk{side, t.env}, depth+1) {
				if part, every = r.elements(list, depth+1); part != nil {
					break
				}
			}
			if every || part == nil {
				return nil, false
			}
			items = append(items, part...)
		}
		return items, false
	case *ast.Apply:
		return r.mapped(n, t, depth)
	}
	return nil, false
}

// mapped finds what the elements of a comprehension or of std.map look like.
func (r *resolver) mapped(n *ast.Apply, t thunk, depth int) ([]thunk, bool) {
	name := standard(n)
	if name != "$flatMapArray" && name != "map" && name != "mapWithIndex" && name != "flatMap" || len(n.Arguments.Positional) == 0 {
		return nil, false
	}
	for _, f := range r.follow(thunk{n.Arguments.Positional[0].Expr, t.env}, depth+1) {
		function, ok := f.node.(*ast.Function)
		if !ok {
			continue
		}
		body := thunk{function.Body, arguments(function, f.env, ast.Arguments{}, nil)}
		if name == "map" || name == "mapWithIndex" {
			return []thunk{body}, true
		}
		for _, list := range r.follow(body, depth+1) {
			if items, _ := r.elements(list, depth+1); len(items) == 1 {
				return items, true
			}
		}
	}
	return nil, false
}
