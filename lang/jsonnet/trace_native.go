package jsonnet

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

type nativeFunc = func(t *tracer, args []*cell, at *callSite) (traced, error)

// ownNatives are the functions of std that call functions, look at values
// without evaluating all of them, or are called too often to be left to others.
func ownNatives() map[string]nativeFunc {
	return map[string]nativeFunc{
		"id(x)":                         func(t *tracer, a []*cell, _ *callSite) (traced, error) { return t.force(a[0]) },
		"trace(str,rest)":               func(t *tracer, a []*cell, _ *callSite) (traced, error) { return t.force(a[1]) },
		"native(x)":                     nativeNone,
		"extVar(x)":                     nativeExtVar,
		"length(x)":                     nativeLength,
		"type(x)":                       nativeType,
		"toString(a)":                   nativeToString,
		"char(n)":                       nativeChar,
		"floor(x)":                      nativeFloor,
		"substr(str,from,len)":          nativeSubstr,
		"isNull(x)":                     nativeIsNull,
		"equals(x,y)":                   nativeEquals,
		"primitiveEquals(x,y)":          nativeEquals,
		"objectFieldsEx(obj,hidden)":    nativeFields,
		"objectHasEx(obj,fname,hidden)": nativeHas,
		"objectRemoveKey(obj,key)":      nativeRemoveKey,
		"makeArray(sz,func)":            nativeMakeArray,
		"range(from,to)":                nativeRange,
		"flatMap(func,arr)":             nativeFlatMap,
		"$flatMapArray(func,arr)":       nativeFlatMap,
		"$objectFlatMerge(x)":           nativeMerge,
		"filter(func,arr)":              nativeFilter,
		"foldl(func,arr,init)":          nativeFoldl,
		"foldr(func,arr,init)":          nativeFoldr,
		"join(sep,arr)":                 nativeJoin,
		"reverse(arr)":                  nativeReverse,
		"member(arr,x)":                 nativeMember,
		"contains(arr,elem)":            nativeMember,
		"remove(arr,elem)":              nativeRemove,
		"sort(arr,keyF?)":               nativeSort,
		"minArray(arr,keyF?,onEmpty?)":  nativeMin,
		"maxArray(arr,keyF?,onEmpty?)":  nativeMax,
	}
}

// as is the value of a cell, which must be of a type.
func as[T any](t *tracer, c *cell) (T, error) {
	var none T
	v, err := t.force(c)
	if err != nil {
		return none, err
	}
	x, ok := v.value.(T)
	if !ok {
		return none, failAt(nil, "std: an argument of a wrong type")
	}
	return x, nil
}

func nativeNone(*tracer, []*cell, *callSite) (traced, error) {
	return traced{}, failAt(nil, "there are no native functions")
}

func nativeExtVar(t *tracer, a []*cell, at *callSite) (traced, error) {
	name, err := as[string](t, a[0])
	if err != nil {
		return traced{}, err
	}
	var pos diag.Position
	if at != nil {
		pos = at.pos
	}
	v, ok, err := t.input(name, pos)
	if !ok {
		return traced{}, failAt(nil, "undefined external variable: %s", name)
	}
	return v, err
}

func nativeLength(t *tracer, a []*cell, _ *callSite) (traced, error) {
	v, err := t.force(a[0])
	if err != nil {
		return v, err
	}
	n := 0
	switch x := v.value.(type) {
	case *object:
		n = len(x.names(false))
	case *list:
		n = len(x.items)
	case string:
		n = utf8.RuneCountInString(x)
	case *function:
		n = x.required()
	default:
		return traced{}, failAt(nil, "std.length of such a value")
	}
	return plain(float64(n)), nil
}

// required counts the parameters without a default.
func (f *function) required() int {
	n := 0
	for _, p := range f.params {
		if !p.optional {
			n++
		}
	}
	if f.node != nil {
		for _, p := range f.node.Parameters {
			if p.DefaultArg == nil {
				n++
			}
		}
	}
	return n
}

