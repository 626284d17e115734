package test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// testCase is one test and, after it ran, its outcome.
type testCase struct {
	suite *suite
	name  string
	pos   diag.Position
	path  string // below the file's tests
	spec  spec
	Outcome
}

// spec is what a test says.
type spec struct {
	fields map[string]lang.Field

	message  string
	holds    *lang.Value
	fail     *regexp.Regexp
	units    []string // names or patterns
	env      string
	entry    string
	inputs   map[string]string
	expect   []expectation
	snapshot string // the golden file's name without extension, or ""
}

// expectation is one item of "expect".
type expectation struct {
	pos                               diag.Position
	apiVersion, kind, name, namespace string
	count                             int // -1 is at least one
	match                             *lang.Value
	fields                            []lang.Field
}

// The fields of a test. A fact has some of facts, a rendering of renderings.
var (
	facts      = []string{"holds", "got", "want", "value"}
	renderings = []string{"unit", "entry", "expect", "snapshot"}
	anyTest    = []string{"env", "inputs", "fail", "message"}
	allFields  = slices.Concat(facts, renderings, anyTest)

	expectFields = []string{"apiVersion", "kind", "name", "namespace", "count", "absent", "match", "fields"}
)

func (s *spec) has(name string) bool {
	_, ok := s.fields[name]
	return ok
}

// rendering reports whether the test is about a program's documents.
func (s *spec) rendering() bool {
	return !s.has("holds") && !s.has("got") && !s.has("value")
}

// reader reads a test and collects what is wrong with it.
type reader struct {
	errs diag.List
}

