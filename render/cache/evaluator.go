package cache

import (
	"context"
	"encoding/binary"
	"encoding/json"

	"github.com/writ-dev/writ/lang"
)

// Evaluator returns an evaluator that asks inner, which is of the language, only
// for what is not in the cache. The module of its programs must be that of the
// session.
func (s *Session) Evaluator(language string, inner lang.Evaluator) lang.Evaluator {
	return evaluator{s, language, inner}
}

type evaluator struct {
	session  *Session
	language string
	inner    lang.Evaluator
}

// Eval satisfies lang.Evaluator.
func (e evaluator) Eval(ctx context.Context, p lang.Program) (*lang.Result, error) {
	if len(p.Overlay) > 0 || len(p.Explain) > 0 {
		// Computed files are made anew each time, and explanations are asked
		// for by people; their results would only fill the cache.
		return e.inner.Eval(ctx, p)
	}
	question, err := json.Marshal([]any{"evaluate", e.language, p.Entry, p.Tests, p.Cover, p.Inputs, p.Offers, p.Settings})
	if err != nil {
		return nil, err
	}
	if b, reads, ok := e.session.Recall(string(question)); ok {
		if r, err := decodeResult(b); err == nil {
			r.Reads = reads
			return r, nil
		}
	}
	r, err := e.inner.Eval(ctx, p)
	if err != nil {
		return r, err
	}
	if b, err := encodeResult(r); err == nil {
		e.session.Remember(string(question), r.Reads, b)
	}
	return r, nil
}

// encodeResult is the length of all but value and reads, these, and the value.
func encodeResult(r *lang.Result) ([]byte, error) {
	rest := *r
	rest.Value, rest.Reads = lang.Value{}, nil
	head, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	return r.Value.AppendBinary(append(b, head...)), nil
}

func decodeResult(b []byte) (*lang.Result, error) {
	d := decoder{b: b}
	head := d.bytes(d.uvarint())
	if d.bad {
		return nil, errDamaged
	}
	r := new(lang.Result)
	if err := json.Unmarshal(head, r); err != nil {
		return nil, err
	}
	var err error
	r.Value, err = lang.ParseBinary(d.b)
	return r, err
}
