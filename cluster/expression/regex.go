package expression

import (
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// regexFunctions are find and findAll of strings.
func regexFunctions() cel.EnvOption {
	return options(
		cel.Function("find", cel.MemberOverload("string_find_string", []*cel.Type{cel.StringType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(s, pattern ref.Val) ref.Val {
				re, str, err := regex(s, pattern)
				if err != nil {
					return err
				}
				return types.String(re.FindString(str))
			}))),
		cel.Function("findAll",
			cel.MemberOverload("string_find_all_string", []*cel.Type{cel.StringType, cel.StringType}, cel.ListType(cel.StringType),
				cel.BinaryBinding(func(s, pattern ref.Val) ref.Val { return findAll(s, pattern, types.IntNegOne) })),
			cel.MemberOverload("string_find_all_string_int", []*cel.Type{cel.StringType, cel.StringType, cel.IntType}, cel.ListType(cel.StringType),
				cel.FunctionBinding(func(args ...ref.Val) ref.Val { return findAll(args[0], args[1], args[2]) }))),
	)
}

func regex(s, pattern ref.Val) (*regexp.Regexp, string, ref.Val) {
	args, ok := texts([]ref.Val{s, pattern})
	if !ok {
		return nil, "", types.MaybeNoSuchOverloadErr(s)
	}
	re, err := regexp.Compile(args[1])
	if err != nil {
		return nil, "", types.NewErr("%v", err)
	}
	return re, args[0], nil
}

func findAll(s, pattern, limit ref.Val) ref.Val {
	re, str, err := regex(s, pattern)
	if err != nil {
		return err
	}
	n, ok := limit.(types.Int)
	if !ok {
		return types.MaybeNoSuchOverloadErr(limit)
	}
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(str, int(n)))
}
