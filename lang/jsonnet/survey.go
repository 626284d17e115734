package jsonnet

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// surveyor reads the syntax trees of a program and of all it imports.
type surveyor struct {
	vm *jsonnet.VM
	// files is the trees of all files.
	files map[string]ast.Node
	// external is the names given to std.extVar; any says that some are
	// computed, so that every name may be in use.
	external map[string]diag.Position
	any      bool
	problems diag.List
}

// findings are what one file says of itself.
type findings struct {
	external map[string]diag.Position
	any      bool
	problems diag.List
	imports  []*ast.Import
	// data is the files that are imported as they are.
	data []location
}

// location is a file as another one names it.
type location struct{ from, name string }

// survey finds the literals that a float64 cannot hold, the external variables
// in use, and every file that may be read. Known is what files were found to
// say before; nil when nothing is kept.
func survey(vm *jsonnet.VM, entry string, node ast.Node, known map[ast.Node]*findings) *surveyor {
	s := &surveyor{vm: vm, files: map[string]ast.Node{}, external: map[string]diag.Position{}}
	s.add(entry, node, known)
	return s
}

// add takes a file and what it imports.
func (s *surveyor) add(file string, node ast.Node, known map[ast.Node]*findings) {
	s.files[file] = node
	f := known[node]
	if f == nil {
		f = &findings{external: map[string]diag.Position{}}
		f.walk(node)
		if known != nil {
			known[node] = f
		}
	}
	s.take(f, known)
}

// take takes what a file says of itself, and what it imports.
func (s *surveyor) take(f *findings, known map[ast.Node]*findings) {
	for name, pos := range f.external {
		if _, ok := s.external[name]; !ok {
			s.external[name] = pos
		}
	}
	s.any = s.any || f.any
	s.problems = append(s.problems, f.problems...)
	for _, n := range f.imports {
		// An import that fails matters only if it is evaluated.
		imported, name, err := s.vm.ImportAST(n.Loc().FileName, n.File.Value)
		if err == nil && s.files[name] == nil {
			s.add(name, imported, known)
		}
	}
	for _, d := range f.data {
		// Whether it is read must not depend on what was evaluated before.
		_, _, _ = s.vm.ImportData(d.from, d.name)
	}
}

func (f *findings) walk(node ast.Node) {
	if node == nil {
		return
	}
	switch n := node.(type) {
	case *ast.LiteralNumber:
		f.number(n)
	case *ast.Apply:
		f.call(n)
	case *ast.Import:
		f.imports = append(f.imports, n)
		return
	case *ast.ImportStr:
		f.data = append(f.data, location{n.Loc().FileName, n.File.Value})
		return
	case *ast.ImportBin:
		f.data = append(f.data, location{n.Loc().FileName, n.File.Value})
		return
	}
	for _, child := range toolutils.Children(node) {
		f.walk(child)
	}
}

func (f *findings) number(n *ast.LiteralNumber) {
	if message := inexact(n.OriginalString); message != "" {
		f.problems = append(f.problems, diag.Diagnostic{
			Code: "JSONNET002", Pos: position(n.Loc()), Message: message,
			Hint: "write it as a string, or use CUE, whose numbers are exact",
		})
	}
}

// inexact says why a float64 does not hold the number that text denotes, or
// nothing.
func inexact(text string) string {
	want, err := lang.CanonicalNumber(strings.ReplaceAll(text, "_", ""))
	if err != nil {
		return err.Error()
	}
	f, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return "number " + text + " is out of the range of Jsonnet's numbers"
	}
	if beyond(want) {
		return "number " + text + " is beyond 2^53, where Jsonnet's numbers are not exact"
	}
	got, err := lang.CanonicalNumber(strconv.FormatFloat(f, 'g', -1, 64))
	if err != nil || got != want {
		return "number " + text + " has more digits than Jsonnet's numbers can hold; it would become " + got
	}
	return ""
}

// beyond reports whether a canonical number is whole and beyond ±2^53.
func beyond(text string) bool {
	i, ok := new(big.Int).SetString(text, 10)
	return ok && i.CmpAbs(twoTo53) > 0
}

var twoTo53 = new(big.Int).Lsh(big.NewInt(1), 53)

// call notes std.extVar("name").
func (f *findings) call(n *ast.Apply) {
	index, ok := n.Target.(*ast.Index)
	if !ok || literal(index.Index) != "extVar" {
		return
	}
	if v, ok := index.Target.(*ast.Var); !ok || v.Id != "std" && v.Id != "$std" {
		return
	}
	if len(n.Arguments.Positional) != 1 {
		f.any = true
		return
	}
	name, ok := n.Arguments.Positional[0].Expr.(*ast.LiteralString)
	if !ok {
		f.any = true
		return
	}
	if _, ok := f.external[name.Value]; !ok {
		f.external[name.Value] = position(n.Loc())
	}
}

// literal is the content of a string literal, or "".
func literal(n ast.Node) string {
	if s, ok := n.(*ast.LiteralString); ok {
		return s.Value
	}
	return ""
}

// exact makes every number of a result canonical and refuses those that may
// have lost digits.
func exact(v *lang.Value, path string) error {
	switch v.Kind {
	case lang.Number:
		if whole, ok := new(big.Int).SetString(v.Text, 10); ok && whole.CmpAbs(twoTo53) >= 0 {
			// 2^53 itself may be what 2^53+1 was rounded to.
			return diag.List{{
				Code: "JSONNET002", Pos: v.Pos, Path: path,
				Message: "number " + v.Text + " may have been rounded: from 2^53 on Jsonnet's numbers are not exact",
				Hint:    "compute with smaller numbers, or make it a string",
			}}
		}
		// go-jsonnet prints 17 digits; the shortest text of the same float64
		// is what was meant.
		f, err := strconv.ParseFloat(v.Text, 64)
		if err != nil {
			return diag.Errorf(v.Pos, "JSONNET002", "number %s is out of range", v.Text)
		}
		if v.Text, err = lang.CanonicalNumber(strconv.FormatFloat(f, 'g', -1, 64)); err != nil {
			return diag.Errorf(v.Pos, "JSONNET002", "%s", err)
		}
	case lang.List:
		for i := range v.Items {
			if err := exact(&v.Items[i], lang.JoinIndex(path, i)); err != nil {
				return err
			}
		}
	case lang.Object:
		for i := range v.Fields {
			if err := exact(&v.Fields[i].Value, lang.JoinField(path, v.Fields[i].Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
