// Package check tells whether the cluster would accept a bundle, without a
// cluster: it calls the same pure functions as the server's admission, so
// what it refuses the server refuses, with the source position added. Rules
// that need more than the bundle to be decided give warnings.
//
// It counts: a document that could not be checked is reported as such and
// never passes for a checked one.
package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Options adjust a check.
type Options struct {
	// AllowUnknown accepts documents of kinds that Writ does not serve; they
	// are counted in Report.Unchecked.
	AllowUnknown bool
}

// Report is the outcome of a check.
type Report struct {
	// Checked counts the documents checked in full.
	Checked int
	// Unchecked names the documents of kinds that are not served.
	Unchecked []string
	// Warnings are accepted but probably not what was meant.
	Warnings diag.List
}

// Bundle checks every document of b. The error, a diag.List, holds everything
// wrong; the report is valid in any case.
func Bundle(b *render.Bundle, o Options) (*Report, error) {
	c := &checker{report: &Report{}}
	for _, d := range b.Documents {
		c.document(d, o)
	}
	c.dependencies()
	return c.report, c.errs.Err()
}

// checker collects what is found.
type checker struct {
	report *Report
	errs   diag.List
	// good are the documents that are right by themselves, with defaults.
	good []checked
}

type checked struct {
	object object.Object
	origin render.Origin
}

func (c *checker) document(d render.Document, o Options) {
	k, ok := api.Lookup(d.Object.Group(), d.Object.Kind())
	if !ok || k.APIVersion() != d.Object.APIVersion() {
		c.report.Unchecked = append(c.report.Unchecked, d.Object.Key().String())
		if !o.AllowUnknown {
			c.errs = append(c.errs, unknownKind(d))
		}
		return
	}
	c.report.Checked++
	problems := admission.Strict(k, d.Object)
	if k.Namespaced == (d.Object.Namespace() == "") {
		problems = append(problems, namespaceProblem(k))
	}
	if len(problems) > 0 {
		c.refuse(d, problems)
		return
	}
	full, err := admission.Default(k, d.Object)
	if err != nil {
		c.refuse(d, []api.Problem{{Code: api.CodeInvalid, Message: err.Error()}})
		return
	}
	problems = slices.Concat(admission.Reserved(k, full, object.Object{}), admission.Validate(k, full, object.Object{}))
	if len(problems) > 0 {
		c.refuse(d, problems)
		return
	}
	for _, text := range admission.Warnings(k, full) {
		c.report.Warnings = append(c.report.Warnings, warning(d, text))
	}
	c.good = append(c.good, checked{object: full, origin: d.Origin})
}

// dependencies applies the rules that see several documents.
func (c *checker) dependencies() {
	objects := make([]object.Object, len(c.good))
	for i, g := range c.good {
		objects[i] = g.object
	}
	state := access.NewObjects(objects)
	for _, g := range c.good {
		if g.object.Group() != api.Group || g.object.Kind() != api.DependencyKind.Kind {
			continue
		}
		for _, p := range access.Check(state, g.object) {
			d := diagnostic(g.object.Key(), g.origin, p)
			if p.Code == api.CodeConsumer {
				// The consumer may be in the cluster already.
				d.Message += " in these documents"
				c.report.Warnings = append(c.report.Warnings, d)
				continue
			}
			c.errs = append(c.errs, d)
		}
	}
}

func (c *checker) refuse(d render.Document, problems []api.Problem) {
	for _, p := range problems {
		c.errs = append(c.errs, diagnostic(d.Object.Key(), d.Origin, p))
	}
}

func diagnostic(k object.Key, origin render.Origin, p api.Problem) diag.Diagnostic {
	return diag.Diagnostic{
		Code: p.Code, Pos: origin.Field(p.Path), Object: k.String(), Path: p.Path, Message: p.Message, Hint: p.Hint,
	}
}

// warning splits ".spec.x: text" where a warning begins with a path.
func warning(d render.Document, text string) diag.Diagnostic {
	path, message := "", text
	if p, rest, ok := strings.Cut(text, ": "); ok && !strings.Contains(p, " ") && strings.ContainsAny(p, ".[") {
		path, message = "."+strings.TrimPrefix(p, "."), rest
	}
	return diag.Diagnostic{Code: "WARNING", Pos: d.Origin.Field(path), Object: d.Object.Key().String(), Path: path, Message: message}
}

func namespaceProblem(k api.Kind) api.Problem {
	if k.Namespaced {
		return api.Problem{Code: api.CodeRequired, Path: ".metadata.namespace", Message: fmt.Sprintf("a %s lives in a namespace", k.Kind)}
	}
	return api.Problem{Code: api.CodeImmutable, Path: ".metadata.namespace", Message: fmt.Sprintf("a %s lives in no namespace", k.Kind), Hint: "remove it"}
}

// unknownKind says which kind may have been meant.
func unknownKind(d render.Document) diag.Diagnostic {
	out := diag.Diagnostic{
		Code: "UnknownKind", Pos: d.Origin.Field(".kind"), Object: d.Object.Key().String(), Path: ".kind",
		Message: fmt.Sprintf("kind %s of %s is not served by Writ", d.Object.Kind(), d.Object.APIVersion()),
	}
	var kinds []string
	for _, k := range api.Kinds {
		if k.Kind == d.Object.Kind() {
			out.Path, out.Pos = ".apiVersion", d.Origin.Field(".apiVersion")
			out.Hint = "use apiVersion: " + k.APIVersion()
			return out
		}
		kinds = append(kinds, k.Kind)
	}
	if near := api.Nearest(d.Object.Kind(), kinds); near != "" {
		out.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return out
}
