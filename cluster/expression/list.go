package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var (
	summable = []*cel.Type{cel.IntType, cel.UintType, cel.DoubleType, cel.DurationType}
	ordered  = []*cel.Type{cel.IntType, cel.UintType, cel.DoubleType, cel.BoolType, cel.DurationType, cel.TimestampType, cel.StringType, cel.BytesType}
)

// listFunctions are isSorted, sum, min, max, indexOf and lastIndexOf of lists.
func listFunctions() cel.EnvOption {
	// An overload for each type, not one for all: the result of one with a type
	// parameter would take the type of whatever it is first used for.
	unary := func(name string, elems []*cel.Type, result *cel.Type, f func(traits.Lister) ref.Val) cel.EnvOption {
		var overloads []cel.FunctionOpt
		for _, elem := range elems {
			gives := result
			if gives == nil {
				gives = elem
			}
			id := "list_" + elem.TypeName() + "_" + name
			overloads = append(overloads, cel.MemberOverload(id, []*cel.Type{cel.ListType(elem)}, gives, cel.UnaryBinding(func(v ref.Val) ref.Val {
				l, ok := v.(traits.Lister)
				if !ok {
					return types.MaybeNoSuchOverloadErr(v)
				}
				return f(l)
			})))
		}
		return cel.Function(name, overloads...)
	}
	t := cel.TypeParamType("T")
	of := cel.ListType(t)
	index := func(name, id string, f func(l traits.Lister, v ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, []*cel.Type{of, t}, cel.IntType, cel.BinaryBinding(func(a, v ref.Val) ref.Val {
			l, ok := a.(traits.Lister)
			if !ok {
				return types.MaybeNoSuchOverloadErr(a)
			}
			return f(l, v)
		})))
	}
	return options(
		unary("isSorted", ordered, cel.BoolType, isSorted),
		unary("sum", summable, nil, sum),
		unary("min", ordered, nil, func(l traits.Lister) ref.Val { return extreme("min", types.IntNegOne, l) }),
		unary("max", ordered, nil, func(l traits.Lister) ref.Val { return extreme("max", types.IntOne, l) }),
		index("indexOf", "list_index_of", func(l traits.Lister, v ref.Val) ref.Val {
			for i := range length(l) {
				if l.Get(i).Equal(v) == types.True {
					return i
				}
			}
			return types.IntNegOne
		}),
		index("lastIndexOf", "list_last_index_of", func(l traits.Lister, v ref.Val) ref.Val {
			for i := length(l) - 1; i >= 0; i-- {
				if l.Get(i).Equal(v) == types.True {
					return i
				}
			}
			return types.IntNegOne
		}),
	)
}

// options joins several options.
func options(list ...cel.EnvOption) cel.EnvOption {
	return func(e *cel.Env) (*cel.Env, error) {
		var err error
		for _, o := range list {
			if e, err = o(e); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
}

func length(l traits.Lister) types.Int {
	n, _ := l.Size().(types.Int)
	return n
}

func isSorted(l traits.Lister) ref.Val {
	for i := types.Int(1); i < length(l); i++ {
		c := compare(l.Get(i-1), l.Get(i))
		if types.IsUnknownOrError(c) {
			return c
		}
		if c == types.IntOne {
			return types.False
		}
	}
	return types.True
}

func compare(a, b ref.Val) ref.Val {
	c, ok := a.(traits.Comparer)
	if !ok {
		return types.MaybeNoSuchOverloadErr(a)
	}
	return c.Compare(b)
}

func sum(l traits.Lister) ref.Val {
	if length(l) == 0 {
		return types.IntZero
	}
	total := l.Get(types.IntZero)
	for i := types.Int(1); i < length(l); i++ {
		a, ok := total.(traits.Adder)
		if !ok {
			return types.MaybeNoSuchOverloadErr(total)
		}
		if total = a.Add(l.Get(i)); types.IsUnknownOrError(total) {
			return total
		}
	}
	return total
}

// extreme is the element that compares as want with all others.
func extreme(name string, want types.Int, l traits.Lister) ref.Val {
	if length(l) == 0 {
		return types.NewErr("%s of an empty list", name)
	}
	best := l.Get(types.IntZero)
	for i := types.Int(1); i < length(l); i++ {
		c := compare(l.Get(i), best)
		if types.IsUnknownOrError(c) {
			return c
		}
		if c == want {
			best = l.Get(i)
		}
	}
	return best
}