func nativeType(t *tracer, a []*cell, _ *callSite) (traced, error) {
	v, err := t.force(a[0])
	name := "function"
	switch v.value.(type) {
	case nil:
		name = "null"
	case bool:
		name = "boolean"
	case float64:
		name = "number"
	case string:
		name = "string"
	case *list:
		name = "array"
	case *object:
		name = "object"
	}
	return plain(name), err
}

func nativeToString(t *tracer, a []*cell, _ *callSite) (traced, error) {
	v, err := t.force(a[0])
	if _, ok := v.value.(string); ok || err != nil {
		return v, err
	}
	s, err := t.toString(v.value)
	return plain(s), err
}

func nativeChar(t *tracer, a []*cell, _ *callSite) (traced, error) {
	n, err := as[float64](t, a[0])
	return plain(string(rune(int32(n)))), err
}

func nativeFloor(t *tracer, a []*cell, _ *callSite) (traced, error) {
	n, err := as[float64](t, a[0])
	return plain(math.Floor(n)), err
}

func nativeSubstr(t *tracer, a []*cell, _ *callSite) (traced, error) {
	s, err := as[string](t, a[0])
	if err != nil {
		return traced{}, err
	}
	from, err := as[float64](t, a[1])
	if err != nil {
		return traced{}, err
	}
	n, err := as[float64](t, a[2])
	if err != nil {
		return traced{}, err
	}
	if from < 0 || n < 0 {
		return traced{}, failAt(nil, "std.substr: a negative argument")
	}
	runes := []rune(s)
	length := float64(len(runes))
	begin := min(from, length)
	return plain(string(runes[int(begin):int(min(begin+n, length))])), nil
}

func nativeIsNull(t *tracer, a []*cell, _ *callSite) (traced, error) {
	v, err := t.force(a[0])
	return plain(v.value == nil), err
}

func nativeEquals(t *tracer, a []*cell, _ *callSite) (traced, error) {
	same, err := t.equalCells(a[0], a[1])
	return plain(same), err
}

func nativeFields(t *tracer, a []*cell, _ *callSite) (traced, error) {
	o, err := as[*object](t, a[0])
	if err != nil {
		return traced{}, err
	}
	hidden, err := as[bool](t, a[1])
	l := &list{}
	for _, name := range o.names(hidden) {
		l.items = append(l.items, ready(traced{name, keyOrigin(o, name)}))
	}
	return plain(l), err
}

// keyOrigin is where the name of a field was written.
func keyOrigin(o *object, name string) *origin {
	m, _ := o.find(name, 0)
	if m == nil || !m.pos.IsValid() {
		return nil
	}
	return &origin{kind: lang.StepField, name: name, pos: m.pos, value: name, note: "its name"}
}

func nativeHas(t *tracer, a []*cell, _ *callSite) (traced, error) {
	o, err := as[*object](t, a[0])
	if err != nil {
		return traced{}, err
	}
	name, err := as[string](t, a[1])
	if err != nil {
		return traced{}, err
	}
	hidden, err := as[bool](t, a[2])
	if m, _ := o.find(name, 0); m == nil || err != nil {
		return plain(false), err
	}
	return plain(hidden || slices.Contains(o.names(false), name)), nil
}

func nativeRemoveKey(t *tracer, a []*cell, _ *callSite) (traced, error) {
	v, err := t.force(a[0])
	o, ok := v.value.(*object)
	if err != nil || !ok {
		return v, err
	}
	key, err := as[string](t, a[1])
	only := map[string]bool{}
	for _, name := range o.names(true) {
		only[name] = name != key
	}
	limit := &layer{members: map[string]*member{}, only: only}
	return traced{newObject(append([]*layer{limit}, o.layers...)...), v.from}, err
}

