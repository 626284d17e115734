// Package review tells what differs between two renderings of a configuration,
// for people who decide about it: changes that many objects share are told
// once, access that opens or closes comes first, and values of Secrets are
// never shown. It is pure.
package review

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/apply/secret"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
	"github.com/writ-dev/writ/render"
)

// Pair is one environment in both renderings; nil where it does not exist.
type Pair struct {
	Environment string
	Old, New    *render.Bundle
}

// Review is what differs.
type Review struct {
	// Base and Head name what was compared.
	Base         string        `json:"base"`
	Head         string        `json:"head"`
	Environments []Environment `json:"environments"`
	// Opened and Closed are connections that come and go.
	Opened []Access `json:"opened,omitempty"`
	Closed []Access `json:"closed,omitempty"`
	// Groups are the differences, those in most objects first.
	Groups []Group `json:"groups,omitempty"`
}

// Environment counts the documents of one environment.
type Environment struct {
	Name      string `json:"name"`
	Documents int    `json:"documents"`
	Added     int    `json:"added"`
	Changed   int    `json:"changed"`
	Removed   int    `json:"removed"`
	// Only is "base" or "head" when the environment is only there.
	Only string `json:"only,omitempty"`
}

// Access is a connection in one environment.
type Access struct {
	Environment string `json:"environment,omitempty"`
	apply.Access
}

// Action says what happens to the objects of a group.
type Action string

// The actions.
const (
	Added   Action = "added"
	Changed Action = "changed"
	Removed Action = "removed"
)

// Group is one difference, and the objects that it is in.
type Group struct {
	Action  Action        `json:"action"`
	Kind    string        `json:"kind"`
	Changes []diff.Change `json:"changes,omitempty"`
	// Content is the document that is added or removed, as YAML.
	Content string   `json:"content,omitempty"`
	Objects []Object `json:"objects"`
}

// Object is one document of a group. Pos is where it, or the first change in
// it, is written.
type Object struct {
	Environment string        `json:"environment,omitempty"`
	Key         object.Key    `json:"key"`
	Pos         diag.Position `json:"pos,omitzero"`
}

// Compare tells what differs in every environment.
func Compare(base, head string, pairs []Pair) (*Review, error) {
	c := comparison{
		review: &Review{Base: base, Head: head},
		groups: map[string]*Group{}, sealer: secret.NewSealer(),
	}
	for _, p := range pairs {
		if err := c.environment(p); err != nil {
			return nil, err
		}
	}
	for _, g := range c.order {
		c.review.Groups = append(c.review.Groups, *g)
	}
	slices.SortStableFunc(c.review.Groups, func(a, b Group) int { return cmp.Compare(len(b.Objects), len(a.Objects)) })
	return c.review, nil
}

// Empty reports whether nothing differs.
func (r *Review) Empty() bool { return len(r.Groups) == 0 }

type comparison struct {
	review *Review
	groups map[string]*Group
	order  []*Group
	sealer secret.Sealer
}

func documents(b *render.Bundle) []render.Document {
	if b == nil {
		return nil
	}
	return b.Documents
}

func (c *comparison) environment(p Pair) error {
	e := Environment{Name: p.Environment, Documents: len(documents(p.New))}
	switch {
	case p.Old == nil:
		e.Only = "head"
	case p.New == nil:
		e.Only = "base"
	}
	was := map[object.Key]render.Document{}
	for _, d := range documents(p.Old) {
		was[d.Object.Key()] = d
	}
	is := map[object.Key]bool{}
	for _, d := range documents(p.New) {
		k := d.Object.Key()
		is[k] = true
		old, ok := was[k]
		switch {
		case !ok:
			e.Added++
			c.whole(Added, p.Environment, d)
		case string(old.Object.JSON()) != string(d.Object.JSON()):
			if c.changed(p.Environment, old, d) {
				e.Changed++
			}
		}
	}
	for _, d := range documents(p.Old) {
		if !is[d.Object.Key()] {
			e.Removed++
			c.whole(Removed, p.Environment, d)
		}
	}
	c.review.Environments = append(c.review.Environments, e)
	return c.access(p)
}

// whole adds a document that is added or removed as such.
func (c *comparison) whole(a Action, environment string, d render.Document) {
	tree := d.Object.Tree()
	if secret.Is(d.Object.Key()) {
		tree = c.sealer.Tree(secret.Fold(tree))
	}
	b := render.FromObjects(nil)
	if o, err := object.FromTree(tree); err == nil {
		b = render.FromObjects([]object.Object{o})
	}
	content := string(b.YAML())
	// One document in several environments may be in a namespace of each.
	if meta, ok := tree["metadata"].(map[string]any); ok {
		delete(meta, "namespace")
	}
	text, _ := object.Marshal(tree) // came from JSON
	g := c.group(a, d.Object.Key(), string(text))
	g.Content = cmp.Or(g.Content, content)
	g.Objects = append(g.Objects, Object{environment, d.Object.Key(), d.Origin.Pos})
}

