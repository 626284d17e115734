// Package check tells what is wrong with a bundle, without a cluster.
//
// Bundle is the gate before a plan: whether Writ's own cluster would accept
// the documents. It calls the same pure functions as the server's admission,
// so what it refuses the server refuses, with the source position added.
//
// Run is the whole check. A document is right when it is valid Kubernetes: its
// fields (render/schema, or the CustomResourceDefinition of its kind), and the
// rules of its kind. With the target Writ, documents of kinds that Writ serves
// are also held to what Writ's cluster would refuse, and others get a warning.
// Then come the declared dependencies, references between documents, and
// policies. Rules that need more than the bundle to be decided give warnings.
//
// Both count: a document that could not be checked is reported as such and
// never passes for a checked one.
package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/access"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check/policy"
)

// Options adjust a check.
type Options struct {
	// AllowUnknown accepts documents of kinds that Writ does not serve; they
	// are counted in Verdict.Unchecked.
	AllowUnknown bool
	// Known are judgements that were made before; other documents are judged
	// now. It may be nil.
	Known Judgements
	// Policies may be nil. Those whose violations are errors are as binding as
	// the cluster's own rules.
	Policies *policy.Set
}

// Verdict is the outcome of the gate.
type Verdict struct {
	// Checked counts the documents checked in full.
	Checked int
	// Unchecked names the documents of kinds that are not served.
	Unchecked []string
	// Warnings are accepted but probably not what was meant.
	Warnings diag.List
}

// Bundle checks every document of b as Writ's cluster would, and against the
// policies. A diag.List as error holds everything wrong; any other says that
// the policies could not be asked. The verdict is valid in any case.
func Bundle(ctx context.Context, b *render.Bundle, o Options) (*Verdict, error) {
	c := &gate{verdict: &Verdict{}}
	judged := judgeAll(b.Documents, o.Known)
	for i, j := range judged {
		c.document(b.Documents[i], j, o)
	}
	if o.Policies != nil || slices.ContainsFunc(b.Documents, func(d render.Document) bool { return isDependency(d.Object) }) {
		all := servedOf(b.Documents, judged)
		c.findings(dependencies(all))
		found, broken, err := obey(ctx, o.Policies, b.Documents, all, podsOf(b.Documents))
		if err != nil {
			return c.verdict, err
		}
		c.errs = append(c.errs, broken...)
		c.findings(found)
	}
	return c.verdict, c.errs.Err()
}

// gate collects what is found.
type gate struct {
	verdict *Verdict
	errs    diag.List
}

// checked is a document of a kind that Writ knows, with defaults if it is served.
// Good says that it is right by itself; one that is not is there all the same for
// others to refer to.
type checked struct {
	object object.Object
	origin render.Origin
	good   bool
}

func (c *gate) document(d render.Document, j Judgement, o Options) {
	if !j.Served {
		c.verdict.Unchecked = append(c.verdict.Unchecked, d.Object.Key().String())
		if !o.AllowUnknown {
			c.errs = append(c.errs, unknownKind(d))
		}
		return
	}
	c.verdict.Checked++
	for _, p := range j.Problems {
		c.errs = append(c.errs, diagnostic(d.Object.Key(), d.Origin, p))
	}
	for _, p := range j.Warnings {
		c.verdict.Warnings = append(c.verdict.Warnings, diagnostic(d.Object.Key(), d.Origin, p))
	}
}

// servedOf are the documents of kinds that Writ serves, and those that may
// declare dependencies all the same.
func servedOf(documents []render.Document, judged []Judgement) []checked {
	var all []checked
	for i, d := range documents {
		switch j := judged[i]; {
		case j.Served:
			all = append(all, checked{object: j.object(d.Object), origin: d.Origin, good: len(j.Problems) == 0})
		case consumes(d.Object):
			all = append(all, checked{object: d.Object, origin: d.Origin, good: true})
		}
	}
	return all
}

func (c *gate) findings(list []Finding) {
	for _, f := range list {
		if f.Severity == Error {
			c.errs = append(c.errs, f.Diagnostic)
		} else {
			c.verdict.Warnings = append(c.verdict.Warnings, f.Diagnostic)
		}
	}
}

// served finds the kind of a document among those that Writ serves.
func served(o object.Object) (api.Kind, bool) {
	k, ok := api.Lookup(o.Group(), o.Kind())
	return k, ok && k.APIVersion() == o.APIVersion()
}

// consumes reports whether a document that is not served may declare dependencies
// all the same.
func consumes(o object.Object) bool {
	_, ok := api.Known(o.Group(), o.Kind())
	return ok
}

// dependencies applies the dependency rules that see other objects.
func dependencies(documents []checked) []Finding {
	var found []Finding
	state := stateOf(documents)
	for _, g := range documents {
		if !g.good || !isDependency(g.object) {
			continue
		}
		for _, p := range access.Check(state, g.object) {
			f := finding(Error, g.object.Key(), g.origin, p)
			if p.Code == api.CodeConsumer {
				// The consumer may be in the cluster already.
				f.Message += " in these documents"
				f.Severity = Warning
			}
			found = append(found, f)
		}
	}
	return found
}

func isDependency(o object.Object) bool {
	return o.Kind() == api.DependencyKind.Kind && o.Group() == api.Group
}

func stateOf(documents []checked) access.State {
	objects := make([]object.Object, len(documents))
	for i, d := range documents {
		objects[i] = d.object
	}
	return access.NewObjects(objects)
}

func diagnostic(k object.Key, origin render.Origin, p api.Problem) diag.Diagnostic {
	return diag.Diagnostic{
		Code: p.Code, Pos: origin.Field(p.Path), Object: k.String(), Path: p.Path, Message: p.Message, Hint: p.Hint,
	}
}

func finding(s Severity, k object.Key, origin render.Origin, p api.Problem) Finding {
	return Finding{Diagnostic: diagnostic(k, origin, p), Severity: s, Fix: fixOf(p)}
}

// warning splits ".spec.x: text" where a warning begins with a path.
func warning(text string) api.Problem {
	path, message := "", text
	if p, rest, ok := strings.Cut(text, ": "); ok && !strings.Contains(p, " ") && strings.ContainsAny(p, ".[") {
		path, message = "."+strings.TrimPrefix(p, "."), rest
	}
	return api.Problem{Code: "WARNING", Path: path, Message: message}
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
			out.Hint = api.UseVersion(k.APIVersion())
			return out
		}
		kinds = append(kinds, k.Kind)
	}
	if near := api.Nearest(d.Object.Kind(), kinds); near != "" {
		out.Hint = api.DidYouMean(near)
	}
	return out
}
