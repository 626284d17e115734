package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/writ-dev/writ/cluster/api"
	"github.com/writ-dev/writ/lang/diag"
)

// patience is how long a lost server is waited for.
const patience = 30 * time.Second

// unanswered reports whether err leaves open what became of a transaction: the
// connection broke, or the server could not say.
func unanswered(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// findOut learns what became of a transaction whose answer was lost, and never
// guesses: the Release carries the transaction's mark if it was committed. If
// it was not, the same transaction is sent again, with the same preconditions:
// then either this one commits, or it is refused since the first one did.
func (cm *commit) findOut(ctx context.Context, cause error) (*Result, error) {
	wait := cm.options.Patience
	if wait <= 0 {
		wait = patience
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for attempt := 0; ctx.Err() == nil; attempt++ {
		pause(ctx, min(100*time.Millisecond<<min(attempt, 4), time.Second))
		result, err := cm.again(ctx)
		if err == nil {
			return result, nil
		}
		if !unanswered(err) && !overtaken(err) {
			return nil, err
		}
	}
	return nil, diag.List{{
		Code:    "UNKNOWN",
		Message: fmt.Sprintf("the server was lost during the commit, and it is not known whether the plan was applied: %v", cause),
		Hint:    fmt.Sprintf("when the server is back, see 'writ history %s -n %s': the plan is revision %d, transaction %s", cm.plan.Release, cm.plan.Namespace, cm.release.spec.Revision+1, cm.transaction),
	}}
}

// again looks whether the transaction was committed, and else sends it again.
func (cm *commit) again(ctx context.Context) (*Result, error) {
	r, err := readRelease(ctx, cm.client, Options{Release: cm.plan.Release, Namespace: cm.plan.Namespace})
	if err != nil {
		return nil, err
	}
	if r.spec.Transaction == cm.transaction {
		return cm.committed(ctx, r)
	}
	next, err := prepare(ctx, cm.client, cm.plan, cm.options, cm.transaction)
	if err != nil {
		return nil, err
	}
	res, err := cm.client.Transact(ctx, api.Transaction{Operations: next.ops})
	if err != nil {
		if unanswered(err) || overtaken(err) {
			return nil, err
		}
		return nil, refusal(err, next.items)
	}
	return next.done(res)
}

// committed is the result of a transaction that was found to be committed.
func (cm *commit) committed(ctx context.Context, r *release) (*Result, error) {
	revision, err := strconv.ParseUint(r.object.Meta().ResourceVersion, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the revision of release %s: %w", r.name(), err)
	}
	out := &Result{Revision: revision, Release: r.spec.Revision}
	for _, o := range cm.plan.Objects {
		if o.Action != Create && o.Action != Update && o.Action != Replace {
			continue
		}
		live, err := get(ctx, cm.client, o.Key)
		if err != nil {
			return nil, err
		}
		if !live.IsZero() {
			out.Objects = append(out.Objects, live)
		}
	}
	return out, nil
}
