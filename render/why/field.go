package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// maxListed bounds the names of a hint.
const maxListed = 20

// namespacePath is the one field that a document may have without its program.
const namespacePath = ".metadata.namespace"

// field is a field that is there.
type field struct {
	path  string
	value lang.Value
	// defaulted says that the program does not have it.
	defaulted bool
}

// field finds what a question is about.
func (q Question) field() (field, error) {
	at := q.Path
	switch {
	case at == ".":
		at = ""
	case at != "" && at[0] != '.' && at[0] != '[':
		at = "." + at
	}
	origin := q.Document.Origin
	path, v, ok := origin.Concrete(at)
	if ok {
		return field{path: path, value: v}, nil
	}
	if ns := q.Document.Object.Key().Namespace; at == namespacePath && ns != "" {
		return field{path: at, value: lang.Value{Kind: lang.String, Text: ns}, defaulted: true}, nil
	}
	d := diag.Diagnostic{
		Code: "WHY002", Object: q.Document.Object.Key().String(), Path: path,
		Pos: origin.Field(path), Message: fmt.Sprintf("there is no field %s", at),
	}
	d.Hint = d.Object + " has " + inside(v, path)
	if near := nearField(v, path, at); near != "" {
		d.Hint = fmt.Sprintf("did you mean %s?", near)
	}
	return field{}, diag.List{d}
}

// Locate finds the field that a question is about: its path without selectors,
// and its value. That there is none is a diag.List.
func (q Question) Locate() (path string, v lang.Value, err error) {
	f, err := q.field()
	return f.path, f.value, err
}

// inside tells what a value has that could be asked about.
func inside(v lang.Value, path string) string {
	at := path
	if at == "" {
		at = "."
	}
	switch v.Kind {
	case lang.Object:
		if len(v.Fields) == 0 {
			return "no fields in " + at
		}
		names := make([]string, 0, len(v.Fields))
		for _, f := range v.Fields {
			names = append(names, f.Name)
		}
		return "in " + at + ": " + listed(names)
	case lang.List:
		return fmt.Sprintf("a list of %d in %s; write [0], or a selector such as [name=web]", len(v.Items), at)
	}
	return fmt.Sprintf("a plain value at %s: %s", at, v.AppendJSON(nil))
}

func listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// nearField is the path that was probably meant by want, of which all of v up
// to path is there.
func nearField(v lang.Value, path, want string) string {
	wanted, ok := lang.SplitPath(want)
	have, ok2 := lang.SplitPath(path)
	if !ok || !ok2 || len(wanted) <= len(have) || v.Kind != lang.Object {
		return ""
	}
	var names []string
	for _, f := range v.Fields {
		names = append(names, f.Name)
	}
	if near := api.Nearest(wanted[len(have)].Name, names); near != "" {
		return lang.JoinPath(append(slices.Clip(have), append([]lang.Element{{Name: near, Index: -1}}, wanted[len(have)+1:]...)...))
	}
	return ""
}

// Fields lists the paths of all plain values of a document, and of its empty
// objects and lists.
func (f Found) Fields() []string {
	var paths []string
	for at, v := range f.Document.Origin.Value().All() {
		if len(v.Items)+len(v.Fields) == 0 {
			paths = append(paths, at)
		}
	}
	return paths
}
