package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Found is a document and the rendering that it is in.
type Found struct {
	Rendering
	Document render.Document
}

// Name says which document is meant. Kind is a kind, a plural or a short name as
// kubectl takes them, perhaps with a group: "deployment", "deploy",
// "Deployment.apps". An empty namespace means any.
type Name struct {
	Kind, Namespace, Name string
}

// ParseName reads KIND/NAME or KIND/NAMESPACE/NAME.
func ParseName(text string) (Name, error) {
	parts := strings.Split(text, "/")
	if slices.Contains(parts, "") || len(parts) < 2 || len(parts) > 3 {
		return Name{}, fmt.Errorf("%q names no document: want KIND/NAME, such as deployment/web", text)
	}
	n := Name{Kind: parts[0], Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		n.Namespace = parts[1]
	}
	return n, nil
}

// String is the name as ParseName reads it.
func (n Name) String() string {
	if n.Namespace != "" {
		return n.Kind + "/" + n.Namespace + "/" + n.Name
	}
	return n.Kind + "/" + n.Name
}

// Find finds the document of a name, in each environment in which it is. That
// there is none, or several, is a diag.List with the names that there are.
func Find(all []Rendering, n Name) ([]Found, error) {
	words := kindsOf(all)
	var found []Found
	for _, r := range all {
		for _, d := range r.Bundle.Documents {
			k := d.Object.Key()
			if k.Name == n.Name && (n.Namespace == "" || k.Namespace == n.Namespace) && words.match(n.Kind, d.Object) {
				found = append(found, Found{r, d})
			}
		}
	}
	if len(found) == 0 {
		return nil, notFound(all, n, words)
	}
	seen := map[string]object.Key{}
	for _, f := range found {
		k := f.Document.Object.Key()
		other, ok := seen[f.Target.Environment]
		if ok && other != k {
			return nil, several(found, n)
		}
		if ok {
			return nil, diag.List{{
				Code: "WHY001", Message: fmt.Sprintf("several units write %s", k),
				Hint: "name one: --unit " + f.Target.Unit,
			}}
		}
		seen[f.Target.Environment] = k
	}
	return found, nil
}

// several says that a name is not enough.
func several(found []Found, n Name) error {
	d := diag.Diagnostic{Code: "WHY001", Message: fmt.Sprintf("%s is several documents", n), Hint: "name one of them"}
	seen := map[object.Key]bool{}
	for _, f := range found {
		if k := f.Document.Object.Key(); !seen[k] {
			seen[k] = true
			d.Notes = append(d.Notes, diag.Note{Pos: f.Document.Origin.Pos, Text: full(f.Document.Object)})
		}
	}
	return diag.List{d}
}

// full names an object so that nothing else has the name.
func full(o object.Object) string {
	k := o.Key()
	n := Name{Kind: strings.ToLower(k.Kind), Namespace: k.Namespace, Name: k.Name}
	if k.Group != "" {
		n.Kind += "." + k.Group
	}
	return n.String()
}

// notFound says which documents there are instead.
func notFound(all []Rendering, n Name, words kinds) error {
	d := diag.Diagnostic{Code: "WHY001", Message: fmt.Sprintf("no document %s is rendered", n)}
	names := Names(all)
	var kindKnown bool
	var ofKind, ofName []string
	for _, r := range all {
		for _, doc := range r.Bundle.Documents {
			is := words.match(n.Kind, doc.Object)
			kindKnown = kindKnown || is
			name := short(doc.Object)
			if is && !slices.Contains(ofKind, name) {
				ofKind = append(ofKind, name)
			}
			if doc.Object.Key().Name == n.Name && !slices.Contains(ofName, name) {
				ofName = append(ofName, name)
			}
		}
	}
	switch near := api.Nearest(strings.ToLower(n.Kind)+"/"+n.Name, names); {
	case near != "" && near != n.Kind+"/"+n.Name:
		d.Hint = "did you mean " + near + "?"
	case len(ofName) > 0 && !kindKnown:
		d.Hint = "there is " + listed(ofName)
	case kindKnown:
		d.Hint = "of that kind there is " + listed(ofKind)
	default:
		d.Hint = "there is " + listed(names)
	}
	return diag.List{d}
}

// short names an object as Find takes it.
func short(o object.Object) string { return strings.ToLower(o.Kind()) + "/" + o.Key().Name }

// Names lists the documents as Find takes them, sorted. Where a name is not
// enough, it is with the namespace.
func Names(all []Rendering) []string {
	of := map[string]map[object.Key]object.Object{}
	for _, r := range all {
		for _, d := range r.Bundle.Documents {
			name := short(d.Object)
			if of[name] == nil {
				of[name] = map[object.Key]object.Object{}
			}
			of[name][d.Object.Key()] = d.Object
		}
	}
	var names []string
	for name, objects := range of {
		if len(objects) == 1 {
			names = append(names, name)
			continue
		}
		for _, o := range objects {
			names = append(names, full(o))
		}
	}
	slices.Sort(names)
	return names
}
