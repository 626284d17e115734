package expression

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var semverType = cel.OpaqueType("kubernetes.Semver")

// semver is a version as of semver.org 2.0.0; what follows "+" does not count.
type semver struct {
	numbers [3]int64
	pre     []string
}

var semverSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
		`(-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)
})

// maxSemver bounds the text of a version, in bytes.
const maxSemver = 256

func parseSemver(text string, normalize bool) (semver, bool) {
	if len(text) > maxSemver {
		return semver{}, false
	}
	if normalize {
		text = normalized(text)
	}
	m := semverSyntax().FindStringSubmatch(text)
	if m == nil {
		return semver{}, false
	}
	var v semver
	for i := range v.numbers {
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil {
			return semver{}, false
		}
		v.numbers[i] = n
	}
	if m[5] != "" {
		v.pre = strings.Split(m[5], ".")
	}
	return v, true
}

// normalized mends what people write: v1.02 becomes 1.2.0.
func normalized(text string) string {
	text = strings.TrimPrefix(text, "v")
	end := strings.IndexAny(text, "-+")
	if end < 0 {
		end = len(text)
	}
	parts := strings.Split(text[:end], ".")
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	for i, p := range parts {
		if p = strings.TrimLeft(p, "0"); p == "" && parts[i] != "" {
			p = "0"
		}
		parts[i] = p
	}
	return strings.Join(parts, ".") + text[end:]
}

func (v semver) compare(w semver) int {
	for i := range v.numbers {
		if c := cmp.Compare(v.numbers[i], w.numbers[i]); c != 0 {
			return c
		}
	}
	// A version comes after its own pre-releases.
	if len(v.pre) == 0 || len(w.pre) == 0 {
		return cmp.Compare(len(w.pre), len(v.pre))
	}
	for i := range min(len(v.pre), len(w.pre)) {
		if c := comparePre(v.pre[i], w.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.pre), len(w.pre))
}

// comparePre compares identifiers: numbers by value and before words.
func comparePre(a, b string) int {
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	switch numA, numB := digits(a), digits(b); {
	case numA && numB:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case numA:
		return -1
	case numB:
		return 1
	}
	return cmp.Compare(a, b)
}

// semverFunctions are semver, isSemver and the methods of versions.
func semverFunctions() cel.EnvOption {
	parse := func(args []ref.Val) (semver, bool, ref.Val) {
		text, ok := args[0].(types.String)
		if !ok {
			return semver{}, false, types.MaybeNoSuchOverloadErr(args[0])
		}
		normalize := len(args) > 1 && args[1] == types.True
		v, valid := parseSemver(string(text), normalize)
		return v, valid, nil
	}
	create := cel.FunctionBinding(func(args ...ref.Val) ref.Val {
		v, ok, err := parse(args)
		if err != nil {
			return err
		}
		if !ok {
			return types.NewErr("%v is no semantic version", args[0].Value())
		}
		return opaque{semverType, v, func(other any) bool { return v.compare(other.(semver)) == 0 }}
	})
	is := cel.FunctionBinding(func(args ...ref.Val) ref.Val {
		_, ok, err := parse(args)
		if err != nil {
			return err
		}
		return types.Bool(ok)
	})
	part := func(name string, i int) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("semver_"+name, []*cel.Type{semverType}, cel.IntType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			x, ok := asSemver(v)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return types.Int(x.numbers[i])
		})))
	}
	pair := func(name string, result *cel.Type, f func(c int) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("semver_"+name, []*cel.Type{semverType, semverType}, result, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			x, okX := asSemver(a)
			y, okY := asSemver(b)
			if !okX || !okY {
				return types.MaybeNoSuchOverloadErr(b)
			}
			return f(x.compare(y))
		})))
	}
	text, both := []*cel.Type{cel.StringType}, []*cel.Type{cel.StringType, cel.BoolType}
	return options(
		cel.Function("semver", cel.Overload("string_to_semver", text, semverType, create), cel.Overload("string_bool_to_semver", both, semverType, create)),
		cel.Function("isSemver", cel.Overload("is_semver_string", text, cel.BoolType, is), cel.Overload("is_semver_string_bool", both, cel.BoolType, is)),
		part("major", 0), part("minor", 1), part("patch", 2),
		pair("isLessThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c < 0) }),
		pair("isGreaterThan", cel.BoolType, func(c int) ref.Val { return types.Bool(c > 0) }),
		pair("compareTo", cel.IntType, func(c int) ref.Val { return types.Int(c) }),
	)
}

func asSemver(v ref.Val) (semver, bool) {
	o, ok := v.(opaque)
	if !ok {
		return semver{}, false
	}
	s, ok := o.value.(semver)
	return s, ok
}
