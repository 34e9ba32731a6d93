package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

func TestDeliveriesAreTakenOnceAndInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		want := incident.Delivery{
			ReceivedAt: now, Receiver: "r", GroupKey: "g", Truncated: 2, Reason: "x",
			Alerts: []incident.Alert{{
				Fingerprint: "f", Labels: map[string]string{"a": "<!b>"}, Firing: true, StartsAt: now,
				SeenAt: now,
			}},
		}
		id, err := s.AddDelivery(ctx, want)
		ok(t, err)
		_, err = s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		got, found, err := claimDelivery(ctx, s, "me", now)
		ok(t, err)
		if !found || got.ID != id || got.Attempts != 1 {
			t.Fatalf("got %v %+v, want the first delivery", found, got)
		}
		fence := got.Fence
		got.ID, got.Attempts, got.Fence = 0, 0, 0
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		second, found, err := claimDelivery(ctx, s, "other", now)
		ok(t, err)
		if !found || second.ID == id {
			t.Fatalf("the second claim got %v %d", found, second.ID)
		}
		ok(t, finish(ctx, s, second))
		if _, found, err = claimDelivery(ctx, s, "other", now); err != nil || found {
			t.Fatalf("a third one: %v %v", found, err)
		}
		again, found, err := claimDelivery(ctx, s, "other", now.Add(2*time.Minute))
		ok(t, err)
		if !found || again.ID != id || again.Attempts != 2 {
			t.Fatalf("an expired lease was not taken over: %v %+v", found, again)
		}
		if err := finish(ctx, s, incident.Delivery{ID: id, Fence: fence}); !errors.Is(err, incident.ErrFenced) {
			t.Errorf("the late holder ended it: %v", err)
		}
		ok(t, finish(ctx, s, again))
	})
}

// claimDelivery claims one delivery for a minute.
func claimDelivery(ctx context.Context, s *store.Store, owner string, now time.Time) (incident.Delivery, bool, error) {
	ds, err := s.ClaimDeliveries(ctx, owner, now, time.Minute, 1)
	if err != nil || len(ds) == 0 {
		return incident.Delivery{}, false, err
	}
	return ds[0], true, nil
}

// finish ends deliveries that change nothing.
func finish(ctx context.Context, s *store.Store, ds ...incident.Delivery) error {
	return s.CommitFolded(ctx, incident.Folded{Deliveries: ds})
}

func TestADeliveryThatKeepsFailingIsParkedNotLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		_, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		for n := range 3 {
			at := now.Add(time.Duration(n) * time.Hour)
			d, found, err := claimDelivery(ctx, s, "me", at)
			ok(t, err)
			if !found {
				t.Fatalf("attempt %d found nothing", n+1)
			}
			ok(t, s.FailDelivery(ctx, d, "boom", at.Add(time.Minute)))
			if _, early, err := claimDelivery(ctx, s, "me", at); err != nil || early {
				t.Fatalf("taken before its time: %v %v", early, err)
			}
		}
		if _, found, err := claimDelivery(ctx, s, "me", now.Add(24*time.Hour)); err != nil || found {
			t.Fatalf("taken a fourth time: %v %v", found, err)
		}
		if n, err := s.DeadDeliveries(ctx); err != nil || n != 1 {
			t.Errorf("dead: %d %v, want 1", n, err)
		}
	})
}

func TestConcurrentDeliveriesAreAllKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		const many = 200
		ids := make([]int64, many)
		var wg sync.WaitGroup
		for n := range many {
			wg.Go(func() {
				id, err := s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now, GroupKey: fmt.Sprint(n)})
				if err != nil {
					t.Errorf("delivery %d: %v", n, err)
				}
				ids[n] = id
			})
		}
		wg.Wait()
		seen := map[string]bool{}
		for {
			d, found, err := claimDelivery(t.Context(), s, "me", now)
			ok(t, err)
			if !found {
				break
			}
			seen[d.GroupKey] = true
		}
		if len(seen) != many {
			t.Errorf("%d deliveries, want %d", len(seen), many)
		}
	})
}
