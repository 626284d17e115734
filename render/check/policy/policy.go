// Package policy holds an organisation's own rules about documents and about
// who may reach what, and applies them to a bundle.
//
// A policy file is YAML with rules in CEL, or CUE with definitions that the
// documents must satisfy.
//
//	policies:
//	- name: pinned-images
//	  match: {kinds: [Deployment, apps/StatefulSet], namespaces: ["prod-*"]}
//	  rule: object.spec.template.spec.containers.all(c, c.image.contains("@sha256:"))
//	  message: every image must be pinned by its digest
//	  path: .spec.template.spec.containers
//	  severity: error
//	  hint: write IMAGE@sha256:...
//	- name: ledger-is-for-payments
//	  rule: edge.to.service != "ledger" || edge.from.namespace == "payments"
//	  messageExpression: edge.from.name + " may not use the ledger"
//
// A rule is about one document (the variable object), one access (edge), or all
// of them (edges); see Edge for what an access looks like. A rule that gives
// false, or that cannot be evaluated, is a violation.
//
// In a CUE file the definition #Deployment applies to documents of kind
// Deployment and #Document to all; the attribute
// @policy(kind=..., severity=..., hint="...") says otherwise. As everywhere in
// CUE a definition is closed: write "..." to allow more fields. A document must
// unify with the definition and the result be concrete, as for
// `cue vet -c -d '#Deployment'`.
//
// CEL is bounded by its cost, CUE by the worker process that evaluates it.
package policy

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
)

// Severity says whether a violation fails the check.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Source is a policy file.
type Source struct {
	// FS is a module root, and Name the file's name in it.
	FS   fs.FS
	Name string
	// Prefix goes before the names of that module's files in positions: the
	// way to it from the module of the documents, when it is another one.
	Prefix string
	// CUE evaluates programs of that module.
	CUE lang.Evaluator
}

// Set is the policies of several files. It is safe for concurrent use.
type Set struct {
	rules       []*rule
	constraints []constraint
}

// Violation is a document or an access that a policy does not allow.
type Violation struct {
	// Policy is its name, and Pos where it is written.
	Policy   string
	Pos      diag.Position
	Severity Severity
	// Document is the index of the document, or -1 when there is none.
	Document int
	// Path is the field at fault, empty for the document as a whole.
	Path    string
	Message string
	Hint    string
}

// Load reads policy files. What is wrong with them is reported as a diag.List.
func Load(sources []Source) (*Set, error) {
	s := &Set{}
	var errs diag.List
	for _, src := range sources {
		var err error
		switch path.Ext(src.Name) {
		case ".yaml", ".yml", ".json":
			err = s.loadRules(src)
		case ".cue":
			err = s.loadConstraints(src)
		default:
			err = diag.List{{Code: "POLICY", Pos: diag.Position{File: src.Name}, Message: "is no policy file", Hint: "name a .yaml or a .cue file"}}
		}
		errs = append(errs, src.relocate(diag.From(err))...)
	}
	names := map[string]diag.Position{}
	for _, r := range s.rules {
		if first, twice := names[r.name]; twice {
			errs = append(errs, diag.Diagnostic{
				Code: "POLICY", Pos: r.pos, Message: fmt.Sprintf("the name %q is given twice", r.name),
				Notes: []diag.Note{{Pos: first, Text: "the other policy"}},
			})
			continue
		}
		names[r.name] = r.pos
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// file is how positions name a file of the source's module.
func (s Source) file(name string) string {
	if name == "" || lang.IsLibrary(name) {
		return name
	}
	return path.Join(s.Prefix, name)
}

// relocate names the files of diagnostics as positions do.
func (s Source) relocate(l diag.List) diag.List {
	out := make(diag.List, len(l))
	for i, d := range l {
		d.Pos.File = s.file(d.Pos.File)
		d.Notes = slices.Clone(d.Notes)
		for j := range d.Notes {
			d.Notes[j].Pos.File = s.file(d.Notes[j].Pos.File)
		}
		out[i] = d
	}
	return out
}

// Len counts the policies.
func (s *Set) Len() int { return len(s.rules) + len(s.constraints) }

// Check applies the policies to documents and to the accesses that they
// declare. CUE policies that cannot be evaluated are reported as a diag.List,
// beside what the others find; any other error means that the check could not
// be done.
func (s *Set) Check(ctx context.Context, documents []object.Object, edges []Edge) ([]Violation, error) {
	c := &run{ctx: ctx, documents: documents, trees: make([]map[string]any, len(documents)), edges: edges}
	for _, r := range s.rules {
		if err := c.rule(r); err != nil {
			return nil, err
		}
	}
	found, broken, err := s.constrain(ctx, documents)
	if err != nil {
		return nil, err
	}
	return slices.Concat(c.found, found), broken.Err()
}
