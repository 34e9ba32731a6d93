package store

import (
	"context"
	"database/sql"
	"testing"
	"testing/synctest"
	"time"
)

// Work that can wait lets a storm pass, bounded, and is not held up at any other time.
func TestYieldWaitsInAStormOnly(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	for _, x := range []struct {
		name   string
		before func(s *storm)
		cancel bool
		want   time.Duration
	}{
		{"no storm was there", func(*storm) {}, false, 0},
		{"a storm is over", func(s *storm) { s.set(true); s.set(false) }, false, 0},
		{"a storm goes on", func(s *storm) { s.set(true); s.set(true) }, false, limit},
		{"a storm ends meanwhile", func(s *storm) {
			s.set(true)
			time.AfterFunc(limit/4, func() { s.set(false) })
		}, false, limit / 4},
		{"the process ends", func(s *storm) { s.set(true) }, true, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &Store{}
				s.commits = newCommitter(s)
				x.before(&s.commits.storm)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if x.cancel {
					cancel()
				}
				begun := time.Now()
				s.Yield(ctx, limit)
				if took := time.Since(begun); took != x.want {
					t.Errorf("waited %s, want %s", took, x.want)
				}
			})
		})
	}
}

// A burst that shares commits is a storm; it is over soon after the last of them, and a single delivery is none.
func TestTheCommitterTellsAStormByItsCommits(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	raging := func() bool { return s.commits.storm.end() != nil }
	add := func(n int) {
		all := make([]*waiting, n)
		err := s.inTx(t.Context(), func(context.Context, *sql.Tx) error { // what comes meanwhile shares the next commit
			for i := range all {
				all[i] = &waiting{body: []byte("{}"), since: time.Now(), ready: make(chan struct{})}
				s.commits.queue <- all[i]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			if <-w.ready; w.err != nil {
				t.Fatal(w.err)
			}
		}
	}
	add(1)
	if raging() {
		t.Error("one delivery counts as a storm")
	}
	add(4 * stormFrom)
	over := s.commits.storm.end()
	if over == nil {
		t.Fatal("many deliveries of one commit do not count as a storm")
	}
	<-over
	if raging() {
		t.Error("the storm has no end")
	}
}
