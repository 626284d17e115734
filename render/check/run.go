package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/check/policy"
	"github.com/writ-dev/writ/render/schema"
)

// Target is where documents are to be applied.
type Target string

// The targets.
const (
	Writ       Target = "writ"
	Kubernetes Target = "kube"
)

// Subject says what to check a bundle against.
type Subject struct {
	// Target is Writ when empty.
	Target Target
	// Definitions are CustomResourceDefinitions that are not in the bundle;
	// other documents among them are ignored.
	Definitions []render.Document
	// Policies may be nil.
	Policies *policy.Set
	// Environment is the bundle's, for the report.
	Environment string
}

// Run checks every document of a bundle. The error says that the check could
// not be done; what the check finds is in the report.
func Run(ctx context.Context, b *render.Bundle, s Subject) (*Report, error) {
	c := &checker{ctx: ctx, subject: s, report: &Report{}, custom: definitions(b.Documents, s.Definitions), pods: podsOf(b.Documents), unserved: map[string][]render.Document{}}
	for _, d := range b.Documents {
		if err := c.document(d); err != nil {
			return nil, err
		}
	}
	c.notServed()
	for _, f := range dependencies(c.served) {
		c.add(f)
	}
	c.references(b.Documents)
	found, broken, err := obey(ctx, s.Policies, b.Documents, c.served, c.pods)
	if err != nil {
		return nil, err
	}
	c.report.Fail(broken)
	for _, f := range found {
		c.add(f)
	}
	c.report.tidy()
	return c.report, nil
}

// checker collects what is found in one bundle.
type checker struct {
	ctx     context.Context
	subject Subject
	report  *Report
	custom  map[string]customKind
	pods    pods
	// spent is what the rules of definitions have cost.
	spent uint64
	// served are the documents of kinds that Writ serves, or that may declare
	// dependencies; unserved those of known kinds that it does not, by apiVersion
	// and kind.
	served   []checked
	unserved map[string][]render.Document
}

func (c *checker) add(f Finding) {
	if c.subject.Environment != "" {
		f.Environments = []string{c.subject.Environment}
	}
	c.report.Findings = append(c.report.Findings, f)
}

func (c *checker) problems(d render.Document, s Severity, list []api.Problem) {
	for _, p := range list {
		c.add(finding(s, d.Object.Key(), d.Origin, p))
	}
}

// document checks one document by itself.
func (c *checker) document(d render.Document) error {
	o := d.Object
	known := true
	var found schema.Result
	var err error
	if k, ok := schema.Lookup(o.APIVersion(), o.Kind()); ok {
		found = schema.Check(k, o)
	} else if k, ok := c.custom[groupKind(o.Group(), o.Kind())]; ok {
		found, err = c.customResource(k, o)
	} else if _, ok := served(o); !ok {
		found, known = unknown(d)
	}
	if err != nil {
		return err
	}
	c.report.Documents = append(c.report.Documents, Document{Object: o.Key().String(), Pos: d.Origin.Pos, Environment: c.subject.Environment, Checked: known})
	c.cluster(d, known, &found)
	c.problems(d, Error, found.Problems)
	c.problems(d, Warning, found.Warnings)
	return nil
}

// cluster adds what Writ's cluster says to a document.
func (c *checker) cluster(d render.Document, known bool, found *schema.Result) {
	k, ok := served(d.Object)
	if !ok && consumes(d.Object) {
		c.served = append(c.served, checked{object: d.Object, origin: d.Origin, good: len(found.Problems) == 0})
	}
	switch {
	case ok && c.subject.Target == Kubernetes && k.Group != api.Group:
		// The dependency rules see the document as Writ would store it.
		full, err := admission.Default(k, d.Object)
		if err != nil {
			full = d.Object
		}
		c.served = append(c.served, checked{object: full, origin: d.Origin, good: len(found.Problems) == 0})
	case c.subject.Target == Kubernetes && !ok:
	case ok:
		a := admit(k, d.Object)
		merge(found, a)
		c.served = append(c.served, checked{object: a.full, origin: d.Origin, good: len(a.Problems) == 0})
	case known && len(found.Problems) == 0:
		key := d.Object.APIVersion() + " " + d.Object.Kind()
		c.unserved[key] = append(c.unserved[key], d)
	}
}

// notServed warns of kinds that Writ does not serve, once each.
func (c *checker) notServed() {
	for _, key := range slices.Sorted(maps.Keys(c.unserved)) {
		list := c.unserved[key]
		apiVersion, kind, _ := strings.Cut(key, " ")
		others := ""
		if len(list) > 1 {
			others = fmt.Sprintf(", and %d others", len(list)-1)
		}
		c.problems(list[0], Warning, []api.Problem{{
			Code: CodeNotServed, Path: ".kind", Message: fmt.Sprintf("Writ does not serve %s of %s: plan and apply refuse it%s", kind, apiVersion, others),
			Hint: "check with --target kube if it is for a Kubernetes cluster",
		}})
	}
}

// merge adds what admission found unless it is found already: the rules of
// Kubernetes are known to both.
func merge(found *schema.Result, a Judgement) {
	errs := map[string]bool{}
	for _, p := range found.Problems {
		errs[p.Path] = true
	}
	for _, p := range a.Problems {
		around := p.Path
		if p.Code == api.CodeDuplicate {
			around = p.Path[:max(strings.LastIndexAny(p.Path, ".["), 0)]
		}
		if !errs[p.Path] && !errs[around] {
			found.Problems = append(found.Problems, p)
		}
	}
	var warnings []api.Problem
	for _, w := range found.Warnings {
		refused := false
		for _, p := range a.Problems {
			refused = refused || w.Path != "" && strings.HasPrefix(p.Path, w.Path)
		}
		if !refused {
			warnings = append(warnings, w)
		}
	}
	found.Warnings = append(warnings, a.Warnings...)
}

// unknown says about a document of a kind that nobody knows whether that is a
// mistake, which it is in a group that is known.
func unknown(d render.Document) (found schema.Result, known bool) {
	o := d.Object
	if o.Group() == api.Group {
		u := unknownKind(d)
		return schema.Result{Problems: []api.Problem{{Code: u.Code, Path: u.Path, Message: u.Message, Hint: u.Hint}}}, true
	}
	if p, ok := schema.Unknown(o.APIVersion(), o.Kind()); ok {
		return schema.Result{Problems: []api.Problem{p}}, true
	}
	return schema.Result{}, false
}
