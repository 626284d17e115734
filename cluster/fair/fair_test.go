package fair_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/cluster/fair"
)

func must(t *testing.T, l *fair.Limiter, flow string) func() {
	t.Helper()
	release, err := l.Acquire(t.Context(), flow)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestASeatGoesToTheFlowWithTheFewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.New(fair.Options{Seats: 2, PerFlow: 2, Queue: 100, Wait: time.Minute})
		first, second := must(t, l, "flood"), must(t, l, "flood")
		var mu sync.Mutex
		var order []string
		var releases []func()
		come := func(flow string) {
			go func() {
				release, err := l.Acquire(t.Context(), flow)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				order, releases = append(order, flow), append(releases, release)
			}()
			synctest.Wait()
		}
		for range 10 {
			come("flood")
		}
		come("a")
		come("b")
		first()
		synctest.Wait()
		second()
		synctest.Wait()
		releases[0]()
		releases = releases[1:]
		synctest.Wait()
		// Not b, which has come after flood got its last one; then it is b's turn.
		if fmt.Sprint(order) != "[a flood b]" {
			t.Errorf("seats went to %v", order)
		}
		for len(releases) > 0 {
			mu.Lock()
			release := releases[0]
			releases = releases[1:]
			mu.Unlock()
			release()
			synctest.Wait()
		}
		if len(order) != 12 {
			t.Errorf("%d of 12 got a seat", len(order))
		}
	})
}

func TestTheLongestQueueLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.New(fair.Options{Seats: 1, PerFlow: 1, Queue: 3, Wait: time.Minute})
		release := must(t, l, "flood")
		var busy, seated sync.Map
		for i, flow := range []string{"flood", "flood", "flood", "a", "b", "flood"} {
			go func() {
				release, err := l.Acquire(t.Context(), flow)
				if errors.Is(err, fair.ErrBusy) {
					busy.Store(i, true)
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				seated.Store(i, true)
				release()
			}()
			synctest.Wait()
		}
		release()
		synctest.Wait()
		for i, want := range []bool{true, false, false, true, true, false} {
			_, lost := busy.Load(i)
			if _, got := seated.Load(i); got != want || lost == want {
				t.Errorf("%d: seated %v, refused %v", i, got, lost)
			}
		}
	})
}

func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.New(fair.Options{Seats: 2, PerFlow: 1, Queue: 10, Wait: time.Second})
		release := must(t, l, "a")
		start := time.Now()
		if _, err := l.Acquire(t.Context(), "a"); !errors.Is(err, fair.ErrBusy) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		must(t, l, "b")() // the reserve
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Acquire(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		release()
		must(t, l, "a")()
	})
}

// TestRandomUse holds the bounds, and loses no seat, whatever happens.
func TestRandomUse(t *testing.T) {
	l := fair.New(fair.Options{Seats: 4, PerFlow: 3, Queue: 8, Wait: time.Millisecond})
	var running, most atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
				release, err := l.Acquire(ctx, fmt.Sprint(i%5))
				if err == nil {
					n := running.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
					running.Add(-1)
					release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if most.Load() > 4 {
		t.Errorf("%d ran at once", most.Load())
	}
	for i := range 4 {
		defer must(t, l, fmt.Sprint("last", i))()
	}
}

func TestCounter(t *testing.T) {
	c := fair.NewCounter(3, 2)
	get := func(flow string, want error) func() {
		t.Helper()
		release, err := c.Acquire(flow)
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", flow, err, want)
		}
		return release
	}
	a := get("a", nil)
	get("a", nil)
	get("a", fair.ErrBusy)
	get("b", nil)
	get("b", fair.ErrBusy)
	a()
	get("b", nil)
}
