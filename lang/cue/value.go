package cue

import (
	"encoding/base64"
	"math/big"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// export converts a valid, concrete value. Around is the position of what the
// value is in; a value that only the library wrote takes it, because that is
// where the user asked for it.
func export(v cue.Value, around diag.Position) (lang.Value, error) {
	return exporter{}.value(v, around, "", 0)
}

type exporter struct{}

func (x exporter) value(v cue.Value, around diag.Position, path string, depth int) (lang.Value, error) {
	v, _ = v.Default()
	out := lang.Value{Pos: place(v, around)}
	fail := func(message string) (lang.Value, error) {
		return lang.Value{}, diag.List{{Code: "CUE010", Pos: out.Pos, Path: path, Message: message}}
	}
	if depth > lang.MaxDepth {
		return fail("lists and objects nest too deep")
	}
	var err error
	switch v.Kind() {
	case cue.NullKind:
	case cue.BoolKind:
		var b bool
		b, err = v.Bool()
		out.Kind, out.Text = lang.Bool, "false"
		if b {
			out.Text = "true"
		}
	case cue.IntKind, cue.FloatKind:
		out.Kind = lang.Number
		out.Text, err = number(v)
	case cue.StringKind:
		out.Kind = lang.String
		out.Text, err = v.String()
	case cue.BytesKind:
		// As JSON has it, and Kubernetes Secrets want it.
		var b []byte
		b, err = v.Bytes()
		out.Kind, out.Text = lang.String, base64.StdEncoding.EncodeToString(b)
	case cue.ListKind:
		out.Kind = lang.List
		out.Items, err = x.items(v, out.Pos, path, depth)
	case cue.StructKind:
		out.Kind = lang.Object
		out.Fields, err = x.fields(v, out.Pos, path, depth)
	default:
		return fail("the value is not concrete: " + v.IncompleteKind().String())
	}
	if err == nil {
		return out, nil
	}
	if _, ok := err.(diag.List); ok {
		return lang.Value{}, err
	}
	return fail(err.Error())
}

func number(v cue.Value) (string, error) {
	var mantissa big.Int
	exponent, err := v.MantExp(&mantissa)
	if err != nil {
		return "", err
	}
	negative := mantissa.Sign() < 0
	return lang.FormatDecimal(negative, mantissa.Abs(&mantissa).String(), exponent)
}

func (x exporter) items(v cue.Value, pos diag.Position, path string, depth int) ([]lang.Value, error) {
	iter, err := v.List()
	if err != nil {
		return nil, err
	}
	items := []lang.Value{}
	for i := 0; iter.Next(); i++ {
		item, err := x.value(iter.Value(), pos, lang.JoinIndex(path, i), depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (x exporter) fields(v cue.Value, pos diag.Position, path string, depth int) ([]lang.Field, error) {
	iter, err := v.Fields()
	if err != nil {
		return nil, err
	}
	fields := []lang.Field{}
	for iter.Next() {
		name := iter.Selector().Unquoted()
		value, err := x.value(iter.Value(), pos, lang.JoinField(path, name), depth+1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, lang.Field{Name: name, Pos: keyPlace(iter.Value(), value.Pos), Value: value})
	}
	lang.SortFields(fields)
	return fields, nil
}

// place finds where a value was written. The evaluated scalar knows the
// literal or expression that made it; otherwise it is where the field that
// holds it was declared.
func place(v cue.Value, around diag.Position) diag.Position {
	var candidates []diag.Position
	if f, ok := v.Source().(*ast.Field); ok && f.Value != nil {
		candidates = append(candidates, position(f.Value.Pos()))
	}
	if k := v.Kind(); k != cue.StructKind && k != cue.ListKind {
		candidates = append(candidates, position(v.Eval().Pos()))
	}
	candidates = append(candidates, position(v.Pos()))
	for _, p := range candidates {
		if p.IsValid() && !lang.IsLibrary(p.File) {
			return p
		}
	}
	if around.Line > 0 {
		return around
	}
	for _, p := range candidates {
		if p.IsValid() {
			return p
		}
	}
	return around
}

// keyPlace is the position of the label that declares a field, where CUE knows
// a single one, else that of the value.
func keyPlace(v cue.Value, value diag.Position) diag.Position {
	if f, ok := v.Source().(*ast.Field); ok {
		if p := position(f.Label.Pos()); p.IsValid() && !lang.IsLibrary(p.File) {
			return p
		}
	}
	return value
}
