package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/store"
)

// A replica that stops for a while between its claim and the reading of the bodies finds them gone when another one
// has folded the deliveries meanwhile. They are done, and nobody is told anything else.
func TestAFoldedDeliveryIsNotCalledDead(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, _ string, log *lines) {
		ctx := t.Context()
		add(ctx, t, s, "g", "h")
		slow := claimMany(ctx, t, s, "slow", now, 2)
		quick := claimMany(ctx, t, s, "quick", now.Add(time.Hour), 2)
		ok(t, finish(ctx, s, quick...))
		got, dead, err := store.ReadClaimed(s, ctx, slow)
		ok(t, err)
		if len(got) > 0 || len(dead) > 0 {
			t.Errorf("the slow replica has %v, and calls %v dead", got, dead)
		}
		checkDead(ctx, t, s, log, 0)
	})
}

// The same when the other one has not folded them yet, and when one of them really can't be read.
func TestOnlyWhoHasADeliveryParksIt(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, url string, log *lines) {
		ctx := t.Context()
		add(ctx, t, s, "g")
		slow := claimMany(ctx, t, s, "slow", now, 1)
		claimMany(ctx, t, s, "quick", now.Add(time.Hour), 1)
		_, err := raw(t, url).ExecContext(ctx, `DELETE FROM delivery_bodies`)
		ok(t, err)
		if got, dead, err := store.ReadClaimed(s, ctx, slow); err != nil || len(got) > 0 || len(dead) > 0 {
			t.Errorf("has %v and parked %v, %v without the claim", got, dead, err)
		}
		checkDead(ctx, t, s, log, 0)
		if got := claimMany(ctx, t, s, "quick", now.Add(2*time.Hour), 1); len(got) > 0 {
			t.Errorf("claimed %v without a body", got)
		}
		checkDead(ctx, t, s, log, 1)
	})
}

// checkDead compares how many deliveries are dead, and were said to be.
func checkDead(ctx context.Context, t *testing.T, s *store.Store, log *lines, want int) {
	t.Helper()
	n, err := s.DeadDeliveries(ctx)
	ok(t, err)
	if said := log.count("a delivery was given up"); int(n) != want || said != want {
		t.Errorf("%d deliveries are dead and %d are said to be, want %d", n, said, want)
	}
}
