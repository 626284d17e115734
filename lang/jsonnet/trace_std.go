package jsonnet

import (
	"strconv"
	"strings"

	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/astgen"

	"github.com/writ-dev/writ/lang"
)

// standardLibrary is std: what of it is written in Jsonnet is evaluated like any
// program, and what go-jsonnet has in Go is either here or, when it is about
// data only, left to go-jsonnet.
func (t *tracer) standardLibrary() *object {
	root := &frame{vars: map[ast.Identifier]*cell{}}
	v, err := t.eval(astgen.StdAst, root)
	std, ok := v.value.(*object)
	if err != nil || !ok {
		return newObject(&layer{members: map[string]*member{}})
	}
	root.vars["$std"] = ready(plain(std))
	all := std.layers[0].members
	for name, m := range all {
		m.ready = &cell{compute: func(t *tracer) (traced, error) { return t.named(&fieldRef{std, name, 0, m}) }}
	}
	for name, f := range natives() {
		all[name] = &member{hide: ast.ObjectFieldHidden, ready: ready(plain(f))}
	}
	return std
}

// named is the value of a member of std; a function of it knows its name.
func (t *tracer) named(r *fieldRef) (traced, error) {
	v, err := t.eval(r.member.body, t.memberFrame(r))
	if f, ok := v.value.(*function); ok && err == nil {
		known := *f
		known.name = r.name
		v.value = &known
	}
	return v, err
}

// signatures are functions that go-jsonnet has in Go, with the names of their
// parameters; those with a "?" may be left out. Of data, go-jsonnet computes
// them.
var signatures = strings.Fields(`
	escapeStringJson(str_) removeAt(arr,i) codepoint(str) ceil(x) sqrt(x) hypot(x,y) sin(x) cos(x) tan(x)
	asin(x) acos(x) atan(x) atan2(y,x) log(x) exp(x) mantissa(x) exponent(x) round(x) isEven(x) isOdd(x)
	isInteger(x) isDecimal(x) pow(x,n) modulo(x,y) md5(s) sha1(s) sha256(s) sha512(s) sha3(s) xnor(x,y) xor(x,y)
	lstripChars(str,chars) rstripChars(str,chars) stripChars(str,chars) splitLimit(str,c,maxsplits)
	splitLimitR(str,c,maxsplits) strReplace(str,from,to) isEmpty(str) equalsIgnoreCase(str1,str2) trim(str)
	base64Decode(str) base64DecodeBytes(str) parseInt(str) parseJson(str) parseYaml(str)
	manifestJsonEx(value,indent,newline?,key_val_sep?) manifestTomlEx(value,indent)
	manifestYamlDoc(value,indent_array_in_object?,quote_keys?) base64(input) encodeUTF8(str) decodeUTF8(arr)
	sum(arr) avg(arr)
`)

// natives are the functions of std that are not written in Jsonnet.
func natives() map[string]*function {
	all := map[string]*function{}
	add := func(signature string, native nativeFunc) {
		name, list, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
		f := &function{name: name, native: native}
		if native == nil {
			f.native = delegated(name)
		}
		for p := range strings.SplitSeq(list, ",") {
			written, optional := strings.CutSuffix(p, "?")
			f.params = append(f.params, param{ast.Identifier(written), optional})
		}
		all[name] = f
	}
	for _, s := range signatures {
		add(s, nil)
	}
	for s, native := range ownNatives() {
		add(s, native)
	}
	return all
}

// arguments are those of a call of a native function, in the order of its
// parameters; nil where one is left out.
func (f *function) arguments(positional []*cell, named map[ast.Identifier]*cell, at ast.Node) ([]*cell, error) {
	if len(positional) > len(f.params) {
		return nil, failAt(at, "std.%s: too many arguments", f.name)
	}
	args := make([]*cell, len(f.params))
	copy(args, positional)
	for i, p := range f.params {
		if c, ok := named[p.name]; ok && args[i] == nil {
			args[i] = c
		}
		if args[i] == nil && !p.optional {
			return nil, failAt(at, "std.%s: the argument %s is missing", f.name, p.name)
		}
	}
	return args, nil
}

// delegated has go-jsonnet compute a function of data.
func delegated(name string) nativeFunc {
	return func(t *tracer, args []*cell, _ *callSite) (traced, error) {
		var values []any
		for _, c := range args {
			if c == nil {
				break
			}
			v, err := t.force(c)
			if err != nil {
				return v, err
			}
			values = append(values, v.value)
		}
		v, err := t.delegate(name, values)
		return plain(v), err
	}
}

// delegate has go-jsonnet compute std.name of data.
func (t *tracer) delegate(name string, values []any) (any, error) {
	var args []string
	for _, v := range values {
		data, err := t.data(v, 0)
		if err != nil {
			return nil, err
		}
		args = append(args, string(data.AppendJSON(nil)))
	}
	out, err := t.vm.EvaluateAnonymousSnippet("<std>", "std."+name+"("+strings.Join(args, ", ")+")")
	if err != nil {
		return nil, failAt(nil, "std.%s failed", name)
	}
	v, err := lang.ParseJSON("<std>", []byte(out))
	if err != nil {
		return nil, err
	}
	return undata(v), nil
}

