// Package units renders programs through the cache: one of which nothing has
// changed is neither evaluated nor judged again.
package units

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync"

	"github.com/writ-dev/writ/render"
	"github.com/writ-dev/writ/render/cache"
	"github.com/writ-dev/writ/render/check"
)

var errDamaged = errors.New("damaged entry of a unit")

// Renderer renders through a session of the cache. It is safe for concurrent
// use.
type Renderer struct {
	session *cache.Session

	mu    sync.Mutex
	known check.Judgements
}

// New returns a Renderer that uses a session, which its caller closes.
func New(s *cache.Session) *Renderer {
	return &Renderer{session: s, known: check.Judgements{}}
}

// Render is render.Render of a program of the session's module.
func (r *Renderer) Render(ctx context.Context, o render.Options) (*render.Bundle, error) {
	question, err := json.Marshal([]any{"unit", o.Entry, o.Inputs, o.Offers, o.Namespace, o.Settings, o.Optional})
	if err != nil {
		return nil, err
	}
	if b, reads, ok := r.session.Recall(string(question)); ok {
		if bundle, judged, err := decode(b); err == nil {
			bundle.Reads = reads
			r.keep(bundle, judged)
			return bundle, nil
		}
	}
	bundle, err := render.Render(ctx, o)
	if err != nil {
		return nil, err
	}
	judged := check.Judge(bundle.Documents)
	if b, err := encode(bundle, judged); err == nil {
		r.session.Remember(string(question), bundle.Reads, b)
	}
	r.keep(bundle, judged)
	return bundle, nil
}

// Judgements are of all documents that were rendered so far.
func (r *Renderer) Judgements() check.Judgements {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

func (r *Renderer) keep(b *render.Bundle, judged []check.Judgement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, d := range b.Documents {
		r.known[d.Object] = judged[i]
	}
}

// encode is the bundle, and the judgements of its documents as JSON: only of
// those that say more than that the kind is served.
func encode(b *render.Bundle, judged []check.Judgement) ([]byte, error) {
	some := map[int]check.Judgement{}
	for i, j := range judged {
		if !j.Served || len(j.Problems)+len(j.Warnings) > 0 {
			some[i] = j
		}
	}
	head, err := json.Marshal(some)
	if err != nil {
		return nil, err
	}
	return b.AppendBinary(append(binary.AppendUvarint(nil, uint64(len(head))), head...))
}

func decode(b []byte) (*render.Bundle, []check.Judgement, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errDamaged
	}
	head, rest := b[size:size+int(n)], b[size+int(n):]
	bundle, rest, err := render.ParseBinary(rest)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 {
		return nil, nil, errDamaged
	}
	judged := make([]check.Judgement, len(bundle.Documents))
	for i := range judged {
		judged[i].Served = true
	}
	if string(head) == "{}" {
		return bundle, judged, nil
	}
	var some map[int]check.Judgement
	if err := json.Unmarshal(head, &some); err != nil {
		return nil, nil, err
	}
	for i, j := range some {
		if i < 0 || i >= len(judged) {
			return nil, nil, errDamaged
		}
		judged[i] = j
	}
	return bundle, judged, nil
}
