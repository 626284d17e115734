package jsonnet

import (
	"cmp"
	"math"
	"strconv"

	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
)

func (t *tracer) binary(n *ast.Binary, f *frame) (traced, error) {
	left, err := t.eval(n.Left, f)
	if err != nil {
		return left, err
	}
	if n.Op == ast.BopAnd || n.Op == ast.BopOr {
		b, ok := left.value.(bool)
		if !ok {
			return traced{}, failAt(n, "not a boolean")
		}
		if b == (n.Op == ast.BopOr) {
			return computed(n, b, left.from), nil
		}
		right, err := t.eval(n.Right, f)
		if _, ok := right.value.(bool); err == nil && !ok {
			err = failAt(n, "not a boolean")
		}
		return computed(n, right.value, left.from, right.from), err
	}
	right, err := t.eval(n.Right, f)
	if err != nil {
		return right, err
	}
	if n.Op != ast.BopPlus {
		v, err := t.operate(n.Op, left.value, right.value, n)
		return computed(n, v, left.from, right.from), err
	}
	v, err := t.plus(left.value, right.value, n)
	out := computed(n, v, right.from, left.from)
	if _, ok := v.(*object); ok {
		out.from.kind = lang.StepObject
	} else {
		out.from.from = compact(left.from, right.from)
	}
	return out, err
}

// computed is a value that was computed from others.
func computed(n ast.Node, v any, from ...*origin) traced {
	return traced{v, &origin{kind: lang.StepExpression, pos: position(n.Loc()), value: v, uses: true, from: compact(from...)}}
}

// plus adds numbers, strings, lists and objects.
func (t *tracer) plus(a, b any, at ast.Node) (any, error) {
	_, leftText := a.(string)
	_, rightText := b.(string)
	if leftText || rightText {
		left, err := t.toString(a)
		if err != nil {
			return nil, err
		}
		right, err := t.toString(b)
		return left + right, err
	}
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return finite(x+y, at)
		}
	case *list:
		if y, ok := b.(*list); ok {
			return &list{items: append(append(make([]*cell, 0, len(x.items)+len(y.items)), x.items...), y.items...)}, nil
		}
	case *object:
		if y, ok := b.(*object); ok {
			return newObject(append(append(make([]*layer, 0, len(x.layers)+len(y.layers)), y.layers...), x.layers...)...), nil
		}
	}
	return nil, failAt(at, "values of these types cannot be added")
}

func finite(v float64, at ast.Node) (any, error) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil, failAt(at, "overflow")
	}
	return v, nil
}

// operate is an operator of two values other than "+".
func (t *tracer) operate(op ast.BinaryOp, a, b any, at ast.Node) (any, error) {
	switch op {
	case ast.BopManifestEqual, ast.BopManifestUnequal:
		same, err := t.equal(a, b)
		return same == (op == ast.BopManifestEqual), err
	case ast.BopLess:
		c, err := t.compare(a, b, at)
		return c < 0, err
	case ast.BopLessEq:
		c, err := t.compare(a, b, at)
		return c <= 0, err
	case ast.BopGreater:
		c, err := t.compare(a, b, at)
		return c > 0, err
	case ast.BopGreaterEq:
		c, err := t.compare(a, b, at)
		return c >= 0, err
	}
	x, ok := a.(float64)
	y, ok2 := b.(float64)
	if !ok || !ok2 {
		return nil, failAt(at, "not numbers")
	}
	switch op {
	case ast.BopMinus:
		return finite(x-y, at)
	case ast.BopMult:
		return finite(x*y, at)
	case ast.BopDiv:
		return finite(x/y, at)
	case ast.BopBitwiseAnd:
		return float64(int64(x) & int64(y)), nil
	case ast.BopBitwiseOr:
		return float64(int64(x) | int64(y)), nil
	case ast.BopBitwiseXor:
		return float64(int64(x) ^ int64(y)), nil
	case ast.BopShiftL:
		return float64(int64(x) << (uint64(y) % 64)), nil
	case ast.BopShiftR:
		return float64(int64(x) >> (uint64(y) % 64)), nil
	}
	return nil, failAt(at, "an operator that is not traced")
}

func (t *tracer) unary(n *ast.Unary, f *frame) (traced, error) {
	v, err := t.eval(n.Expr, f)
	if err != nil {
		return v, err
	}
	switch x := v.value.(type) {
	case bool:
		if n.Op == ast.UopNot {
			return computed(n, !x, v.from), nil
		}
	case float64:
		switch n.Op {
		case ast.UopMinus:
			if v.from != nil && v.from.kind == lang.StepLiteral {
				return traced{-x, &origin{kind: lang.StepLiteral, pos: position(n.Loc()), value: -x}}, nil
			}
			return computed(n, -x, v.from), nil
		case ast.UopPlus:
			return v, nil
		case ast.UopBitwiseNot:
			return computed(n, float64(^int64(x)), v.from), nil
		}
	}
	return traced{}, failAt(n, "an operator on a value of another type")
}

// equal compares two values and all inside of them.
func (t *tracer) equal(a, b any) (bool, error) {
	switch x := a.(type) {
	case *list:
		y, ok := b.(*list)
		if !ok || len(x.items) != len(y.items) {
			return false, nil
		}
		for i := range x.items {
			if same, err := t.equalCells(x.items[i], y.items[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case *object:
		y, ok := b.(*object)
		if !ok {
			return false, nil
		}
		return t.equalObjects(x, y)
	case *function:
		return false, failAt(nil, "functions cannot be compared")
	}
	return a == b, nil
}

func (t *tracer) equalObjects(x, y *object) (bool, error) {
	names, others := x.names(false), y.names(false)
	if len(names) != len(others) {
		return false, nil
	}
	for i, name := range names {
		if others[i] != name {
			return false, nil
		}
		left, err := t.get(x, name, 0, nil)
		if err != nil {
			return false, err
		}
		right, err := t.get(y, name, 0, nil)
		if err != nil {
			return false, err
		}
		if same, err := t.equal(left.value, right.value); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (t *tracer) equalCells(a, b *cell) (bool, error) {
	x, err := t.force(a)
	if err != nil {
		return false, err
	}
	y, err := t.force(b)
	if err != nil {
		return false, err
	}
	return t.equal(x.value, y.value)
}

// compare orders numbers, strings, and lists of such.
func (t *tracer) compare(a, b any, at ast.Node) (int, error) {
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y), nil
		}
	case string:
		// Code points are ordered as UTF-8 is.
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y), nil
		}
	case *list:
		y, ok := b.(*list)
		if !ok {
			break
		}
		for i := range min(len(x.items), len(y.items)) {
			left, err := t.force(x.items[i])
			if err != nil {
				return 0, err
			}
			right, err := t.force(y.items[i])
			if err != nil {
				return 0, err
			}
			if c, err := t.compare(left.value, right.value, at); err != nil || c != 0 {
				return c, err
			}
		}
		return cmp.Compare(len(x.items), len(y.items)), nil
	}
	return 0, failAt(at, "values of these types have no order")
}

// toString is std.toString.
func (t *tracer) toString(v any) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(x), nil
	case float64:
		if x == math.Floor(x) {
			return strconv.FormatFloat(x, 'f', 0, 64), nil
		}
		return strconv.FormatFloat(x, 'g', 17, 64), nil
	}
	out, err := t.delegate("toString", []any{v})
	s, _ := out.(string)
	return s, err
}
