package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Defaults of a probe, as in the Kubernetes API.
const (
	defaultPeriod  = 10 * time.Second
	defaultFailure = 3
)

// Tally counts attempts until a threshold changes the verdict.
type Tally struct {
	// Success and Failure are the thresholds; 0 means the API's default.
	Success, Failure int32
	// OK is the verdict.
	OK bool

	successes, failures int32
}

// Add counts one attempt and reports whether a threshold was reached with it,
// for the first time in a row.
func (t *Tally) Add(ok bool) (reached bool) {
	if ok {
		t.failures = 0
		t.successes++
		if t.successes != max(1, t.Success) {
			return false
		}
		t.OK = true
		return true
	}
	limit := t.Failure
	if limit <= 0 {
		limit = defaultFailure
	}
	t.successes = 0
	t.failures++
	if t.failures != limit {
		return false
	}
	t.OK = false
	return true
}

// Result is told by Run.
type Result struct {
	// OK is the verdict after the attempt, and Changed says that it was
	// reached by it.
	OK, Changed bool
	// Err is what was wrong with this attempt; nil if nothing was.
	Err error
}

// Run probes t until ctx ends, and calls report after each attempt, in order.
// The first attempt comes after the initial delay, or at once. Until the first
// success a probe with a period of several seconds is repeated sooner: a
// container is known to be ready soon after it is.
func Run(ctx context.Context, p *corev1.Probe, t Target, report func(Result)) {
	tally := &Tally{Success: p.SuccessThreshold, Failure: p.FailureThreshold}
	period := time.Duration(p.PeriodSeconds) * time.Second
	if period <= 0 {
		period = defaultPeriod
	}
	wait := time.Duration(p.InitialDelaySeconds) * time.Second
	eager := eagerFirst
	for {
		if !sleep(ctx, wait) {
			return
		}
		err := Check(ctx, p, t)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !tally.OK && tally.failures == 0 && eager < period {
			// Still starting: look again soon, without counting it.
			report(Result{OK: false, Err: err})
			wait, eager = eager, 2*eager
			continue
		}
		changed := tally.Add(err == nil)
		report(Result{OK: tally.OK, Changed: changed, Err: err})
		wait = period
	}
}

// eagerFirst is the first pause between attempts of a starting container; it
// doubles up to the period.
const eagerFirst = 10 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
