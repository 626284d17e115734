package jsonnet

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxTrace bounds the notes of one error.
const maxTrace = 10

func position(l *ast.LocationRange) diag.Position {
	if l == nil || l.FileName == "" || strings.HasPrefix(l.FileName, "<") || !l.IsSet() {
		return diag.Position{}
	}
	return diag.Position{File: l.FileName, Line: l.Begin.Line, Column: max(l.Begin.Column, 1)}
}

// diagnose makes a diagnostic of an error of go-jsonnet. The innermost place
// in the user's files is its position, and the calls around it are notes.
func diagnose(entry string, err error) diag.List {
	d := diag.Diagnostic{Code: "JSONNET001", Pos: diag.Position{File: entry}}
	var runtime jsonnet.RuntimeError
	var static interface{ Loc() ast.LocationRange }
	switch {
	case errors.As(err, &runtime):
		d.Message = runtime.Msg
		trace(&d, runtime.StackTrace)
	case errors.As(err, &static):
		loc := static.Loc()
		d.Message = strings.TrimSpace(strings.TrimPrefix(err.Error(), loc.String()))
		if p := position(&loc); p.IsValid() {
			d.Pos = p
		} else if file := string(diagnosticName(&loc)); file != "" {
			d.Pos = diag.Position{File: file, Line: loc.Begin.Line, Column: loc.Begin.Column}
		}
	default:
		d.Message, _, _ = strings.Cut(err.Error(), "\n")
	}
	elsewhere(&d)
	d.Message = strings.TrimSpace(d.Message)
	if d.Message == "" {
		d.Message = "the program failed without a message"
	}
	d.Code, d.Hint = classify(d.Message)
	return diag.List{d}
}

// located matches the position that go-jsonnet puts before the message of an
// error in an imported file.
var located = regexp.MustCompile(`^([^\s:]+):\(?(\d+):(\d+)[-0-9:()]* `)

// elsewhere moves such a position to where it belongs.
func elsewhere(d *diag.Diagnostic) {
	m := located.FindStringSubmatch(d.Message)
	if m == nil {
		return
	}
	d.Message = d.Message[len(m[0]):]
	if d.Pos.Line > 0 {
		d.Notes = append([]diag.Note{{Pos: d.Pos, Text: "imported here"}}, d.Notes...)
	}
	line, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3])
	d.Pos = diag.Position{File: m[1], Line: line, Column: column}
}

func diagnosticName(l *ast.LocationRange) ast.DiagnosticFileName {
	if l.File == nil {
		return ""
	}
	return l.File.DiagnosticFileName
}

// trace fills in position and notes from the stack, innermost frame last.
func trace(d *diag.Diagnostic, frames []jsonnet.TraceFrame) {
	var places []diag.Note
	for i := len(frames) - 1; i >= 0; i-- {
		p := position(&frames[i].Loc)
		if !p.IsValid() {
			continue
		}
		text := "called from here"
		if name := frames[i].Name; strings.HasPrefix(name, "function <") {
			text = "in " + name
		}
		if len(places) == 0 || places[len(places)-1].Pos != p {
			places = append(places, diag.Note{Pos: p, Text: text})
		}
	}
	main := 0
	for i, n := range places {
		if !lang.IsLibrary(n.Pos.File) {
			main = i
			break
		}
	}
	for i, n := range places {
		switch {
		case i == main:
			d.Pos = n.Pos
		case len(d.Notes) < maxTrace:
			d.Notes = append(d.Notes, n)
		}
	}
}

// stackCode is the code of calls that nest too deep.
const stackCode = "JSONNET004"

func classify(message string) (code, hint string) {
	lower := strings.ToLower(message)
	switch {
	case strings.Contains(message, "outside of the module root"):
		return "LANG002", lang.OutsideHint
	case strings.Contains(message, noPackages):
		return "JSONNET003", "run jb install"
	case strings.Contains(message, "cannot find "):
		return "JSONNET003", "check the path; libraries belong in lib/ or vendor/ of the module, or in a directory named with -J or jpath: in writ.yaml"
	case strings.Contains(message, "max stack frames"):
		return stackCode, "look for a function or field that refers to itself, or raise the limit: --stack, or limits.stack in writ.yaml"
	case strings.Contains(lower, "undefined external variable"):
		_, name, _ := strings.Cut(message, ": ")
		return "LANG005", "give it as an input: --input " + name + "=VALUE"
	case strings.Contains(lower, "couldn't manifest function"):
		return "JSONNET005", "call the function, or hide its field with ::"
	case strings.Contains(lower, "field does not exist"):
		return "JSONNET006", "check the spelling of the field"
	case strings.Contains(lower, "unknown variable"):
		return "JSONNET007", "declare it with local, or import it"
	}
	return "JSONNET001", ""
}
