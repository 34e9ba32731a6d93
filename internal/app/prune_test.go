package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/store"
)

// attic has so many batches of old things, or an error for each call.
type attic struct {
	t       *testing.T
	mu      sync.Mutex
	batches int
	calls   int
	err     error
}

func (a *attic) Prune(ctx context.Context, now time.Time, keep store.Keep) (store.Pruned, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	if _, bounded := ctx.Deadline(); !bounded || !now.Equal(time.Now()) || keep != store.DefaultKeep {
		a.t.Errorf("called with %s, %+v, bounded %t", now, keep, bounded)
	}
	if a.err != nil || a.batches == 0 {
		return store.Pruned{}, a.err
	}
	a.batches--
	return store.Pruned{Incidents: 1}, nil
}

// set says what comes of the next calls.
func (a *attic) set(batches int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.batches, a.err = batches, err
}

func TestPruningGoesOnEveryHourWhateverHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, nil))
		a := &attic{t: t, batches: 3}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- prune(ctx, a, log, time.Now) }()
		synctest.Wait()
		if a.calls != 4 || a.batches != 0 {
			t.Errorf("at the start: %d calls, %d batches left", a.calls, a.batches)
		}
		a.set(0, errors.New("disk full"))
		time.Sleep(pruneEvery)
		synctest.Wait()
		if a.calls != 5 || !strings.Contains(logged.String(), "disk full") {
			t.Errorf("with an error: %d calls; log: %s", a.calls, logged.String())
		}
		a.set(10*pruneRounds, nil)
		time.Sleep(pruneEvery)
		synctest.Wait()
		if a.calls != 5+pruneRounds {
			t.Errorf("a turn has %d batches", a.calls-5)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("prune = %v", err)
		}
	})
}
