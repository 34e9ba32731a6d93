package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

func TestClicksAreTakenOnceAndForgottenWhenDone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		keep(t, s, "", `{"response_url":"https://secret"}`)
		keep(t, s, "", "second \x00\xff")
		first, found, err := s.ClaimClick(ctx, "me", now, time.Minute)
		ok(t, err)
		if !found || !strings.Contains(string(first.Payload), "secret") || !first.ReceivedAt.Equal(now) {
			t.Fatalf("claimed %v %v", found, first)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", first, first, first, first); strings.Contains(text, "secret") ||
			strings.Contains(text, "[123") {
			t.Errorf("the payload shows: %s", text)
		}
		second, found, err := s.ClaimClick(ctx, "other", now, time.Minute)
		ok(t, err)
		if !found || string(second.Payload) != "second \x00\xff" {
			t.Fatalf("claimed %v %q", found, second.Payload)
		}
		if _, found, err = s.ClaimClick(ctx, "other", now, time.Minute); err != nil || found {
			t.Fatalf("a third: %v %v", found, err)
		}
		ok(t, s.FinishClick(ctx, second))
		again, found, err := s.ClaimClick(ctx, "other", now.Add(2*time.Minute), time.Minute)
		ok(t, err)
		if !found || again.ID != first.ID {
			t.Fatalf("an expired lease was not taken over: %v %v", found, again)
		}
		if err := s.FinishClick(ctx, first); !errors.Is(err, incident.ErrFenced) {
			t.Errorf("the late holder ended it: %v", err)
		}
		st, err := s.Stats(ctx)
		ok(t, err)
		if st.ClicksWaiting != 1 {
			t.Errorf("%d wait, want 1", st.ClicksWaiting)
		}
		ok(t, s.FinishClick(ctx, again))
		var kept int
		ok(t, raw(t, url).QueryRowContext(ctx, `SELECT COUNT(*) FROM clicks WHERE LENGTH(payload) > 0`).Scan(&kept))
		if kept != 0 {
			t.Errorf("%d payloads are kept", kept)
		}
		got, err := s.Prune(ctx, now.Add(8*day), store.DefaultKeep)
		ok(t, err)
		if got.Clicks != 2 {
			t.Errorf("pruned %+v", got)
		}
	})
}

// keep adds a click that was not there before.
func keep(t *testing.T, s *store.Store, identity, payload string) {
	t.Helper()
	added, err := s.AddClick(t.Context(), now, identity, []byte(payload))
	ok(t, err)
	if !added {
		t.Fatalf("the click %q was not kept", identity)
	}
}

// A repeat finds the click that is kept, claimed or finished, until that is removed. What has no identity is nobody's
// repeat.
func TestARepeatedClickIsKeptOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		repeat := func(when string) {
			t.Helper()
			added, err := s.AddClick(ctx, now.Add(time.Minute), "one", []byte("repeat"))
			ok(t, err)
			if added {
				t.Fatalf("the repeat was kept %s", when)
			}
		}
		keep(t, s, "one", "first")
		repeat("before the first was claimed")
		c, found, err := s.ClaimClick(ctx, "me", now, time.Minute)
		ok(t, err)
		if !found || string(c.Payload) != "first" {
			t.Fatalf("claimed %v %q", found, c.Payload)
		}
		repeat("while the first is worked on")
		ok(t, s.FinishClick(ctx, c))
		repeat("after the first was finished")
		if _, found, err := s.ClaimClick(ctx, "me", now.Add(time.Hour), time.Minute); err != nil || found {
			t.Fatalf("there is something to do: %v %v", found, err)
		}
		keep(t, s, "another", "other")
		keep(t, s, "", "without")
		keep(t, s, "", "without")
		_, err = s.Prune(ctx, now.Add(store.DefaultKeep.Done-time.Hour), store.DefaultKeep)
		ok(t, err)
		repeat("within the time that what is done is kept")
	})
}

// Replicas that get the same click at the same time keep one.
func TestRepeatsAtOnceAreKeptOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		var added atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				got, err := s.AddClick(t.Context(), now, "one", []byte("x"))
				if err != nil {
					t.Error(err)
				}
				if got {
					added.Add(1)
				}
			})
		}
		wg.Wait()
		if n := added.Load(); n != 1 {
			t.Errorf("kept %d times", n)
		}
	})
}

func TestAClickOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	e := storetest.Engines()[0] // SQLite, which frees claims at the start
	u := e.URL(t)
	s := storetest.Open(t, u)
	keep(t, s, "", "x")
	_, found, err := s.ClaimClick(t.Context(), "me", now, time.Hour)
	ok(t, err)
	if !found {
		t.Fatal("nothing to claim")
	}
	ok(t, s.Close())
	if _, found, err := storetest.Open(t, u).ClaimClick(t.Context(), "me", now, time.Hour); err != nil || !found {
		t.Errorf("after the restart: %v %v", found, err)
	}
}
