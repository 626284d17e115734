package expression

import (
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var urlType = cel.OpaqueType("kubernetes.URL")

// parseURL takes absolute URLs and absolute paths.
func parseURL(v ref.Val) (*url.URL, ref.Val) {
	s, ok := v.(types.String)
	if !ok {
		return nil, types.MaybeNoSuchOverloadErr(v)
	}
	u, err := url.ParseRequestURI(string(s))
	if err != nil {
		return nil, types.NewErr("%q is not a URL", string(s))
	}
	return u, nil
}

// urlFunctions are url, isURL and the methods of URLs.
func urlFunctions() cel.EnvOption {
	text := func(name string, f func(*url.URL) string) cel.EnvOption {
		return urlMethod(name, cel.StringType, func(u *url.URL) ref.Val { return types.String(f(u)) })
	}
	return options(
		cel.Function("url", cel.Overload("string_to_url", []*cel.Type{cel.StringType}, urlType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			u, err := parseURL(v)
			if err != nil {
				return err
			}
			return opaque{urlType, u, func(other any) bool { return *u == *other.(*url.URL) }}
		}))),
		cel.Function("isURL", cel.Overload("is_url_string", []*cel.Type{cel.StringType}, cel.BoolType, cel.UnaryBinding(func(v ref.Val) ref.Val {
			_, err := parseURL(v)
			return types.Bool(err == nil)
		}))),
		text("getScheme", func(u *url.URL) string { return u.Scheme }),
		text("getHost", func(u *url.URL) string { return u.Host }),
		text("getHostname", (*url.URL).Hostname),
		text("getPort", (*url.URL).Port),
		text("getEscapedPath", (*url.URL).EscapedPath),
		urlMethod("getQuery", cel.MapType(cel.StringType, cel.ListType(cel.StringType)), func(u *url.URL) ref.Val {
			query := map[string]any{}
			for k, v := range u.Query() {
				query[k] = v
			}
			return newMap(query)
		}),
	)
}

func urlMethod(name string, result *cel.Type, f func(*url.URL) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("url_"+name, []*cel.Type{urlType}, result, cel.UnaryBinding(func(v ref.Val) ref.Val {
		o, ok := v.(opaque)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		u, ok := o.value.(*url.URL)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return f(u)
	})))
}
