package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/writ-dev/writ/apply"
	"github.com/writ-dev/writ/apply/converge"
	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/cluster/object"
)

// progress shows how objects become ready: on a terminal one line an object,
// redrawn in place; elsewhere a line for every change.
type progress struct {
	w     io.Writer
	live  bool // lines are redrawn
	color bool
	order []object.Key
	state map[object.Key]converge.Status
	drawn int
	// told are the warnings that were shown.
	told map[string]bool
}

func (a *app) progress() *progress {
	return &progress{w: a.err, live: a.live, color: a.errColor, state: map[object.Key]converge.Status{}, told: map[string]bool{}}
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
	if !news.Event.IsZero() {
		p.event(news.Event)
		return
	}
	if !worthShowing(news.Key) {
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

// event shows a warning, once.
func (p *progress) event(o object.Object) {
	e, err := api.Decode[corev1.Event](o)
	if err != nil || e.Type != corev1.EventTypeWarning {
		return
	}
	text := fmt.Sprintf("%s/%s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	if p.told[text] || len(p.told) >= maxWarnings {
		return
	}
	p.told[text] = true
	if p.live && p.drawn > 0 {
		fmt.Fprintf(p.w, "\x1b[%dA\r\x1b[J", p.drawn)
		p.drawn = 0
	}
	fmt.Fprintf(p.w, "  %s %s\n", paint(p.color, yellow, "!"), printable(text))
	if p.live {
		p.redraw()
	}
}

// printable takes out what would command a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
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
	mark := paint(p.color, yellow, "…")
	switch s.State {
	case converge.Done:
		mark = paint(p.color, green, "✓")
	case converge.Stuck:
		mark = paint(p.color, red, "✗")
	}
	text := s.Message
	if s.State != converge.Done && s.Reason != "" && !strings.Contains(text, s.Reason) {
		text = strings.TrimSpace(s.Reason + " " + text)
	}
	if len(text) > 100 {
		text = text[:97] + "..."
	}
	return fmt.Sprintf("  %s %-28s %s", mark, k.Kind+"/"+k.Name, paint(p.color, dim, text))
}

// done leaves what is drawn on the screen.
func (p *progress) done() { p.drawn = 0 }

// counterDelay is how long a piece of work takes before its counter is shown.
const counterDelay = 300 * time.Millisecond

// counter shows how far a long piece of work has come, on a terminal only, and
// only once it has taken a while.
type counter struct {
	w     io.Writer
	what  string
	timer *time.Timer // nil where nothing is shown

	mu          sync.Mutex
	done, total int
	shown, over bool
}

func (a *app) counter(what string) *counter {
	c := &counter{w: a.err, what: what}
	if a.live {
		c.timer = time.AfterFunc(counterDelay, c.show)
	}
	return c
}

func (c *counter) show() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.shown = true
		c.draw()
	}
}

func (c *counter) draw() {
	if c.total > 0 {
		fmt.Fprintf(c.w, "\r\x1b[K%s %d of %d", c.what, c.done, c.total)
	}
}

func (c *counter) set(done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.total = done, total
	if c.shown {
		c.draw()
	}
}

// end takes away what is shown.
func (c *counter) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.over = true
	if c.shown {
		fmt.Fprint(c.w, "\r\x1b[K")
	}
}
