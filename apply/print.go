package apply

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/writ-dev/writ/cluster/diff"
	"github.com/writ-dev/writ/cluster/object"
	"github.com/writ-dev/writ/lang/diag"
)

// The ANSI colours of a printed plan.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

// maxValue is how much of a value is printed, in bytes.
const maxValue = 120

// Print writes p for people: what is created, changed and deleted, field by
// field with source positions, and what access that opens and closes. colour
// adds ANSI colours.
func (p *Plan) Print(w io.Writer, colour bool) error {
	out := &printer{colour: colour}
	back := ""
	if p.Rollback > 0 {
		back = fmt.Sprintf(", back to revision %d", p.Rollback)
	}
	out.line("", "release %s/%s%s: %s", p.Namespace, p.Release, back, p.summary())
	p.printObjects(out)
	p.printRollouts(out)
	p.printConflicts(out)
	p.printDrift(out)
	if len(p.Opened)+len(p.Closed) > 0 {
		out.line("", "access:")
		for _, a := range p.Opened {
			out.access(green, "+", a, "may now reach")
		}
		for _, a := range p.Closed {
			out.access(red, "-", a, "may no longer reach")
		}
	}
	for _, warning := range p.Warnings {
		out.line(yellow, "warning: %s", warning)
	}
	_, err := io.WriteString(w, out.text.String())
	return err
}