// standardStep is the step of a call of std. Where the function passes a value
// on that was written in the program, the value comes from there; else it was
// computed from the arguments.
func standardStep(v traced, name string, args []*cell, at ast.Node) traced {
	if name == "extVar" || strings.HasPrefix(name, "$") || at == nil {
		return v // an input, or a comprehension
	}
	o := &origin{kind: lang.StepStandard, name: "std." + name, pos: position(at.Loc()), value: v.value}
	if operator(at) {
		o.kind, o.name = lang.StepExpression, ""
	}
	if passed := passedOn(v.from); passed != nil {
		o.from = []*origin{passed}
		return traced{v.value, o}
	}
	o.uses = true
	for _, c := range args {
		if c != nil && c.done && c.err == nil {
			o.from = append(o.from, operandOrigins(c.result)...)
		}
	}
	return traced{attribute(v.value, o), o}
}

// operator reports whether a call of std stands for an operator or a slice.
func operator(n ast.Node) bool {
	apply, ok := n.(*ast.Apply)
	if !ok {
		return false
	}
	index, ok := apply.Target.(*ast.Index)
	if !ok {
		return false
	}
	std, ok := index.Target.(*ast.Var)
	return ok && std.Id == "$std"
}

// attribute gives what is inside of a value, and comes from nowhere else, the
// origin of the value.
func attribute(v any, o *origin) any {
	part := func(c *cell) *cell {
		return &cell{compute: func(t *tracer) (traced, error) {
			v, err := t.force(c)
			if err != nil || passedOn(v.from) != nil {
				return v, err
			}
			own := *o
			own.value = v.value
			return traced{attribute(v.value, &own), &own}, nil
		}}
	}
	switch x := v.(type) {
	case *list:
		out := &list{items: make([]*cell, len(x.items))}
		for i, c := range x.items {
			out.items[i] = part(c)
		}
		return out
	case *object:
		if len(x.layers) != 1 || x.layers[0].only != nil {
			return v
		}
		l := &layer{members: make(map[string]*member, len(x.layers[0].members))}
		for name, m := range x.layers[0].members {
			if m.ready == nil {
				return v // it is of a program
			}
			l.members[name] = &member{hide: m.hide, ready: part(m.ready)}
		}
		return newObject(l)
	}
	return v
}

// passedOn is the first step with a place of a value that was only passed on.
func passedOn(o *origin) *origin {
	for o != nil && !o.pos.IsValid() {
		if o.uses || len(o.from) != 1 {
			return nil
		}
		o = o.from[0]
	}
	return o
}

// maxOperands bounds the elements of a list that are operands.
const maxOperands = 10

// operandOrigins are where the parts of an argument come from.
func operandOrigins(v traced) []*origin {
	l, ok := v.value.(*list)
	if !ok {
		return compact(v.from)
	}
	var all []*origin
	for _, c := range l.items {
		if c.done && c.err == nil && c.result.from != nil && len(all) < maxOperands {
			all = append(all, c.result.from)
		}
	}
	return all
}

func numberText(x float64) (string, error) {
	return lang.CanonicalNumber(strconv.FormatFloat(x, 'g', -1, 64))
}

// data is a value as data, as it would be printed.
func (t *tracer) data(v any, depth int) (lang.Value, error) {
	if depth > lang.MaxDepth {
		return lang.Value{}, failAt(nil, "lists and objects nest too deep")
	}
	switch x := v.(type) {
	case nil:
		return lang.Value{}, nil
	case bool:
		return lang.Value{Kind: lang.Bool, Text: strconv.FormatBool(x)}, nil
	case float64:
		text, err := numberText(x)
		return lang.Value{Kind: lang.Number, Text: text}, err
	case string:
		return lang.Value{Kind: lang.String, Text: x}, nil
	case *list:
		out := lang.Value{Kind: lang.List, Items: []lang.Value{}}
		for _, c := range x.items {
			item, err := t.force(c)
			if err != nil {
				return out, err
			}
			value, err := t.data(item.value, depth+1)
			if err != nil {
				return out, err
			}
			out.Items = append(out.Items, value)
		}
		return out, nil
	case *object:
		out := lang.Value{Kind: lang.Object, Fields: []lang.Field{}}
		for _, name := range x.names(false) {
			field, err := t.get(x, name, 0, nil)
			if err != nil {
				return out, err
			}
			value, err := t.data(field.value, depth+1)
			if err != nil {
				return out, err
			}
			out.Fields = append(out.Fields, lang.Field{Name: name, Value: value})
		}
		return out, nil
	}
	return lang.Value{}, failAt(nil, "a function is no data")
}

// undata is data as a value.
func undata(v lang.Value) any {
	switch v.Kind {
	case lang.Bool:
		return v.Text == "true"
	case lang.Number:
		f, _ := strconv.ParseFloat(v.Text, 64) // it was one before it was printed
		return f
	case lang.String:
		return v.Text
	case lang.List:
		l := &list{}
		for _, item := range v.Items {
			l.items = append(l.items, ready(plain(undata(item))))
		}
		return l
	case lang.Object:
		l := &layer{members: map[string]*member{}}
		for _, f := range v.Fields {
			l.members[f.Name] = &member{ready: ready(plain(undata(f.Value)))}
		}
		return newObject(l)
	}
	return nil
}
