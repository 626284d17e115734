package check

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/writ-dev/writ/cluster/admission"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/render"
)

// Judgement is what the cluster would say to one document by itself. It depends
// on nothing but the document and the build of Writ, and can be kept.
type Judgement struct {
	// Served says that Writ serves the document's kind. Nothing is known of
	// others.
	Served             bool
	Problems, Warnings []api.Problem

	// full is the document with its defaults, when it has been made.
	full object.Object
}

// Judgements are of documents by their objects: not by key, which documents of
// several environments have in common.
type Judgements map[object.Object]Judgement

// Judge judges documents by themselves, on all processors.
func Judge(documents []render.Document) []Judgement { return judgeAll(documents, nil) }

func judgeAll(documents []render.Document, known Judgements) []Judgement {
	out := make([]Judgement, len(documents))
	var todo []int
	for i, d := range documents {
		if j, ok := known[d.Object]; ok {
			out[i] = j
		} else {
			todo = append(todo, i)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(todo)); n = next.Add(1) - 1 {
				i := todo[n]
				if k, ok := served(documents[i].Object); ok {
					out[i] = admit(k, documents[i].Object)
				}
			}
		})
	}
	wg.Wait()
	return out
}

func admit(k api.Kind, o object.Object) Judgement {
	j := Judgement{Served: true, Problems: admission.Strict(k, o), full: o}
	if k.Namespaced == (o.Namespace() == "") {
		j.Problems = append(j.Problems, namespaceProblem(k))
	}
	if len(j.Problems) > 0 {
		return j
	}
	full, err := admission.Default(k, o)
	if err != nil {
		j.Problems = []api.Problem{{Code: api.CodeInvalid, Message: err.Error()}}
		return j
	}
	j.full = full
	j.Problems = slices.Concat(admission.Reserved(k, full, object.Object{}), admission.Validate(k, full, object.Object{}))
	if len(j.Problems) > 0 {
		return j
	}
	for _, text := range admission.Warnings(k, full) {
		j.Warnings = append(j.Warnings, warning(text))
	}
	return j
}

// object is the document with its defaults, or without when they do not apply.
func (j Judgement) object(o object.Object) object.Object {
	if !j.full.IsZero() {
		return j.full
	}
	if k, ok := served(o); ok {
		if full, err := admission.Default(k, o); err == nil {
			return full
		}
	}
	return o
}
