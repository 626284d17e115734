package expression

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/validation"
)

var formatType = cel.OpaqueType("kubernetes.NamedFormat")

// formats are the validators that Kubernetes names; they return what is wrong.
var formats = map[string]func(string) []string{
	"dns1123Label":           validation.IsDNS1123Label,
	"dns1123Subdomain":       validation.IsDNS1123Subdomain,
	"dns1035Label":           validation.IsDNS1035Label,
	"dns1123LabelPrefix":     func(s string) []string { return validation.IsDNS1123Label(s + "x") },
	"dns1123SubdomainPrefix": func(s string) []string { return validation.IsDNS1123Subdomain(s + "x") },
	"dns1035LabelPrefix":     func(s string) []string { return validation.IsDNS1035Label(s + "x") },
	"qualifiedName":          validation.IsQualifiedName,
	"labelValue":             validation.IsValidLabelValue,
	"uri":                    func(s string) []string { return wrong("a URI", parses(url.ParseRequestURI, s)) },
	"uuid": func(s string) []string {
		ok, _ := regexp.MatchString(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, s)
		return wrong("a UUID", ok)
	},
	"byte":     func(s string) []string { return wrong("base64", parses(base64.StdEncoding.DecodeString, s)) },
	"date":     func(s string) []string { return wrong("a date", timeParses(time.DateOnly, s)) },
	"datetime": func(s string) []string { return wrong("a time", timeParses(time.RFC3339, s)) },
}

func parses[T any](parse func(string) (T, error), s string) bool {
	_, err := parse(s)
	return err == nil
}

func timeParses(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil
}

func wrong(what string, ok bool) []string {
	if ok {
		return nil
	}
	return []string{"must be " + what}
}

func formatValue(name string) ref.Val {
	return opaque{formatType, name, func(other any) bool { return other == name }}
}

// formatFunctions are format.NAME(), format.named(NAME) and validate.
func formatFunctions() cel.EnvOption {
	list := []cel.EnvOption{
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType}, cel.OptionalType(formatType), cel.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			if _, known := formats[string(s)]; !known {
				return types.OptionalNone
			}
			return types.OptionalOf(formatValue(string(s)))
		}))),
		cel.Function("validate", cel.MemberOverload("format-validate", []*cel.Type{formatType, cel.StringType},
			cel.OptionalType(cel.ListType(cel.StringType)), cel.BinaryBinding(validate))),
	}
	for name := range formats {
		list = append(list, cel.Function("format."+name, cel.Overload("format-"+name, nil, formatType,
			cel.FunctionBinding(func(...ref.Val) ref.Val { return formatValue(name) }))))
	}
	return options(list...)
}

func validate(format, text ref.Val) ref.Val {
	o, ok := format.(opaque)
	s, isText := text.(types.String)
	if !ok || !isText {
		return types.MaybeNoSuchOverloadErr(text)
	}
	name, _ := o.value.(string)
	bad := formats[name](string(s))
	if len(bad) == 0 {
		return types.OptionalNone
	}
	return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, bad))
}
