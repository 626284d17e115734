package provenance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/why"
)

// The codes of what can be wrong with a record.
const (
	CodeUnreadable = "PROV001"
	CodeStale      = "PROV002"
)

// Store is a record and the documents beside it. Close ends it.
type Store struct {
	record *Record
	root   *os.Root
	dir    string
	// known are the documents that were read, by what stands for them.
	known map[object.Key]*document
}

// Open opens the record of a directory, or the file that is one. What is wrong
// with it is a diag.List.
func Open(path string) (*Store, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, File)
	}
	record, err := read(path)
	if err != nil {
		message := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message = "there is no provenance"
		}
		return nil, unreadable(path, message)
	}
	dir := filepath.Dir(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Store{record: record, root: root, dir: dir, known: map[object.Key]*document{}}, nil
}

func unreadable(path, message string) error {
	return diag.List{{
		Code: CodeUnreadable, Pos: diag.Position{File: filepath.ToSlash(path)}, Message: message,
		Hint: "write it again: writ render --out DIR --provenance",
	}}
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.root.Close() }

// Find finds the document of a name, as why.Find does, with the places of its
// fields. Only documents that may be meant are read; one that is not what the
// record is of is an error.
func (s *Store) Find(ctx context.Context, n why.Name) (why.Found, error) {
	units := make([]why.Rendering, len(s.record.Units))
	for i, name := range s.record.Units {
		units[i] = why.Rendering{
			Target: render.Target{Unit: name, Environment: s.record.Environment}, Bundle: &render.Bundle{Digest: s.record.Digest},
		}
	}
	for i := range s.record.Documents {
		d := &s.record.Documents[i]
		doc, err := s.stub(d)
		// The words for kinds are in their definitions.
		if d.Name == n.Name || d.Kind == "CustomResourceDefinition" {
			doc, err = s.document(ctx, d)
		}
		if err != nil {
			return why.Found{}, err
		}
		b := units[d.Unit].Bundle
		b.Documents = append(b.Documents, doc)
		s.known[doc.Object.Key()] = d
	}
	found, err := why.Find(units, n)
	if err != nil {
		return why.Found{}, err
	}
	return found[0], nil
}

// stub stands for a document of which no more than the name is wanted.
func (s *Store) stub(d *document) (render.Document, error) {
	o, err := object.FromTree(map[string]any{
		"apiVersion": d.APIVersion, "kind": d.Kind,
		"metadata": map[string]any{"name": d.Name, "namespace": d.Namespace},
	})
	if err != nil {
		return render.Document{}, fmt.Errorf("read the provenance: %w", err)
	}
	r := reader{record: s.record, at: d.At[:1]}
	own, _ := r.next()
	return render.Document{Object: o, Origin: render.NewOrigin(own, d.Path, lang.Value{})}, nil
}

// document reads a document and gives its fields their places.
func (s *Store) document(ctx context.Context, d *document) (render.Document, error) {
	stub, err := s.stub(d)
	if err != nil {
		return stub, err
	}
	key := stub.Object.Key()
	name := render.FileName(key)
	v, err := render.Evaluate(ctx, render.Options{FS: s.root.FS(), Entry: name})
	if err != nil || v.Kind != lang.List || len(v.Items) != 1 {
		return stub, s.stale(key, name, "the document is not there, or is none any more")
	}
	v = v.Items[0]
	sorted(v)
	if digestOf(v) != d.SHA256 {
		return stub, s.stale(key, name, "the document is not the one that the provenance is of")
	}
	r := reader{record: s.record, at: d.At}
	own, at := r.next()
	v.Pos = at
	r.inside(v)
	if r.bad || len(r.at) > 0 {
		return stub, unreadable(s.file(File), errDamaged.Error())
	}
	o, err := object.Parse(v.AppendJSON(nil))
	return render.Document{Object: o, Origin: render.NewOrigin(own, d.Path, v)}, err
}

func (s *Store) stale(key object.Key, name, message string) error {
	return diag.List{{
		Code: CodeStale, Pos: diag.Position{File: s.file(name)}, Object: key.String(), Message: message,
		Hint: "render again with --provenance",
	}}
}

func (s *Store) file(name string) string {
	return filepath.ToSlash(filepath.Join(s.dir, filepath.FromSlash(name)))
}

// Answer tells how a field of a document that Find found got its value: by its
// chain, or, when the record has none, by its place alone.
func (s *Store) Answer(q why.Question) (*why.Answer, error) {
	path, v, err := q.Locate()
	if err != nil {
		return nil, err
	}
	a := &why.Answer{
		Document: q.Document.Object.Key().String(), Path: path,
		Unit: q.Target.Unit, Environment: q.Target.Environment, Value: v.AppendJSON(nil), Steps: []why.Step{},
	}
	d := s.known[q.Document.Object.Key()]
	if len(d.Why) == 0 || !plain(v) {
		gap := "the record has places and no chains (writ render --provenance=chains)"
		if len(d.Why) > 0 {
			gap = "the record has the chains of plain values"
		}
		e := lang.Located(q.Document.Origin.Value(), path, gap)
		e.Steps[0].Pos = q.Document.Origin.Field(path)
		a.Gap, a.Steps = e.Gap, []why.Step{{Step: e.Steps[0]}}
		return a, nil
	}
	n := 0
	for at, part := range q.Document.Origin.Value().All() {
		if at == path {
			break
		}
		if plain(part) {
			n++
		}
	}
	if n >= len(d.Why) {
		return nil, unreadable(s.file(File), errDamaged.Error())
	}
	s.record.read(a, d.Why[n])
	return a, nil
}

// read reads the steps of a chain.
func (r *Record) read(a *why.Answer, chain []int) {
	for i := 0; i+2 < len(chain); i += 3 {
		s := r.Steps[chain[i]]
		if s.Kind == stepGap {
			a.Gap = s.Text
			continue
		}
		one := why.Step{Source: s.Source, Step: lang.Step{
			Depth: chain[i+1], Kind: s.Kind, Effect: s.Effect, Name: s.Name, Text: s.Text, Note: s.Note,
		}}
		if len(s.Pos) == 3 {
			one.Pos = diag.Position{File: r.Files[s.Pos[0]], Line: s.Pos[1], Column: s.Pos[2]}
		}
		if v := chain[i+2]; v > 0 {
			one.Value = r.Values[v-1]
		}
		a.Steps = append(a.Steps, one)
	}
}
