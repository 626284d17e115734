// Package provenance keeps beside rendered documents where each of their fields
// was written, and, when asked for, how it got its value: writ why can tell
// without the source.
//
// A record is the file File in the directory of the documents, for one
// environment. It is JSON, with a document a line:
//
//	{"version":1,
//	 "environment":"prod",            the documents' environment, if any
//	 "digest":"sha256:...",           of all documents: that of the bundle
//	 "files":["app.cue","lib/x.cue"], the sources that positions name, by number
//	 "units":["web"],                 the units, by number
//	 "steps":[{"kind":"field",...}],  steps of chains, without depth and value
//	 "values":[3,"x"],                values of steps
//	 "documents":[
//	{"apiVersion":"v1","kind":"ConfigMap","namespace":"default","name":"a",
//	 "unit":0,
//	 "sha256":"...",                  of the document as canonical JSON
//	 "path":"configs.a",              where it is in the program's value
//	 "at":[[0,3,5],0,[0,4,2],...],
//	 "why":[[0,0,1,1,1,0],...]}
//	]}
//
// "at" has an element for each value in the document, the document itself first,
// then depth first, objects by sorted names. It is 0 for a value that has no
// place but that of what it is in, or [file, line, column] of where the user's
// own files have it, followed by another three where the value itself comes from
// the library.
//
// "why", of a record with chains, has an element for each plain value and empty
// object or list of the document, in the same order: the steps of its
// explanation, three numbers each: the step, its depth, and its value counted
// from 1, or 0. A step of the kind "gap" says what could not be followed. Of
// Secrets, steps have no values and no lines of source.
//
// A document that is not the one that the digest is of has no provenance: it was
// changed after it was rendered, and saying where its fields come from would be a
// guess.
package provenance

import (
	"encoding/json"
	"fmt"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/why"
)

// File is the name of a record in a directory of documents.
const File = ".writ-provenance.json"

// version is the format's.
const version = 1

// Record is the provenance of the documents of one environment.
type Record struct {
	Version     int               `json:"version"`
	Environment string            `json:"environment,omitempty"`
	Digest      string            `json:"digest"`
	Files       []string          `json:"files"`
	Units       []string          `json:"units"`
	Steps       []step            `json:"steps,omitempty"`
	Values      []json.RawMessage `json:"values,omitempty"`
	Documents   []document        `json:"documents"`

	files numbers
}

type document struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Namespace  string  `json:"namespace,omitempty"`
	Name       string  `json:"name"`
	Unit       int     `json:"unit"`
	SHA256     string  `json:"sha256"`
	Path       string  `json:"path"`
	At         []place `json:"at"`
	Why        [][]int `json:"why,omitempty"`
}

// numbers numbers what is there again and again.
type numbers map[string]int

// of returns the number of a text, and whether it is a new one.
func (n numbers) of(text string) (i int, fresh bool) {
	i, ok := n[text]
	if !ok {
		i = len(n)
		n[text] = i
	}
	return i, !ok
}

// New records where the documents of renderings, all of one environment, were
// written. Digest is that of their bundle.
func New(digest string, all []why.Rendering) (*Record, error) {
	r := &Record{Version: version, Digest: digest, Files: []string{}, Units: []string{}, Documents: []document{}, files: numbers{}}
	for i, rendering := range all {
		r.Environment = rendering.Target.Environment
		r.Units = append(r.Units, rendering.Target.Unit)
		for _, d := range rendering.Bundle.Documents {
			v, err := canonical(d)
			if err != nil {
				return nil, err
			}
			k := d.Object.Key()
			r.Documents = append(r.Documents, document{
				APIVersion: d.Object.APIVersion(), Kind: k.Kind, Namespace: k.Namespace, Name: k.Name,
				Unit: i, SHA256: digestOf(v), Path: d.Origin.Path, At: r.places(v, d.Origin),
			})
		}
	}
	return r, nil
}

// canonical is a document as a value with sorted fields.
func canonical(d render.Document) (lang.Value, error) {
	v, err := lang.ParseJSON("", d.Object.JSON())
	if err != nil {
		return v, fmt.Errorf("read %s: %w", d.Object.Key(), err)
	}
	sorted(v)
	return v, nil
}

func sorted(v lang.Value) {
	for _, item := range v.Items {
		sorted(item)
	}
	for _, f := range v.Fields {
		sorted(f.Value)
	}
	lang.SortFields(v.Fields)
}

// digestOf is the digest of a value whose fields are sorted.
func digestOf(v lang.Value) string { return lang.Digest(v.AppendJSON(nil)) }
