package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

func TestLocksAreOnTargets(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		a, b := create(t, s, "inc-a", "p"), create(t, s, "inc-b", "q")
		ok(t, s.Commit(ctx, incident.Change{Incident: a, Expect: 1, Lock: "Deployment/x/y"}))
		ok(t, s.Commit(ctx, incident.Change{Incident: a, Expect: 2, Lock: "Deployment/x/y"}))
		var locked *incident.LockedError
		if err := s.Commit(ctx, incident.Change{Incident: b, Expect: 1, Lock: "Deployment/x/y"}); !errors.As(err, &locked) ||
			locked.Incident != "inc-a" {
			t.Errorf("got %v", err)
		}
		ok(t, s.Commit(ctx, incident.Change{Incident: b, Expect: 1, Unlock: "Deployment/x/y"}))
		if locks, err := s.Locks(ctx); err != nil || locks["Deployment/x/y"] != "inc-a" {
			t.Errorf("somebody else unlocked it: %v %v", locks, err)
		}
		ok(t, s.Commit(ctx, incident.Change{Incident: a, Expect: 3, Unlock: "Deployment/x/y"}))
		ok(t, s.Commit(ctx, incident.Change{Incident: b, Expect: 2, Lock: "Deployment/x/y"}))
	})
}

func TestAPauseRefusesClaimsOfItsScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scope, pool string
		refused     bool
	}{{"", "p", true}, {"p", "p", true}, {"q", "p", false}} {
		t.Run(fmt.Sprintf("%q on %q", tc.scope, tc.pool), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s *store.Store, _ string) {
				inc := create(t, s, "inc-a", tc.pool)
				p := incident.Pause{Pool: tc.scope, Reason: "freeze", By: incident.Actor{Kind: "kubernetes", ID: "anna"}, At: now}
				ok(t, s.SetPause(t.Context(), p))
				w := incident.Write{
					ID: "w1", Incident: "inc-a", Step: "s", Pool: tc.pool, Kind: incident.StepThrottle, Target: "t",
					Op: incident.OpApply, StartedAt: now,
				}
				err := s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Claim: &w})
				var paused *incident.PausedError
				if errors.As(err, &paused) != tc.refused {
					t.Fatalf("got %v", err)
				}
				if tc.refused {
					if d := cmp.Diff(p, paused.Pause); d != "" {
						t.Error(d)
					}
					if had, err := s.ClearPause(t.Context(), tc.scope, now); err != nil || !had {
						t.Fatalf("resume: %v %v", had, err)
					}
					ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Claim: &w}))
				}
				open, err := s.OpenWrites(t.Context())
				ok(t, err)
				if d := cmp.Diff([]incident.Write{w}, open); d != "" {
					t.Error(d)
				}
				w.EndedAt, w.Result = now.Add(time.Second), incident.ResultApplied
				ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 2, Finish: &w}))
				if open, err = s.OpenWrites(t.Context()); err != nil || len(open) != 0 {
					t.Errorf("still open: %v %v", open, err)
				}
				since, err := s.WritesSince(t.Context(), tc.pool, now)
				ok(t, err)
				if d := cmp.Diff([]incident.Write{w}, since); d != "" {
					t.Error(d)
				}
				if since, err = s.WritesSince(t.Context(), tc.pool, now.Add(1)); err != nil || len(since) != 0 {
					t.Errorf("too old a write: %v %v", since, err)
				}
			})
		})
	}
}

// What is asked for twice, as after a crash, must not undo what somebody decided in between.
func TestAPauseOutlivesWhatWasAskedBeforeIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		early := incident.Pause{Pool: "p", Reason: "early", By: incident.Actor{Kind: "slack", ID: "U1"}, At: now}
		late := incident.Pause{
			Pool: "p", Reason: "late", By: incident.Actor{Kind: "slack", ID: "U2"}, At: now.Add(2 * time.Second),
		}
		for _, p := range []incident.Pause{early, late, early} {
			ok(t, s.SetPause(ctx, p))
		}
		if had, err := s.ClearPause(ctx, "p", now.Add(time.Second)); err != nil || had {
			t.Errorf("a later pause was ended: %v %v", had, err)
		}
		got, err := s.Pauses(ctx)
		ok(t, err)
		if d := cmp.Diff([]incident.Pause{late}, got); d != "" {
			t.Error(d)
		}
		if had, err := s.ClearPause(ctx, "p", late.At); err != nil || !had {
			t.Errorf("resume: %v %v", had, err)
		}
	})
}

// A claim that a pause did not refuse must stand in OpenWrites when SetPause returns, whatever the order of the two.
func TestAPauseNeverMissesAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		for n := range 30 {
			id, pool := fmt.Sprintf("inc-%d", n), fmt.Sprintf("pool-%d", n)
			inc := create(t, s, id, pool)
			claimed := make(chan error, 1)
			go func() {
				claimed <- s.Commit(t.Context(), incident.Change{
					Incident: inc, Expect: 1,
					Claim: &incident.Write{ID: id, Incident: id, Pool: pool, Target: "t", StartedAt: now},
				})
			}()
			ok(t, s.SetPause(t.Context(), incident.Pause{Pool: pool, Reason: "x", At: now}))
			open, err := s.OpenWrites(t.Context())
			ok(t, err)
			listed := false
			for _, w := range open {
				listed = listed || w.ID == id
			}
			if err := <-claimed; err == nil && !listed {
				t.Fatal("a claim stands that the pause did not list")
			}
		}
	})
}