// changed adds what differs between two versions; false when they mean the same.
func (c *comparison) changed(environment string, old, new render.Document) bool {
	k := new.Object.Key()
	kind, _ := api.Lookup(k.Group, k.Kind)
	was, is := old.Object.Tree(), new.Object.Tree()
	if secret.Is(k) {
		was, is = secret.Fold(was), secret.Fold(is)
	}
	changes := diff.Compare(kind, was, is)
	if len(changes) == 0 {
		return false
	}
	pos := new.Origin.Field(changes[0].Path)
	if secret.Is(k) {
		for i, ch := range changes {
			changes[i].Old, changes[i].New = c.sealer.Value(ch.Path, ch.Old), c.sealer.Value(ch.Path, ch.New)
		}
	}
	text, _ := object.Marshal(changes) // came from JSON
	g := c.group(Changed, k, string(text))
	g.Changes = changes
	g.Objects = append(g.Objects, Object{environment, k, pos})
	return true
}

func (c *comparison) group(a Action, k object.Key, content string) *Group {
	kind := k.Kind
	if k.Group != "" {
		kind += "." + k.Group
	}
	sum := sha256.Sum256([]byte(string(a) + "\n" + kind + "\n" + content))
	id := hex.EncodeToString(sum[:])
	g, ok := c.groups[id]
	if !ok {
		g = &Group{Action: a, Kind: kind}
		c.groups[id] = g
		c.order = append(c.order, g)
	}
	return g
}

// access compares the connections that are declared.
func (c *comparison) access(p Pair) error {
	declared := func(b *render.Bundle) (map[apply.Access]diag.Position, error) {
		out := map[apply.Access]diag.Position{}
		for _, d := range documents(b) {
			list, err := apply.Declared(d.Object)
			if err != nil {
				return nil, err
			}
			for _, a := range list {
				out[a] = d.Origin.Field(".spec.target")
			}
		}
		return out, nil
	}
	was, err := declared(p.Old)
	if err != nil {
		return err
	}
	is, err := declared(p.New)
	if err != nil {
		return err
	}
	c.review.Opened = append(c.review.Opened, only(p.Environment, is, was)...)
	c.review.Closed = append(c.review.Closed, only(p.Environment, was, is)...)
	return nil
}

// only lists the connections of a that b has not, sorted.
func only(environment string, a, b map[apply.Access]diag.Position) []Access {
	var out []Access
	for access, pos := range a {
		if _, ok := b[access]; !ok {
			access.Pos = pos
			out = append(out, Access{environment, access})
		}
	}
	slices.SortFunc(out, func(x, y Access) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Consumer, y.Consumer), strings.Compare(x.Target, y.Target))
	})
	return out
}

// Summary is the review in one line.
func (r *Review) Summary() string {
	added, changed, removed := 0, 0, 0
	for _, e := range r.Environments {
		added, changed, removed = added+e.Added, changed+e.Changed, removed+e.Removed
	}
	if added+changed+removed == 0 {
		return "no document changes"
	}
	return fmt.Sprintf("%d added, %d changed, %d removed", added, changed, removed)
}

// title is a group in one line.
func (g Group) title() string {
	if len(g.Objects) == 1 {
		return fmt.Sprintf("%s %s", g.Action, g.Objects[0].name())
	}
	what := "same change"
	if g.Action != Changed {
		what = "same document " + string(g.Action)
	}
	return fmt.Sprintf("%s in %d objects of kind %s", what, len(g.Objects), g.Kind)
}

func (o Object) name() string {
	if o.Environment == "" {
		return o.Key.String()
	}
	return o.Environment + ": " + o.Key.String()
}

// names lists the objects of a group, at most so many.
func (g Group) names(most int) string {
	var names []string
	for i, o := range g.Objects {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(g.Objects)-most))
			break
		}
		names = append(names, o.name())
	}
	return strings.Join(names, ", ")
}

// lines are a group's difference as lines that begin with "-", "+" or " ".
func (g Group) lines() []string {
	var out []string
	mark := map[Action]string{Added: "+ ", Removed: "- "}[g.Action]
	for line := range strings.Lines(strings.TrimSuffix(strings.TrimPrefix(g.Content, "---\n"), "\n")) {
		out = append(out, mark+strings.TrimSuffix(line, "\n"))
	}
	for _, c := range g.Changes {
		if c.Old != nil {
			out = append(out, "- "+c.Path+": "+value(c.Old))
		}
		if c.New != nil {
			out = append(out, "+ "+c.Path+": "+value(c.New))
		}
	}
	return out
}

// value is compact JSON; a plain word goes without quotes.
func value(v any) string {
	if s, ok := v.(string); ok && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == ',' || r == '`' }) {
		return s
	}
	b, err := object.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
