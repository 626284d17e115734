package jsonnet

import (
	"slices"
	"strings"
)

func nativeFilter(t *tracer, a []*cell, at *callSite) (traced, error) {
	f, err := as[*function](t, a[0])
	if err != nil {
		return traced{}, err
	}
	l, err := as[*list](t, a[1])
	if err != nil {
		return traced{}, err
	}
	out := &list{}
	for _, c := range l.items {
		v, err := t.applyTo(f, at, c)
		if err != nil {
			return v, err
		}
		if v.value == true {
			out.items = append(out.items, c)
		}
	}
	return plain(out), nil
}

func nativeFoldl(t *tracer, a []*cell, at *callSite) (traced, error) { return t.fold(a, at, false) }

func nativeFoldr(t *tracer, a []*cell, at *callSite) (traced, error) { return t.fold(a, at, true) }

// fold is std.foldl or, from the right, std.foldr.
func (t *tracer) fold(a []*cell, at *callSite, right bool) (traced, error) {
	f, err := as[*function](t, a[0])
	if err != nil {
		return traced{}, err
	}
	over, err := t.force(a[1])
	if err != nil {
		return traced{}, err
	}
	var items []*cell
	switch x := over.value.(type) {
	case *list:
		items = slices.Clone(x.items)
	case string:
		for _, r := range x {
			items = append(items, ready(plain(string(r))))
		}
	default:
		return traced{}, failAt(nil, "std.fold: not a list")
	}
	if right {
		slices.Reverse(items)
	}
	sum := a[2]
	for _, c := range items {
		args := []*cell{sum, c}
		if right {
			args = []*cell{c, sum}
		}
		v, err := t.applyTo(f, at, args...)
		if err != nil {
			return v, err
		}
		sum = ready(v)
	}
	return t.force(sum)
}

func nativeJoin(t *tracer, a []*cell, _ *callSite) (traced, error) {
	sep, err := t.force(a[0])
	if err != nil {
		return sep, err
	}
	l, err := as[*list](t, a[1])
	if err != nil {
		return traced{}, err
	}
	var values []any
	for _, c := range l.items {
		v, err := t.force(c)
		if err != nil {
			return v, err
		}
		if v.value != nil {
			values = append(values, v.value)
		}
	}
	switch between := sep.value.(type) {
	case *list:
		out := &list{}
		for i, v := range values {
			part, ok := v.(*list)
			if !ok {
				return traced{}, failAt(nil, "std.join: not a list of lists")
			}
			if i > 0 {
				out.items = append(out.items, between.items...)
			}
			out.items = append(out.items, part.items...)
		}
		return plain(out), nil
	case string:
		var parts []string
		for _, v := range values {
			s, ok := v.(string)
			if !ok {
				return traced{}, failAt(nil, "std.join: not a list of strings")
			}
			parts = append(parts, s)
		}
		return plain(strings.Join(parts, between)), nil
	}
	return traced{}, failAt(nil, "std.join: what is between is neither a string nor a list")
}

func nativeReverse(t *tracer, a []*cell, _ *callSite) (traced, error) {
	l, err := as[*list](t, a[0])
	if err != nil {
		return traced{}, err
	}
	out := &list{items: slices.Clone(l.items)}
	slices.Reverse(out.items)
	return plain(out), nil
}

func nativeMember(t *tracer, a []*cell, _ *callSite) (traced, error) {
	over, err := t.force(a[0])
	if err != nil {
		return over, err
	}
	if text, ok := over.value.(string); ok {
		x, err := as[string](t, a[1])
		return plain(strings.Contains(text, x)), err
	}
	l, ok := over.value.(*list)
	if !ok {
		return traced{}, failAt(nil, "std.member: not a list")
	}
	for _, c := range l.items {
		if same, err := t.equalCells(c, a[1]); err != nil || same {
			return plain(same), err
		}
	}
	return plain(false), nil
}

func nativeRemove(t *tracer, a []*cell, _ *callSite) (traced, error) {
	l, err := as[*list](t, a[0])
	if err != nil {
		return traced{}, err
	}
	for i, c := range l.items {
		same, err := t.equalCells(c, a[1])
		if err != nil {
			return traced{}, err
		}
		if same {
			return plain(&list{items: slices.Delete(slices.Clone(l.items), i, i+1)}), nil
		}
	}
	return plain(l), nil
}

// keyed is an element and what it is ordered by.
type keyed struct {
	item *cell
	key  any
}

// keys are the elements of a list with what a function makes of each.
func (t *tracer) keys(a []*cell, at *callSite) ([]keyed, error) {
	l, err := as[*list](t, a[0])
	if err != nil {
		return nil, err
	}
	var f *function
	if len(a) > 1 && a[1] != nil {
		if f, err = as[*function](t, a[1]); err != nil {
			return nil, err
		}
	}
	var all []keyed
	for _, c := range l.items {
		var v traced
		if f == nil {
			v, err = t.force(c)
		} else {
			v, err = t.applyTo(f, at, c)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, keyed{c, v.value})
	}
	return all, nil
}

func nativeSort(t *tracer, a []*cell, at *callSite) (traced, error) {
	all, err := t.keys(a, at)
	if err != nil {
		return traced{}, err
	}
	slices.SortStableFunc(all, func(x, y keyed) int {
		c, e := t.compare(x.key, y.key, nil)
		if e != nil {
			err = e
		}
		return c
	})
	out := &list{}
	for _, k := range all {
		out.items = append(out.items, k.item)
	}
	return plain(out), err
}

func nativeMin(t *tracer, a []*cell, at *callSite) (traced, error) { return t.extreme(a, at, -1) }

func nativeMax(t *tracer, a []*cell, at *callSite) (traced, error) { return t.extreme(a, at, 1) }

// extreme is the first least or greatest element.
func (t *tracer) extreme(a []*cell, at *callSite, sign int) (traced, error) {
	all, err := t.keys(a, at)
	if err != nil {
		return traced{}, err
	}
	if len(all) == 0 {
		if a[2] == nil {
			return traced{}, failAt(nil, "the list is empty")
		}
		return t.force(a[2])
	}
	best := all[0]
	for _, k := range all[1:] {
		c, err := t.compare(k.key, best.key, nil)
		if err != nil {
			return traced{}, err
		}
		if c == sign {
			best = k
		}
	}
	return t.force(best.item)
}
