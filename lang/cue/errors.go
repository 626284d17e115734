package cue

import (
	"fmt"
	"path"
	"strings"

	"cuelang.org/go/cue"
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
func (l *loader) diagnose(err error) diag.List { return l.diagnoseIn(err, cue.Value{}) }

// diagnoseIn also knows the value that the errors are in, so that an error
// for which CUE has no position gets that of the field.
func (l *loader) diagnoseIn(err error, v cue.Value) diag.List {
	var list diag.List
	seen := map[string]bool{}
	for _, e := range cueerrors.Errors(err) {
		d := l.diagnostic(e, v)
		if key := d.Error(); !seen[key] {
			seen[key] = true
			list = append(list, d)
		}
	}
	list = joinAlternatives(list)
	l.blameFile(list)
	if len(list) == 0 {
		list = diag.List{{Code: "CUE001", Pos: diag.Position{File: l.program.Entry}, Message: "CUE refused the program without a reason: " + err.Error()}}
	}
	_ = list.Err() // sorts
	return list
}

// blameFile tells, where a file was evaluated that is not all of its package, that
// this may be why something is missing.
func (l *loader) blameFile(list diag.List) {
	if l.program.Tests || path.Ext(l.program.Entry) != ".cue" || l.files[l.program.Entry] == nil {
		return
	}
	name, dir := packageName(l.files[l.program.Entry]), path.Dir(l.program.Entry)
	all, err := l.directoryFiles(dir, newInputs(nil, nil), l.parse)
	if of := filterPackage(all, name); name == "" || err != nil || len(of) < 2 {
		return
	}
	for i := range list {
		if list[i].Code == "CUE003" || strings.HasSuffix(list[i].Message, "not found") {
			list[i].Hint = fmt.Sprintf("evaluate the directory %s: a file is evaluated alone, and package %s has more files than this one", dir, name)
		}
	}
}

// joinAlternatives makes one diagnostic of a failed disjunction: CUE reports a
// summary without a position and then an error for each alternative.
func joinAlternatives(list diag.List) diag.List {
	var joined diag.List
	for i := 0; i < len(list); i++ {
		d := list[i]
		if !strings.HasSuffix(d.Message, "errors in empty disjunction:") {
			joined = append(joined, d)
			continue
		}
		d.Code, d.Notes = "CUE011", nil
		d.Message = "no alternative fits"
		d.Hint = "use one of the alternatives, or add one"
		for i+1 < len(list) && list[i+1].Path == d.Path {
			i++
			if len(d.Notes) == 0 {
				d.Pos = list[i].Pos
			}
			d.Notes = append(d.Notes, diag.Note{Pos: list[i].Pos, Text: list[i].Message})
			d.Notes = append(d.Notes, list[i].Notes...)
		}
		joined = append(joined, d)
	}
	return joined
}

func (l *loader) diagnostic(e cueerrors.Error, v cue.Value) diag.Diagnostic {
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
	d.Pos, d.Notes = places(cueerrors.Positions(e), fieldPlace(v, e.Path()), d.Message)
	if !d.Pos.IsValid() {
		d.Pos = diag.Position{File: l.program.Entry}
	}
	d.Code, d.Hint = classify(d.Message)
	if strings.Contains(d.Message, "\n") {
		d.Message = strings.Join(strings.Fields(d.Message), " ")
	}
	return d
}

// places chooses the position of an error among those that CUE has for it; the
// others become notes. Field is where the field in question is.
func places(all []token.Pos, field diag.Position, message string) (diag.Position, []diag.Note) {
	var found []diag.Position
	main, library := -1, false
	for _, p := range all {
		p := position(p)
		if !p.IsValid() {
			continue
		}
		found = append(found, p)
		switch {
		case lang.IsLibrary(p.File):
			library = true
		case main < 0 || library:
			// Beside the library, the last place is the user's own value; the
			// ones before it are where the library was asked for.
			main = len(found) - 1
		}
	}
	if main < 0 && field.IsValid() {
		found = append(found, field)
		main = len(found) - 1
	}
	main = max(main, 0)
	var pos diag.Position
	var notes []diag.Note
	for i, p := range found {
		if i == main {
			pos = p
		} else if p != found[main] {
			notes = append(notes, diag.Note{Pos: p, Text: noteText(message, p)})
		}
	}
	return pos, notes
}

// fieldPlace is the position in the user's files of the field at a path, or of
// the nearest one around it.
func fieldPlace(v cue.Value, path []string) diag.Position {
	for n := len(path); n > 0 && v.Exists(); n-- {
		p := cue.ParsePath(strings.Join(path[:n], "."))
		if p.Err() != nil {
			continue
		}
		if pos := position(v.LookupPath(p).Pos()); pos.IsValid() && !lang.IsLibrary(pos.File) {
			return pos
		}
	}
	return diag.Position{}
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
