package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// A storm that lasts gets one message after the other, each of which rings once more and can still be drawn.
func TestADigestTakesOnlySoManyIncidents(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		opened(t, s, "warning", "inc-a", "inc-b")
		all := map[string]int{}
		var order []string
		for n := range incident.DigestSize + 2 {
			id := fmt.Sprintf("inc-%03d", n)
			opened(t, s, "warning", id)
			digest := message(t, s, id).Digest
			if all[digest] == 0 {
				order = append(order, digest)
			}
			all[digest]++
		}
		if len(order) != 2 || all[order[0]] != incident.DigestSize || all[order[1]] != 2 || all[""] != 0 {
			t.Errorf("incidents by digest: %v", all)
		}
		d, err := s.Digest(t.Context(), order[1])
		ok(t, err)
		if len(d.Folded) != 2 {
			t.Errorf("the second digest: %+v", d)
		}
	})
}

func TestADigestTakesIncidentsOnlyForSoLong(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, url string) {
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4")
		first := message(t, s, "inc-3").Digest
		back := func(by time.Duration) {
			t.Helper()
			_, err := raw(t, url).ExecContext(t.Context(),
				fmt.Sprintf("UPDATE messages SET joined_at = joined_at - %d WHERE incident = 'inc-3'", by))
			ok(t, err)
		}
		back(incident.DigestFor - time.Minute)
		opened(t, s, "warning", "inc-5")
		if m := message(t, s, "inc-5"); m.Digest != first {
			t.Errorf("within the time: %+v, the first digest is %s", m, first)
		}
		back(2 * time.Minute)
		opened(t, s, "warning", "inc-6", "inc-7")
		six, seven := message(t, s, "inc-6"), message(t, s, "inc-7")
		if !six.Folded || six.Digest == first || seven.Digest != six.Digest {
			t.Errorf("after it: %+v %+v, the first digest is %s", six, seven, first)
		}
	})
}

// Of what has ended, a digest reads only what has a line: a storm that was long ago must not make it slow.
func TestADigestReadsOnlyWhatItShows(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4", "inc-5")
		digest := message(t, s, "inc-3").Digest
		for n := range incident.DigestClosed + 3 {
			id := fmt.Sprintf("inc-over-%02d", n)
			opened(t, s, "warning", id)
			inc := firing(id, "warning")
			inc.State, inc.ClosedAt = incident.StateClosed, now.Add(time.Duration(n)*time.Minute)
			ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 1, Render: true}))
		}
		n, err := s.Unfold(ctx, digest, "inc-4")
		if err != nil || n != 1 {
			t.Fatal(n, err)
		}
		_, err = raw(t, url).ExecContext(ctx, `UPDATE incidents SET body = '{' WHERE id IN ('inc-over-00', 'inc-5')`)
		ok(t, err)
		d, err := s.Digest(ctx, digest)
		ok(t, err)
		if len(d.Folded) != 1+incident.DigestClosed || d.Folded[0].ID != "inc-3" || d.Closed != 3 || len(d.Shown) != 1 ||
			len(d.Unreadable) != 1 || d.Unreadable[0] != "inc-5" || d.All() != incident.DigestClosed+6 {
			t.Errorf("%d folded, %d closed, shown %v, unreadable %v", len(d.Folded), d.Closed, d.Shown, d.Unreadable)
		}
		if last := d.Folded[len(d.Folded)-1].ID; last != fmt.Sprintf("inc-over-%02d", incident.DigestClosed+2) {
			t.Errorf("those that ended last have a line, not %s", last)
		}
		if d.At.IsZero() || d.At.Before(d.Since) {
			t.Errorf("read at %s, since %s", d.At, d.Since)
		}
	})
}

// The first word of a digest is how fast they come.
func TestADigestKnowsTheRate(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, url string) {
		opened(t, s, "warning", "inc-old", "inc-1", "inc-2", "inc-3", "inc-4")
		opened(t, s, "critical", "inc-5")
		_, err := raw(t, url).ExecContext(t.Context(), fmt.Sprintf(
			"UPDATE messages SET joined_at = joined_at - %d WHERE incident = 'inc-old'", 11*time.Minute))
		ok(t, err)
		opened(t, s, "warning", "inc-6")
		d, err := s.Digest(t.Context(), message(t, s, "inc-6").Digest)
		ok(t, err)
		if d.Came != 6 || d.Within != 10*time.Minute {
			t.Errorf("%d came in %s", d.Came, d.Within)
		}
	})
}

// Show all is for what somebody can still do something about, and holds up no news.
func TestShowAllIsForWhatIsOpen(t *testing.T) {
	t.Parallel()
	stormy(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		opened(t, s, "warning", "inc-1", "inc-2", "inc-3", "inc-4", "inc-5", "inc-6")
		digest := message(t, s, "inc-3").Digest
		for _, id := range []string{"inc-4", "inc-5"} {
			inc := firing(id, "warning")
			inc.State, inc.ClosedAt = incident.StateClosed, now
			ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 1, Render: true}))
		}
		before := s.Now()
		for n, want := range []int{2, 0} {
			if got, err := s.Unfold(ctx, digest, ""); got != want || err != nil {
				t.Errorf("Show all, %d: %d %v", n, got, err)
			}
		}
		if m := message(t, s, "inc-4"); !m.Folded {
			t.Errorf("what has ended got a message: %+v", m)
		}
		if n, err := s.Unfold(ctx, digest, "inc-5"); n != 1 || err != nil {
			t.Errorf("Show for what has ended: %d %v", n, err)
		}
		opened(t, s, "critical", "inc-7")
		if old, next := message(t, s, "inc-3"), message(t, s, "inc-7"); old.NextAt.Before(before) ||
			!next.NextAt.Before(old.NextAt) {
			t.Errorf("what is shown once more goes at %s, what is new at %s", old.NextAt, next.NextAt)
		}
	})
}