func (p *Plan) summary() string {
	var parts []string
	for _, s := range []struct {
		action Action
		text   string
	}{
		{Create, "to create"}, {Update, "to change"}, {Replace, "to replace"}, {Delete, "to delete"}, {Orphan, "to let go"}, {Keep, "kept"}, {Unchanged, "unchanged"},
	} {
		if n := p.Count(s.action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	switch {
	case len(parts) == 0:
		return "nothing to do"
	case p.Empty() && p.Record == nil:
		return strings.Join(parts, ", ") + "; nothing to do"
	case p.Empty():
		return strings.Join(parts, ", ") + "; only the release's record changes"
	}
	return strings.Join(parts, ", ")
}

// printer collects the lines of a plan.
type printer struct {
	text   strings.Builder
	colour bool
}

func (out *printer) line(colour, format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	if out.colour && colour != "" {
		text = colour + text + reset
	}
	out.text.WriteString(text + "\n")
}

// printable takes out what would command a terminal: names and values come
// from others.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

// at is a position, as the last thing on a line.
func at(pos diag.Position) string {
	if !pos.IsValid() {
		return ""
	}
	return "  (" + pos.String() + ")"
}

// printObjects shows what happens to the objects. Those to which the same
// happens, as when one definition is used by many, are shown together.
func (p *Plan) printObjects(out *printer) {
	type group struct {
		first ObjectPlan
		more  []string
	}
	var order []*group
	same := map[string]*group{}
	for _, o := range p.Objects {
		if o.Action == Unchanged && o.From == "" {
			continue
		}
		id := o.likeness()
		if g := same[id]; g != nil && id != "" {
			g.more = append(g.more, o.Key.String())
			continue
		}
		g := &group{first: o}
		order, same[id] = append(order, g), g
	}
	for _, g := range order {
		out.object(g.first, g.more)
	}
}

// likeness is equal for objects that change alike, and empty for one that is
// shown by itself.
func (o ObjectPlan) likeness() string {
	if o.Action != Update || len(o.Changes) == 0 || o.From != "" {
		return ""
	}
	alike := []any{o.Key.Group, o.Key.Kind, o.Why}
	for _, c := range o.Changes {
		by := ""
		if c.By != nil {
			by = c.By.Manager
		}
		alike = append(alike, c.Change, by)
	}
	b, err := object.Marshal(alike)
	if err != nil {
		return ""
	}
	return string(b)
}

// printRollouts shows which pods start and stop, and what they ask for.
func (p *Plan) printRollouts(out *printer) {
	if len(p.Rollouts) > 0 {
		out.line("", "pods:")
	}
	for i, r := range p.Rollouts {
		if i == maxRollouts {
			out.line("", "    and of %d workloads more", len(p.Rollouts)-i)
			break
		}
		text := ""
		switch {
		case r.Starts > 0 && r.Stops > 0:
			text = fmt.Sprintf("%d are replaced by %d, for %s%s", r.Stops, r.Starts, r.Path, at(r.Pos))
		case r.Starts > 0:
			text = fmt.Sprintf("%d start", r.Starts)
		default:
			text = fmt.Sprintf("%d stop", r.Stops)
		}
		out.line("", "    %s: %s", r.Key, text)
	}
	for _, c := range p.Capacity {
		out.line("", "    %s asked for: %s -> %s", c.Resource, c.Before, c.After)
	}
}

// maxRollouts is how many workloads are listed.
const maxRollouts = 20

// object shows one object, and the names of others to which the same happens.
func (out *printer) object(o ObjectPlan, more []string) {
	mark, colour := "~", yellow
	switch o.Action {
	case Create:
		mark, colour = "+", green
	case Delete:
		mark, colour = "-", red
	case Replace:
		mark, colour = "±", red
	case Orphan:
		mark, colour = "o", yellow
	case Keep, Unchanged:
		mark, colour = "=", ""
	}
	why := ""
	if o.Why != "" {
		why = ": " + o.Why
	}
	if o.Action == Replace {
		why = " deleted and created anew" + why
	}
	out.line(colour, "  %s %s%s%s", mark, o.Key, why, at(o.Pos))
	if len(more) > 0 {
		out.line("", "    the same in %d more: %s", len(more), some(more))
	}
	for _, c := range o.Changes {
		by := ""
		if c.By != nil {
			by = "  set by " + ownerText(*c.By)
		}
		out.line("", "      %s: %s%s%s", c.Path, changeText(c.Change), at(c.Pos), by)
	}
	if len(o.Lost) > 0 {
		out.line(red, "      lost: %s", strings.Join(o.Lost, ", "))
	}
	if len(o.Cascade) > 0 {
		out.line(red, "      with it: %s", cascadeText(o.Cascade))
	}
}

// printConflicts shows what keeps the plan from being applied.
func (p *Plan) printConflicts(out *printer) {
	if len(p.Conflicts) > 0 {
		out.line(red, "conflicts:")
	}
	for _, c := range p.Conflicts {
		out.line(red, "  ! %s %s: %s was set by %s; the documents want %s%s", c.Key, c.Path, valueText(c.Live), ownerText(c.By), wantedText(c.Wanted), at(c.Pos))
	}
}

// printDrift counts how the live objects have moved away from what was applied,
// and shows what somebody edited and, where they are in the plan, defaults.
func (p *Plan) printDrift(out *printer) {
	count := map[Class]int{DefaultedField: p.Defaulted}
	for _, d := range p.Drift {
		if d.Class != DefaultedField {
			count[d.Class]++
		}
	}
	if listed := len(p.Drift) - count[Edited] - count[Controlled]; count[Edited]+listed > 0 {
		out.line("", "drift: %d edited, %d owned by controllers, %d defaulted", count[Edited], count[Controlled], count[DefaultedField])
	}
	for _, d := range p.Drift {
		by := ""
		if d.By != nil {
			by = "  set by " + ownerText(*d.By)
		}
		switch d.Class {
		case Edited:
			out.line(yellow, "  ~ %s %s: %s%s", d.Key, d.Path, changeText(diff.Change{Path: d.Path, Old: d.Applied, New: d.Live}), by)
		case DefaultedField:
			out.line("", "    %s %s: %s, by default", d.Key, d.Path, valueText(d.Live))
		}
	}
}

func (out *printer) access(colour, mark string, a Access, verb string) {
	out.line(colour, "  %s %s/%s %s %s%s", mark, a.Namespace, a.Consumer, verb, a.Target, at(a.Pos))
}

// cascadeText names the first objects and counts the rest.
func cascadeText(keys []object.Key) string {
	const most = 8
	var names []string
	for i, k := range keys {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(keys)-most))
			break
		}
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

// changeText is "old -> new", with what is absent left out.
func changeText(c diff.Change) string {
	switch {
	case c.Old == nil:
		return "set to " + valueText(c.New)
	case c.New == nil:
		return "removed, was " + valueText(c.Old)
	}
	return valueText(c.Old) + " -> " + valueText(c.New)
}

// valueText is compact JSON, cut when long; text that reads the same without
// quotes goes without them.
func valueText(v any) string {
	if s, ok := v.(string); ok && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == ',' }) && len(s) <= maxValue {
		return s
	}
	b, err := object.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if _, ok := v.(json.Number); ok || len(b) <= maxValue {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:maxValue]), "") + "…"
}
