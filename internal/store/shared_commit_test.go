package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func openQuiet(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "medic.db"), Options{
		ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// What waits while a commit is under way shares the next one, up to the limit, and each delivery gets an id of its own.
func TestDeliveriesThatWaitShareACommit(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	c := newCommitter(s) // without its loop: the test is the loop
	const many = batchLimit + 10
	all := make([]*waiting, many)
	for n := range all {
		all[n] = &waiting{receivedAt: int64(n), body: fmt.Appendf(nil, `{"groupKey":"%d"}`, n), ready: make(chan struct{})}
		c.queue <- all[n]
	}
	commits := 0
	for len(c.queue) > 0 {
		batch := c.gather(<-c.queue)
		c.commit(t.Context(), batch)
		commits++
	}
	if commits != 2 {
		t.Errorf("%d deliveries took %d commits, want 2", many, commits)
	}
	ids := map[int64]bool{}
	for _, w := range all {
		<-w.ready
		if w.err != nil || w.id == 0 || ids[w.id] {
			t.Fatalf("delivery %s: id %d, %v", w.body, w.id, w.err)
		}
		ids[w.id] = true
	}
}

// In a storm the next commit waits a moment for company; a delivery that comes alone is committed at once.
func TestACommitWaitsForCompanyInAStormOnly(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name string
		last int
		want int
		took time.Duration
	}{
		{"the first one", 0, 1, 0},
		{"after a quiet commit", stormFrom - 1, 1, 0},
		{"in a storm", stormFrom, 2, gatherFor},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCommitter(&Store{})
				c.last = x.last
				time.AfterFunc(gatherFor/2, func() { c.queue <- &waiting{} })
				begun := time.Now()
				got := c.gather(&waiting{})
				if took := time.Since(begun); len(got) != x.want || took != x.took {
					t.Errorf("%d deliveries share the commit after %s, want %d after %s", len(got), took, x.want, x.took)
				}
				time.Sleep(gatherFor)
			})
		})
	}
}

// A batch is all or nothing: nobody is told that a delivery is safe that is not.
func TestABatchThatCannotBeCommittedFailsForEverybodyInIt(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	c := newCommitter(s)
	batch := []*waiting{{body: []byte("{}"), ready: make(chan struct{})}, {body: []byte("{}"), ready: make(chan struct{})}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.commit(ctx, batch)
	for _, w := range batch {
		<-w.ready
		if w.err == nil {
			t.Error("a delivery of a failed commit counts as safe")
		}
	}
	if found, err := s.ClaimDeliveries(t.Context(), "me", time.Now(), time.Minute, 1); err != nil || len(found) > 0 {
		t.Errorf("something of the failed commit is there: %v %v", found, err)
	}
}

// A delivery whose sender has gone does not stay in memory until the committer comes round: the room for bodies is
// somebody else's by then.
func TestASenderWhoLeavesTakesTheBodyAlong(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	first := make(chan error, 1)
	err := s.inTx(t.Context(), func(ctx context.Context, _ *sql.Tx) error { // the writer is busy
		go func() { //nolint:contextcheck // a sender of its own, outside of the transaction
			_, err := s.AddDelivery(t.Context(), incident.Delivery{GroupKey: "first"})
			first <- err
		}()
		under := func() bool {
			s.commits.state.mu.Lock()
			defer s.commits.state.mu.Unlock()
			return !s.commits.state.since.IsZero()
		}
		for !under() && ctx.Err() == nil {
			runtime.Gosched()
		}
		gone, leave := context.WithCancel(ctx)
		leave()
		if _, err := s.AddDelivery(gone, incident.Delivery{GroupKey: "second"}); !errors.Is(err, context.Canceled) {
			t.Errorf("AddDelivery = %v", err)
		}
		if w := <-s.commits.queue; w.body != nil {
			t.Errorf("%s is still in memory", w.body)
		}
		return ctx.Err()
	})
	if err := errors.Join(err, <-first); err != nil {
		t.Error(err)
	}
	if found, err := s.ClaimDeliveries(t.Context(), "me", time.Now(), time.Minute, 10); err != nil || len(found) != 1 ||
		found[0].GroupKey != "first" {
		t.Errorf("stored: %v %v", found, err)
	}
}

// BenchmarkAddDelivery takes in a storm of 64 at a time; the baseline is the same storm with a commit for each.
func BenchmarkAddDelivery(b *testing.B) {
	const storm = 64
	d := incident.Delivery{ReceivedAt: time.Now(), GroupKey: "g"}
	side := func(b *testing.B, add func() error) {
		b.Helper()
		for b.Loop() {
			var wg sync.WaitGroup
			for range storm {
				wg.Go(func() {
					if err := add(); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*storm), "µs/delivery")
	}
	b.Run("shared", func(b *testing.B) {
		s := openQuiet(b)
		side(b, func() error { _, err := s.AddDelivery(b.Context(), d); return err })
	})
	b.Run("each-its-own", func(b *testing.B) {
		s := openQuiet(b)
		var one sync.Mutex
		side(b, func() error {
			one.Lock()
			defer one.Unlock()
			_, err := s.AddDelivery(b.Context(), d)
			return err
		})
	})
}
