package rendertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/test"
)

// Document is one document of a Bundle.
type Document struct {
	render.Document
	t    testing.TB
	root string
}

// Match checks that the document has what want has. Want is anything that
// encodes to a JSON object: objects may have more fields than wanted, lists are
// compared whole, and null, which Go's nil encodes to, means that a field is
// absent.
func (d *Document) Match(want any) {
	d.t.Helper()
	d.compare("", d.tree(), want, true)
}

// Equal checks that the document is want, which is anything that encodes to
// JSON, and nothing else.
func (d *Document) Equal(want any) {
	d.t.Helper()
	d.compare("", d.tree(), want, false)
}

// Field checks the value at a path such as
// ".spec.template.spec.containers[name=web].image"; see render.Origin.Field. A
// want of nil means that there is none.
func (d *Document) Field(path string, want any) {
	d.t.Helper()
	if path != "" && path[0] != '.' && path[0] != '[' {
		path = "." + path
	}
	got, ok := render.Lookup(d.tree(), path)
	switch {
	case !ok && want == nil:
	case !ok:
		d.fail(path, fmt.Sprintf("is missing, want %s", d.encode(want).AppendJSON(nil)), "")
	case want == nil:
		d.fail(path, fmt.Sprintf("is %s, want none", got.AppendJSON(nil)), "")
	default:
		d.compare(path, got, want, false)
	}
}

// Decode decodes the document into a Go value, such as an *appsv1.Deployment.
// A field that the value has no place for ends the test.
func (d *Document) Decode(into any) {
	d.t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(d.Object.JSON())))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		d.t.Fatalf("decode %s into a %T: %s", d.Object.Key(), into, err)
	}
}

func (d *Document) tree() lang.Value {
	d.t.Helper()
	v, err := lang.ParseJSON("", d.Object.JSON())
	if err != nil {
		d.t.Fatalf("read %s: %s", d.Object.Key(), err)
	}
	return v
}

func (d *Document) encode(want any) lang.Value {
	d.t.Helper()
	text, err := json.Marshal(want)
	if err == nil {
		var v lang.Value
		if v, err = lang.ParseJSON("", text); err == nil {
			return v
		}
	}
	d.t.Fatalf("encode what %s must be: %s", d.Object.Key(), err)
	return lang.Value{}
}

func (d *Document) compare(path string, got lang.Value, want any, partial bool) {
	d.t.Helper()
	c := test.Compare(got, d.encode(want), partial)
	for _, x := range c.Differences {
		d.fail(path+x.Path, x.Text, x.Lines)
	}
	if c.More > 0 {
		d.t.Errorf("%s: and %d differences more", d.Object.Key(), c.More)
	}
}

// fail reports one field, and where it is written.
func (d *Document) fail(path, text, lines string) {
	d.t.Helper()
	if lines != "" {
		text += "\n" + lines
	}
	if at := d.Origin.Field(path); at.IsValid() {
		text += fmt.Sprintf("\n\t%s: written here", place(d.root, at))
	}
	d.t.Errorf("%s: %s %s", d.Object.Key(), path, text)
}
