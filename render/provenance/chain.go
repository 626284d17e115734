package provenance

import (
	"cmp"
	"context"
	"encoding/json"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/writ-dev/writ/lang"
	"github.com/writ-dev/writ/render/why"
)

// stepGap is the kind of a step that says what could not be followed.
const stepGap lang.StepKind = "gap"

// step is a step of explanations, without what makes it one of this field: its
// depth and its value.
type step struct {
	Kind   lang.StepKind `json:"kind"`
	Effect lang.Effect   `json:"effect,omitempty"`
	Pos    place         `json:"pos,omitempty"`
	Name   string        `json:"name,omitempty"`
	Text   string        `json:"text,omitempty"`
	Note   string        `json:"note,omitempty"`
	Source string        `json:"source,omitempty"`
}

// chunk is how many programs, for each of those that are evaluated at a time,
// are explained before their answers are taken in: a bound on memory.
const chunk = 8

// Explain adds the chains of all plain values to a record that New made of the
// same renderings. Every program is evaluated again, parallel at a time; 0 means
// as many as there are processors. What a program cannot tell is a gap of its
// chains and no error.
func (r *Record) Explain(ctx context.Context, asker why.Asker, all []why.Rendering, parallel int) error {
	asker.Lenient = true
	parallel = cmp.Or(max(parallel, 0), runtime.GOMAXPROCS(0))
	c := chains{record: r, steps: numbers{}, values: numbers{}}
	documents := r.Documents
	for len(all) > 0 {
		some := all[:min(len(all), chunk*parallel)]
		all = all[len(some):]
		answers := make([][]*why.Answer, len(some))
		g, running := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for i, rendering := range some {
			g.Go(func() error {
				questions, err := questionsOf(rendering)
				if err == nil {
					answers[i], err = asker.AskAll(running, questions)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		// In order, so that a record is the same however the work was shared.
		for i, rendering := range some {
			documents = c.take(documents, rendering, answers[i])
		}
	}
	return nil
}

// questionsOf asks about all plain values of a rendering's documents.
func questionsOf(rendering why.Rendering) ([]why.Question, error) {
	var all []why.Question
	for _, d := range rendering.Bundle.Documents {
		v, err := canonical(d)
		if err != nil {
			return nil, err
		}
		for path, part := range v.All() {
			if plain(part) {
				all = append(all, why.Question{Found: why.Found{Rendering: rendering, Document: d}, Path: path})
			}
		}
	}
	return all, nil
}

// plain reports whether there is nothing in a value.
func plain(v lang.Value) bool { return len(v.Items)+len(v.Fields) == 0 }

// chains writes explanations into a record.
type chains struct {
	record        *Record
	steps, values numbers
}

// take adds the answers about a rendering, whose documents come first, and
// returns the others.
func (c *chains) take(documents []document, rendering why.Rendering, answers []*why.Answer) []document {
	n := len(rendering.Bundle.Documents)
	for i := range n {
		d := &documents[i]
		key := rendering.Bundle.Documents[i].Object.Key().String()
		for len(answers) > 0 && answers[0].Document == key {
			d.Why = append(d.Why, c.chain(answers[0], d.Kind == "Secret"))
			answers = answers[1:]
		}
	}
	return documents[n:]
}

// chain is the steps of an answer in numbers.
func (c *chains) chain(a *why.Answer, secret bool) []int {
	out := []int{}
	for _, s := range a.Steps {
		one := step{Kind: s.Kind, Effect: s.Effect, Name: s.Name, Text: s.Text, Note: s.Note, Source: s.Source}
		if s.Pos.IsValid() {
			one.Pos = c.record.position(s.Pos)
		}
		value := 0
		if secret {
			one.Text, one.Note, one.Source = "", "", ""
		} else if len(s.Value) > 0 {
			i, fresh := c.values.of(string(s.Value))
			if fresh {
				c.record.Values = append(c.record.Values, s.Value)
			}
			value = i + 1
		}
		out = append(out, c.number(one), s.Depth, value)
	}
	if a.Gap != "" {
		out = append(out, c.number(step{Kind: stepGap, Text: a.Gap}), 0, 0)
	}
	return out
}

func (c *chains) number(s step) int {
	text, _ := json.Marshal(s) // strings and numbers only
	i, fresh := c.steps.of(string(text))
	if fresh {
		c.record.Steps = append(c.record.Steps, s)
	}
	return i
}
