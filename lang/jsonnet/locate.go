package jsonnet

import (
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// locate gives v, the result of the program node, its positions.
func (r *resolver) locate(v *lang.Value, node ast.Node, entry string) {
	candidates := r.follow(thunk{node: node}, 0)
	var bodies []thunk
	for _, c := range candidates {
		if f, ok := c.node.(*ast.Function); ok {
			body := thunk{f.Body, arguments(f, c.env, ast.Arguments{}, nil)}
			bodies = append(bodies, r.follow(body, 0)...)
		}
	}
	r.place(v, append(bodies, candidates...), diag.Position{File: entry})
}

// place gives v and all inside it the positions of the first candidate that
// fits, or else the one around it.
func (r *resolver) place(v *lang.Value, candidates []thunk, around diag.Position) {
	v.Pos = around
	for _, c := range candidates {
		if p := position(c.node.Loc()); fits(v.Kind, c.node) && p.IsValid() && !lang.IsLibrary(p.File) {
			v.Pos = p
			break
		}
	}
	switch v.Kind {
	case lang.Object:
		for i := range v.Fields {
			r.placeField(&v.Fields[i], candidates, v.Pos)
		}
	case lang.List:
		r.placeItems(v, candidates)
	}
}

func (r *resolver) placeField(f *lang.Field, objects []thunk, around diag.Position) {
	f.Pos = around
	var bodies []thunk
	for i, member := range r.fields(objects, f.Name) {
		p := position(&member.loc)
		if i == 0 && p.IsValid() && !lang.IsLibrary(p.File) {
			f.Pos = p
		}
		bodies = append(bodies, r.follow(member.body, 0)...)
	}
	r.place(&f.Value, bodies, f.Pos)
}

func (r *resolver) placeItems(v *lang.Value, candidates []thunk) {
	var items []thunk
	every := false
	for _, c := range candidates {
		items, every = r.elements(c, 0)
		if every || len(items) == len(v.Items) {
			break
		}
		items = nil
	}
	for i := range v.Items {
		var found []thunk
		switch {
		case every && len(items) > 0:
			found = r.follow(items[0], 0)
		case i < len(items):
			found = r.follow(items[i], 0)
		}
		r.place(&v.Items[i], found, v.Pos)
	}
}

// fits reports whether an expression may have made a value of this kind.
func fits(k lang.Kind, n ast.Node) bool {
	switch n.(type) {
	case *ast.DesugaredObject:
		return k == lang.Object
	case *ast.Array:
		return k == lang.List
	case *ast.LiteralString:
		return k == lang.String
	case *ast.LiteralNumber:
		return k == lang.Number
	case *ast.LiteralBoolean:
		return k == lang.Bool
	case *ast.LiteralNull:
		return k == lang.Null
	case *ast.Function, *ast.Error:
		return false
	}
	return true
}
