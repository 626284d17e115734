package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityType = cel.OpaqueType("kubernetes.Quantity")

// maxQuantity bounds the text of a quantity, in bytes.
const maxQuantity = 256

func quantityValue(q resource.Quantity) ref.Val {
	return opaque{quantityType, q, func(other any) bool { return q.Cmp(other.(resource.Quantity)) == 0 }}
}

func asQuantity(v ref.Val) (resource.Quantity, bool) {
	o, ok := v.(opaque)
	if !ok {
		return resource.Quantity{}, false
	}
	q, ok := o.value.(resource.Quantity)
	return q, ok
}

func parseQuantity(v ref.Val) (resource.Quantity, ref.Val) {
	s, ok := v.(types.String)
	if !ok {
		return resource.Quantity{}, types.MaybeNoSuchOverloadErr(v)
	}
	if len(s) > maxQuantity {
		return resource.Quantity{}, types.NewErr("a quantity of %d bytes", len(s))
	}
	q, err := resource.ParseQuantity(string(s))
	if err != nil {
		return resource.Quantity{}, types.NewErr("%q is not a quantity", string(s))
	}
	return q, nil
}

// quantityFunctions are quantity, isQuantity and the methods of quantities.
func quantityFunctions() cel.EnvOption {
	return options(
		cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, quantityType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			q, err := parseQuantity(v)
			if err != nil {
				return err
			}
			return quantityValue(q)
		}))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			_, err := parseQuantity(v)
			return types.Bool(err == nil)
		}))),
		quantityMethod("sign", cel.IntType, func(q resource.Quantity) ref.Val { return types.Int(q.Sign()) }),
		quantityMethod("isInteger", cel.BoolType, func(q resource.Quantity) ref.Val {
			_, ok := q.AsInt64()
			return types.Bool(ok)
		}),
		quantityMethod("asInteger", cel.IntType, func(q resource.Quantity) ref.Val {
			i, ok := q.AsInt64()
			if !ok {
				return types.NewErr("%s is no integer", q.String())
			}
			return types.Int(i)
		}),
		quantityMethod("asApproximateFloat", cel.DoubleType, func(q resource.Quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) }),
		quantityPair("isLessThan", cel.BoolType, func(a, b resource.Quantity) ref.Val { return types.Bool(a.Cmp(b) < 0) }),
		quantityPair("isGreaterThan", cel.BoolType, func(a, b resource.Quantity) ref.Val { return types.Bool(a.Cmp(b) > 0) }),
		quantityPair("compareTo", cel.IntType, func(a, b resource.Quantity) ref.Val { return types.Int(a.Cmp(b)) }),
		quantitySum("add", func(a *resource.Quantity, b resource.Quantity) { a.Add(b) }),
		quantitySum("sub", func(a *resource.Quantity, b resource.Quantity) { a.Sub(b) }),
	)
}

func quantityMethod(name string, result *cel.Type, f func(resource.Quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("quantity_"+name, []*cel.Type{quantityType}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
		q, ok := asQuantity(v)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return f(q)
	})))
}

func quantityPair(name string, result *cel.Type, f func(a, b resource.Quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("quantity_"+name, []*cel.Type{quantityType, quantityType}, result, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		x, okX := asQuantity(a)
		y, okY := asQuantity(b)
		if !okX || !okY {
			return types.MaybeNoSuchOverloadErr(b)
		}
		return f(x, y)
	})))
}

// quantitySum takes a quantity or an int to the right.
func quantitySum(name string, f func(a *resource.Quantity, b resource.Quantity)) cel.EnvOption {
	binding := cel.BinaryBinding(func(a, b ref.Val) ref.Val {
		x, ok := asQuantity(a)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		y, ok := asQuantity(b)
		if n, isInt := b.(types.Int); isInt {
			y, ok = *resource.NewQuantity(int64(n), resource.DecimalSI), true
		}
		if !ok {
			return types.MaybeNoSuchOverloadErr(b)
		}
		x = x.DeepCopy()
		f(&x, y)
		return quantityValue(x)
	})
	return cel.Function(name,
		cel.MemberOverload("quantity_"+name, []*cel.Type{quantityType, quantityType}, quantityType, binding),
		cel.MemberOverload("quantity_"+name+"_int", []*cel.Type{quantityType, cel.IntType}, quantityType, binding))
}
