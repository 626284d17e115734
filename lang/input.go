package lang

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/lang/diag"
)

// Given is all inputs that a program can take.
func (p Program) Given() map[string]string {
	given := maps.Clone(p.Offers)
	if given == nil {
		given = map[string]string{}
	}
	maps.Copy(given, p.Inputs)
	return given
}

// UnknownInput is the diagnostic of an input that a program has no use for.
// Known is the inputs that it does declare and where.
func UnknownInput(name string, known map[string]diag.Position, hint string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "LANG004",
		Message: "the program has no input " + strconv.Quote(name),
		Hint:    hint,
	}
	names := slices.Sorted(maps.Keys(known))
	if len(names) == 0 {
		d.Message += "; it has none at all"
		return d
	}
	d.Message += "; it has " + strings.Join(names, ", ")
	for _, n := range names {
		d.Notes = append(d.Notes, diag.Note{Pos: known[n], Text: "input " + n})
	}
	return d
}
