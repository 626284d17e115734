package jsonnet

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/linter"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// CodeNotAnalysed is the code of a file that could not be analysed.
const CodeNotAnalysed = "NotAnalysed"

// The rules of Lint: those of go-jsonnet's linter, and where it is silent.
var (
	unusedVariable = lang.Rule{Code: "UnusedVariable", Text: "a local variable or parameter that nothing refers to"}
	noSuchField    = lang.Rule{Code: "NoSuchField", Text: "a field that the object cannot have"}
	wrongCall      = lang.Rule{Code: "WrongCall", Text: "a call with arguments that the function does not take, or without some that it needs"}
	wrongType      = lang.Rule{Code: "WrongType", Text: "an operation on a value of a type that it is not for"}
	endlessLoop    = lang.Rule{Code: "EndlessLoop", Text: "a local variable that is defined by itself"}
	noSuchImport   = lang.Rule{Code: "NoSuchImport", Text: "an import of a file that cannot be found or parsed"}
	notAnalysed    = lang.Rule{Code: CodeNotAnalysed, Text: "a file whose analysis, with all that it imports, needs more than the limits allow"}
)

// Rules lists what Lint looks for.
func Rules() []lang.Rule {
	return []lang.Rule{unusedVariable, noSuchField, wrongCall, wrongType, endlessLoop, noSuchImport, notAnalysed}
}

// ruleOf tells the rule by the linter's message. Source: the linter of go-jsonnet
// v0.22.0, whose messages have no codes.
func ruleOf(message string) lang.Rule {
	for _, r := range []struct {
		text string
		rule lang.Rule
	}{
		{"Unused variable", unusedVariable},
		{"Indexed object has no field", noSuchField},
		{"Too few arguments", wrongCall},
		{"Too many arguments", wrongCall},
		{"already provided", wrongCall},
		{"function has no parameter", wrongCall},
		{"Missing argument", wrongCall},
		{"Endless loop", endlessLoop},
		{"cannot find", noSuchImport},
		{"couldn't open import", noSuchImport},
		{"nest deeper than", noSuchImport},
		{"outside of the module root", noSuchImport},
	} {
		if strings.Contains(message, r.text) {
			return r.rule
		}
	}
	return wrongType
}

// Lint satisfies lang.Linter. go-jsonnet's analysis cannot be interrupted, and
// may take any time and memory; see lang/worker.
func (Evaluator) Lint(_ context.Context, p lang.Program) (found diag.List, err error) {
	file := p.Entry
	defer func() {
		if r := recover(); r != nil {
			found, err = diag.List{{
				Code: notAnalysed.Code, Pos: diag.Position{File: file}, Message: fmt.Sprintf("go-jsonnet's linter failed: %v", r),
			}}, nil
		}
	}()
	reader := lang.NewReader(p)
	data, err := reader.ReadFile(file)
	if err != nil {
		return nil, lang.Failure(diag.Position{}, file, err)
	}
	if line := tooDeep(data); line > 0 {
		return nil, diag.Errorf(diag.Position{File: file, Line: line}, "JSONNET008", "brackets or operators nest deeper than %d", maxNesting)
	}
	if _, err := jsonnet.SnippetToAST(file, string(data)); err != nil {
		return nil, diagnose(file, err)
	}
	k := newKept()
	k.begin(reader, p.Settings.Search)
	c := collector{file: file, seen: map[string]bool{}}
	k.vm.ErrorFormatter = &c
	linter.LintSnippet(k.vm, io.Discard, []linter.Snippet{{FileName: file, Code: string(data)}})
	return diag.From(c.found.Err()), nil
}

// collector satisfies jsonnet.ErrorFormatter: it gets the linter's errors as
// values, with their places, before they are text.
type collector struct {
	file  string
	seen  map[string]bool
	found diag.List
}

func (c *collector) SetMaxStackTraceSize(int)                 {}
func (c *collector) SetColorFormatter(jsonnet.ColorFormatter) {}

func (c *collector) Format(err error) string {
	d := diag.Diagnostic{Pos: diag.Position{File: c.file}, Message: err.Error()}
	if static, ok := err.(interface{ Loc() ast.LocationRange }); ok {
		loc := static.Loc()
		d.Message = strings.TrimSpace(strings.TrimPrefix(d.Message, loc.String()))
		if pos := position(&loc); pos.IsValid() {
			d.Pos = pos
		}
	}
	d.Message, _, _ = strings.Cut(d.Message, "\n")
	d.Code = ruleOf(d.Message).Code
	if d.Message != "" {
		d.Message = strings.ToLower(d.Message[:1]) + d.Message[1:]
	}
	if d.Code == unusedVariable.Code {
		d.Hint = "remove it"
	}
	// What is imported is looked at when it is its turn.
	if key := d.Error(); d.Pos.File == c.file && !c.seen[key] {
		c.seen[key] = true
		c.found = append(c.found, d)
	}
	return ""
}