func (r *reader) fail(pos diag.Position, hint, format string, args ...any) {
	r.errs = append(r.errs, diag.Diagnostic{Code: "TEST002", Pos: pos, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// readSpec reads the test v.
func readSpec(name string, v lang.Value) (spec, diag.List) {
	var r reader
	s := spec{fields: map[string]lang.Field{}}
	switch v.Kind {
	case lang.Bool:
		s.holds = &v
		s.fields["holds"] = lang.Field{Name: "holds", Value: v}
		return s, nil
	case lang.Object:
	default:
		r.fail(v.Pos, `write {got: X, want: Y}, {holds: BOOL} or {expect: [...]}`, "a test is an object or a bool, not %s", describe(v))
		return s, r.errs
	}
	for _, f := range v.Fields {
		s.fields[f.Name] = f
	}
	if r.known(v, allFields, "a test"); len(r.errs) == 0 {
		r.combination(&s, v)
	}
	for _, f := range v.Fields {
		r.field(&s, f, name)
	}
	return s, r.errs
}

// known refuses fields that are not among names.
func (r *reader) known(v lang.Value, names []string, what string) {
	for _, f := range v.Fields {
		if slices.Contains(names, f.Name) {
			continue
		}
		hint := "use one of " + strings.Join(names, ", ")
		if near := api.Nearest(f.Name, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		r.fail(f.Pos, hint, "%s has no field %q", what, f.Name)
	}
}

// combination refuses fields that do not go together.
func (r *reader) combination(s *spec, v lang.Value) {
	of := func(names []string) (present []string) {
		for _, n := range names {
			if s.has(n) {
				present = append(present, n)
			}
		}
		return present
	}
	fact, rendering := of(facts), of(renderings)
	shape := strings.Join(fact, "+")
	if s.has("fail") && shape != "" {
		shape += "+fail"
	}
	switch {
	case len(v.Fields) == 0:
		r.fail(v.Pos, `write {got: X, want: Y}, {holds: BOOL} or {expect: [...]}`, "the test says nothing")
	case len(fact) > 0 && len(rendering) > 0:
		r.fail(s.fields[rendering[0]].Pos, "make two tests of it", "a test has either %s or %s", fact[0], rendering[0])
	case !slices.Contains([]string{"", "holds", "got+want", "value+fail"}, shape):
		r.fail(s.fields[fact[0]].Pos, "write {holds: BOOL}, {got: X, want: Y} or {value: X, fail: REGEXP}", "%s do not make a test", strings.ReplaceAll(shape, "+", ", "))
	case s.has("fail") && (s.has("expect") || s.has("snapshot")):
		r.fail(s.fields["fail"].Pos, "make two tests of it", "what must fail has no documents to look at")
	case s.has("unit") && s.has("entry"):
		r.fail(s.fields["entry"].Pos, "leave out one", "a test renders either a unit or an entry")
	case shape == "" && len(rendering) == 0 && !s.has("inputs") && !s.has("env") && !s.has("fail"):
		r.fail(v.Pos, `write {got: X, want: Y}, {holds: BOOL} or {expect: [...]}`, "the test has only a message")
	}
}

// field reads one field of a test.
func (r *reader) field(s *spec, f lang.Field, name string) {
	v := f.Value
	switch f.Name {
	case "message":
		s.message = r.text(f)
	case "holds":
		s.holds = &v
	case "env":
		s.env = r.text(f)
	case "entry":
		s.entry = r.text(f)
	case "unit":
		s.units = []string{r.text(f)}
	case "fail":
		re, err := regexp.Compile(r.text(f))
		if err != nil {
			r.fail(v.Pos, "write a regular expression of Go; quote dots and brackets with \\", "fail: %s", err)
		}
		s.fail = re
	case "inputs":
		s.inputs = r.inputs(f)
	case "snapshot":
		s.snapshot = r.snapshot(f, name)
	case "expect":
		items := v.Items
		if v.Kind == lang.Object {
			items = []lang.Value{v}
		} else if v.Kind != lang.List {
			r.fail(v.Pos, "write [{kind: ..., name: ..., match: {...}}]", "expect is a list, not %s", describe(v))
		}
		for _, item := range items {
			s.expect = append(s.expect, r.expectation(item))
		}
	}
}

func (r *reader) text(f lang.Field) string {
	if f.Value.Kind != lang.String {
		r.fail(f.Value.Pos, "", "%s is a string, not %s", f.Name, describe(f.Value))
		return ""
	}
	return f.Value.Text
}

func (r *reader) inputs(f lang.Field) map[string]string {
	if f.Value.Kind != lang.Object {
		r.fail(f.Value.Pos, "write inputs: {NAME: VALUE}", "inputs is an object, not %s", describe(f.Value))
		return nil
	}
	inputs := map[string]string{}
	for _, in := range f.Value.Fields {
		switch in.Value.Kind {
		case lang.String, lang.Number, lang.Bool:
			inputs[in.Name] = in.Value.Text
		default:
			r.fail(in.Value.Pos, "", "input %s is a string, number or bool, not %s", in.Name, describe(in.Value))
		}
	}
	return inputs
}

// snapshotName is what the file of a snapshot may be called.
var snapshotName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (r *reader) snapshot(f lang.Field, name string) string {
	switch v := f.Value; {
	case v.Kind == lang.Bool && v.Text == "true":
		name = slug(name)
		if name == "" {
			r.fail(v.Pos, `name it: snapshot: "NAME"`, "the test's name has no letter or digit to name the snapshot after")
		}
		return name
	case v.Kind == lang.String && snapshotName.MatchString(v.Text):
		return v.Text
	default:
		r.fail(v.Pos, `write true, or a name of letters, digits, ".", "_" and "-"`, "snapshot is true or a file's name, not %s", describe(v))
		return ""
	}
}

// slug makes a file name of a test's name.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 80 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// expectation reads an item of "expect".
func (r *reader) expectation(v lang.Value) expectation {
	e := expectation{pos: v.Pos, count: -1}
	if v.Kind != lang.Object {
		r.fail(v.Pos, "write {kind: ..., name: ..., match: {...}}", "an expectation is an object, not %s", describe(v))
		return e
	}
	r.known(v, expectFields, "an expectation")
	for _, f := range v.Fields {
		switch f.Name {
		case "apiVersion":
			e.apiVersion = r.text(f)
		case "kind":
			e.kind = r.text(f)
		case "name":
			e.name = r.text(f)
		case "namespace":
			e.namespace = r.text(f)
		case "count":
			n, err := strconv.Atoi(f.Value.Text)
			if f.Value.Kind != lang.Number || err != nil || n < 0 {
				r.fail(f.Value.Pos, "", "count is a whole number from 0, not %s", describe(f.Value))
			}
			e.count = n
		case "absent":
			if f.Value.Kind != lang.Bool || f.Value.Text != "true" {
				r.fail(f.Value.Pos, "leave it out where a document must be there", "absent is true, not %s", describe(f.Value))
			}
			e.count = 0
		case "match":
			e.match = &f.Value
			if f.Value.Kind != lang.Object {
				r.fail(f.Value.Pos, "", "match is an object, not %s", describe(f.Value))
			}
		case "fields":
			e.fields = f.Value.Fields
			if f.Value.Kind != lang.Object {
				r.fail(f.Value.Pos, `write fields: {".spec.replicas": 2}`, "fields is an object, not %s", describe(f.Value))
			}
		}
	}
	if e.count == 0 && (e.match != nil || e.fields != nil) {
		r.fail(v.Pos, "remove match and fields", "a document that is absent has no fields to look at")
	}
	return e
}

func describe(v lang.Value) string {
	switch v.Kind {
	case lang.Null:
		return "null"
	case lang.Object:
		return "an object"
	case lang.List:
		return "a list"
	case lang.String:
		return "the string " + short(v)
	}
	return v.Text
}

// maxShown bounds a value shown in a message, in bytes.
const maxShown = 120

// short is the JSON of a value, cut when it is long.
func short(v lang.Value) string {
	text := string(v.AppendJSON(nil))
	if len(text) > maxShown {
		return strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return text
}
