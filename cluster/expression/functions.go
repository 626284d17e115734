package expression

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// opaque is a Go value that expressions can only hand to functions and compare.
type opaque struct {
	typ   *cel.Type
	value any
	equal func(other any) bool
}

// ConvertToNative satisfies ref.Val.
func (o opaque) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeOf(o.value).AssignableTo(t) {
		return o.value, nil
	}
	return nil, fmt.Errorf("a %s cannot become a %s", o.typ.TypeName(), t)
}

// ConvertToType satisfies ref.Val.
func (o opaque) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case o.typ:
		return o
	case types.TypeType:
		return o.typ
	}
	return types.NewErr("a %s cannot become a %s", o.typ.TypeName(), t.TypeName())
}

// Equal satisfies ref.Val.
func (o opaque) Equal(other ref.Val) ref.Val {
	x, ok := other.(opaque)
	return types.Bool(ok && x.typ == o.typ && o.equal(x.value))
}

// Type satisfies ref.Val.
func (o opaque) Type() ref.Type { return o.typ }

// Value satisfies ref.Val.
func (o opaque) Value() any { return o.value }

// texts takes the arguments of a function that are all strings.
func texts(args []ref.Val) ([]string, bool) {
	out := make([]string, len(args))
	for i, a := range args {
		s, ok := a.(types.String)
		if !ok {
			return nil, false
		}
		out[i] = string(s)
	}
	return out, true
}

// costs tells what calls of the functions here cost, in units of about one
// simple operation; those of the libraries know their own.
type costs struct{}

// CallCost satisfies interpreter.ActualCostEstimator.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	var cost uint64
	switch function {
	case "isSorted", "sum", "min", "max":
		cost = 1 + size(args[0])
	case "indexOf", "lastIndexOf":
		if _, ok := args[0].(traits.Lister); !ok {
			return nil
		}
		cost = 1 + size(args[0])
	case "find", "findAll":
		// Matching walks the string once for each state of the pattern.
		cost = 1 + (1+size(args[0])/10)*(1+size(args[1])/4)
	case "quantity", "isQuantity", "url", "isURL", "validate", "semver", "isSemver":
		cost = 1 + size(args[len(args)-1])/10
	default:
		return nil
	}
	return &cost
}

func size(v ref.Val) uint64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok && n > 0 {
			return uint64(n)
		}
	}
	return 0
}
