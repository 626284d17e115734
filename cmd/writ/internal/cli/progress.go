package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/apply/converge"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// progress shows how objects become ready: on a terminal one line an object,
// redrawn in place; elsewhere a line for every change.
type progress struct {
	w     io.Writer
	live  bool
	order []object.Key
	state map[object.Key]converge.Status
	drawn int
}

func newProgress(w io.Writer, live bool) *progress {
	return &progress{w: w, live: live, state: map[object.Key]converge.Status{}}
}

// worthShowing leaves out what is ready as soon as it exists.
func worthShowing(k object.Key) bool {
	switch k.Kind {
	case api.Deployment.Kind, api.ReplicaSet.Kind, api.Job.Kind, api.Pod.Kind, api.DependencyKind.Kind:
		return true
	}
	return false
}

func (p *progress) update(news apply.Progress) {
	if !news.Event.IsZero() || !worthShowing(news.Key) {
		return
	}
	old, known := p.state[news.Key]
	if known && old == news.Status {
		return
	}
	if !known {
		p.order = append(p.order, news.Key)
	}
	p.state[news.Key] = news.Status
	if p.live {
		p.redraw()
	} else {
		fmt.Fprintln(p.w, p.line(news.Key))
	}
}

func (p *progress) redraw() {
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA", p.drawn)
	}
	for _, k := range p.order {
		fmt.Fprintf(p.w, "\r\x1b[K%s\n", p.line(k))
	}
	p.drawn = len(p.order)
}

func (p *progress) line(k object.Key) string {
	s := p.state[k]
	mark := paint(p.live, yellow, "…")
	switch s.State {
	case converge.Done:
		mark = paint(p.live, green, "✓")
	case converge.Stuck:
		mark = paint(p.live, red, "✗")
	}
	text := s.Message
	if s.State != converge.Done && s.Reason != "" && !strings.Contains(text, s.Reason) {
		text = strings.TrimSpace(s.Reason + " " + text)
	}
	if len(text) > 100 {
		text = text[:97] + "..."
	}
	return fmt.Sprintf("  %s %-28s %s", mark, k.Kind+"/"+k.Name, paint(p.live, dim, text))
}

// done leaves what is drawn on the screen.
func (p *progress) done() { p.drawn = 0 }

// counter shows how far a long piece of work has come, on a terminal only, and
// only once it has taken a while.
type counter struct {
	a     *app
	what  string
	begun time.Time
	shown bool
}

func (a *app) counter(what string) *counter { return &counter{a: a, what: what, begun: time.Now()} }

func (c *counter) set(done, total int) {
	if !c.a.live || !c.shown && time.Since(c.begun) < 300*time.Millisecond {
		return
	}
	c.shown = true
	fmt.Fprintf(c.a.err, "\r\x1b[K%s %d of %d", c.what, done, total)
}

func (c *counter) done() {
	if c.shown {
		fmt.Fprint(c.a.err, "\r\x1b[K")
	}
}