// applyTo calls a function that was given to one of std.
func (t *tracer) applyTo(f *function, at *callSite, args ...*cell) (traced, error) {
	if f.node == nil {
		all, err := f.arguments(args, nil, nil)
		if err != nil {
			return traced{}, err
		}
		return f.native(t, all, at)
	}
	if len(args) > len(f.node.Parameters) {
		return traced{}, failAt(f.node, "too many arguments")
	}
	inner := &frame{outer: f.frame, vars: make(map[ast.Identifier]*cell, len(args)), self: f.frame.self, layer: f.frame.layer, call: at}
	for i, p := range f.node.Parameters {
		switch {
		case i < len(args):
			inner.vars[p.Name] = args[i]
		case p.DefaultArg != nil:
			inner.vars[p.Name] = argument(p.DefaultArg, inner)
		default:
			return traced{}, failAt(f.node, "the argument %s is missing", p.Name)
		}
	}
	return t.eval(f.node.Body, inner)
}

func nativeMakeArray(t *tracer, a []*cell, at *callSite) (traced, error) {
	n, err := as[float64](t, a[0])
	if err != nil {
		return traced{}, err
	}
	f, err := as[*function](t, a[1])
	if err != nil {
		return traced{}, err
	}
	if n < 0 || n > maxTraceSteps {
		return traced{}, errTooLong
	}
	l := &list{items: make([]*cell, int(n))}
	for i := range l.items {
		l.items[i] = &cell{compute: func(t *tracer) (traced, error) {
			return t.applyTo(f, at, ready(plain(float64(i))))
		}}
	}
	return plain(l), nil
}

func nativeRange(t *tracer, a []*cell, _ *callSite) (traced, error) {
	from, err := as[float64](t, a[0])
	if err != nil {
		return traced{}, err
	}
	to, err := as[float64](t, a[1])
	if err != nil {
		return traced{}, err
	}
	if to-from > maxTraceSteps {
		return traced{}, errTooLong
	}
	l := &list{}
	for i := from; i <= to; i++ {
		l.items = append(l.items, ready(plain(i)))
	}
	return plain(l), nil
}

func nativeFlatMap(t *tracer, a []*cell, at *callSite) (traced, error) {
	f, err := as[*function](t, a[0])
	if err != nil {
		return traced{}, err
	}
	over, err := t.force(a[1])
	if err != nil {
		return traced{}, err
	}
	if text, ok := over.value.(string); ok {
		return t.flatMapText(f, text, at)
	}
	l, ok := over.value.(*list)
	if !ok {
		return traced{}, failAt(nil, "std.flatMap: not a list")
	}
	out := &list{}
	for _, c := range l.items {
		v, err := t.applyTo(f, loop(at, f), c)
		if err != nil {
			return v, err
		}
		part, ok := v.value.(*list)
		if !ok {
			return traced{}, failAt(nil, "std.flatMap: the function gives no list")
		}
		out.items = append(out.items, part.items...)
	}
	return plain(out), nil
}

// loop is the site of a comprehension, whose function nobody has written.
func loop(at *callSite, f *function) *callSite {
	if at == nil || f.node == nil || f.node.Loc().IsSet() || len(f.node.Parameters) != 1 {
		return at
	}
	l := *at
	l.kind, l.name = lang.StepComprehension, string(f.node.Parameters[0].Name)
	return &l
}

func (t *tracer) flatMapText(f *function, text string, at *callSite) (traced, error) {
	var b strings.Builder
	for _, r := range text {
		v, err := t.applyTo(f, at, ready(plain(string(r))))
		if err != nil {
			return v, err
		}
		s, ok := v.value.(string)
		if !ok {
			return traced{}, failAt(nil, "std.flatMap: the function gives no string")
		}
		b.WriteString(s)
	}
	return plain(b.String()), nil
}

// nativeMerge makes one object of the objects of a comprehension.
func nativeMerge(t *tracer, a []*cell, at *callSite) (traced, error) {
	l, err := as[*list](t, a[0])
	if err != nil {
		return traced{}, err
	}
	out := &layer{members: map[string]*member{}}
	for _, c := range l.items {
		o, err := as[*object](t, c)
		if err != nil {
			return traced{}, err
		}
		for _, part := range o.layers {
			for name, m := range part.members {
				out.members[name] = m
			}
		}
	}
	o := newObject(out)
	from := &origin{kind: lang.StepObject, value: o}
	if at != nil {
		from.pos, from.call = at.pos, at.outer
	}
	return traced{o, from}, nil
}
