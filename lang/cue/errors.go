package cue

import (
	"fmt"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

func position(p token.Pos) diag.Position {
	if !p.IsValid() {
		return diag.Position{}
	}
	return diag.Position{File: p.Filename(), Line: p.Line(), Column: p.Column()}
}

// diagnose turns CUE's errors into diagnostics. The main position is one in
// the user's files where there is one; the others become notes. It is never
// empty.
func (l *loader) diagnose(err error) diag.List {
	var list diag.List
	seen := map[string]bool{}
	for _, e := range cueerrors.Errors(err) {
		d := l.diagnostic(e)
		if key := d.Error(); !seen[key] {
			seen[key] = true
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		list = diag.List{{Code: "CUE001", Pos: diag.Position{File: l.program.Entry}, Message: "CUE refused the program without a reason: " + err.Error()}}
	}
	// A disjunction reports each failed branch beside the summary.
	_ = list.Err() // sorts
	return list
}

func (l *loader) diagnostic(e cueerrors.Error) diag.Diagnostic {
	d := diag.Diagnostic{Code: "CUE001", Path: jsonPath(e.Path())}
	format, args := e.Msg()
	d.Message = strings.TrimSpace(fmt.Sprintf(format, args...))
	if cause := cueerrors.Unwrap(e); cause != nil {
		if text := strings.TrimSpace(cause.Error()); !strings.Contains(d.Message, text) {
			d.Message = strings.TrimSuffix(strings.TrimPrefix(d.Message+": "+text, ": "), ": ")
		}
	}
	if d.Message == "" {
		d.Message = "the value is not valid"
	}
	var places []diag.Position
	for _, p := range cueerrors.Positions(e) {
		if p := position(p); p.IsValid() {
			places = append(places, p)
		}
	}
	main := 0
	for i, p := range places {
		if !lang.IsLibrary(p.File) {
			main = i
			break
		}
	}
	for i, p := range places {
		if i == main {
			d.Pos = p
		} else {
			d.Notes = append(d.Notes, diag.Note{Pos: p, Text: noteText(d.Message, p)})
		}
	}
	if !d.Pos.IsValid() {
		d.Pos = diag.Position{File: l.program.Entry}
	}
	d.Code, d.Hint = classify(d.Message)
	if strings.Contains(d.Message, "\n") {
		d.Message = strings.Join(strings.Fields(d.Message), " ")
	}
	return d
}

func noteText(message string, p diag.Position) string {
	switch {
	case lang.IsLibrary(p.File):
		return "required by the library here"
	case strings.Contains(message, "conflicting values"):
		return "the other side of the conflict"
	}
	return "involved here"
}

// classify gives the kinds of error that users meet a code and a hint.
func classify(message string) (code, hint string) {
	switch {
	case strings.Contains(message, "conflicting values"):
		return "CUE002", "keep one of the two values, or mark one as a default: *value | type"
	case strings.Contains(message, "incomplete value"):
		return "CUE003", "give the field a concrete value"
	case strings.Contains(message, "field is required but not present"):
		return "CUE003", "add the field"
	case strings.Contains(message, "field not allowed"):
		return "CUE008", "remove the field, or check its spelling against the definition"
	case strings.Contains(message, "reference") && strings.Contains(message, "not found"):
		return "CUE009", "declare the name or import its package"
	case strings.Contains(message, "imported and not used"):
		return "CUE009", "remove the import"
	}
	return "CUE001", ""
}

func jsonPath(elements []string) string {
	path := ""
	for _, e := range elements {
		if e != "" && strings.Trim(e, "0123456789") == "" {
			path += "[" + e + "]"
			continue
		}
		path = lang.JoinField(path, strings.Trim(e, `"`))
	}
	return path
}
