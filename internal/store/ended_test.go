package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

func ended(f string, end time.Time) incident.Alert {
	return incident.Alert{
		Fingerprint: f, Labels: map[string]string{"a": "b"}, StartsAt: now, EndsAt: end, LastEnd: end,
		SeenAt: now, Ends: []incident.AlertEnd{{By: "x", Start: now, End: end}},
	}
}

// foldEnds folds a delivery in that brought nothing but the ends of unknown alerts.
func foldEnds(ctx context.Context, t *testing.T, s *store.Store, alerts ...incident.Alert) error {
	t.Helper()
	add(ctx, t, s, "g")
	return s.CommitFolded(ctx, incident.Folded{Deliveries: claimMany(ctx, t, s, "me", now, 1), Ended: alerts})
}

func TestTheEndOfAnUnknownAlertIsRemembered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		add(ctx, t, s, "g", "g")
		for _, end := range []time.Duration{2 * time.Minute, time.Minute} { // the later one counts
			d := claimMany(ctx, t, s, "me", now, 1)
			ok(t, s.CommitFolded(ctx, incident.Folded{Deliveries: d, Ended: []incident.Alert{ended("f", now.Add(end))}}))
		}
		got, err := s.EndedAlerts(ctx, []string{"e", "f"})
		ok(t, err)
		if d := cmp.Diff([]incident.Alert{ended("f", now.Add(2*time.Minute))}, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		_, err = s.Prune(ctx, now.Add(2*time.Hour), store.DefaultKeep)
		ok(t, err)
		if got, err := s.EndedAlerts(ctx, []string{"f"}); err != nil || len(got) != 0 {
			t.Errorf("remembered for ever: %v %v", got, err)
		}
	})
}

// The same alert may be in a delivery twice, in any order, and with texts of any kind.
func TestTheLatestOfSeveralEndsIsRemembered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		odd := ended("odd", now)
		odd.Labels = map[string]string{"nul": "a\x00b", "quote": `"\'$[0]`, "ü": "\u2028"}
		late := ended("f", now.Add(time.Minute))
		ok(t, foldEnds(ctx, t, s, ended("f", now), late, ended("f", now.Add(time.Second)), odd))
		got, err := s.EndedAlerts(ctx, []string{"f", "odd"})
		ok(t, err)
		if d := cmp.Diff([]incident.Alert{late, odd}, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// However many they are, they are one question to the server: tens of thousands, one by one, would not fit into a
// transaction's time.
func TestManyEndsAreOneQuestion(t *testing.T) {
	t.Parallel()
	direct := storetest.PostgreSQL(t)
	proxy, through := storetest.Through(t, direct)
	s := storetest.Open(t, through)
	const many = 2000
	alerts := make([]incident.Alert, many)
	for n := range alerts {
		alerts[n] = ended(fmt.Sprint("f", n), now)
	}
	before := proxy.Asked()
	ok(t, foldEnds(t.Context(), t, s, alerts...))
	if n := proxy.Asked() - before; n > many/2 {
		t.Errorf("%d ends took %d questions", many, n)
	}
}

// Two replicas that hear of the same alerts, each in another order, do not wait for each other.
func TestEndsAreRememberedInOneOrder(t *testing.T) {
	t.Parallel()
	u := storetest.PostgreSQL(t)
	s, other := storetest.Open(t, u), raw(t, u)
	folded := make(chan error, 1)
	tx, err := other.BeginTx(t.Context(), nil)
	ok(t, err)
	defer tx.Rollback() //nolint:errcheck // it is over, one way or the other
	insert := func(f string) {
		t.Helper()
		_, err := tx.ExecContext(t.Context(),
			`INSERT INTO ended_alerts (fingerprint, ended_at, seen_at, body) VALUES ($1, 0, 0, '{}')`, f)
		ok(t, err)
	}
	insert("a")
	go func() { folded <- foldEnds(t.Context(), t, s, ended("b", now), ended("a", now)) }()
	eventually(t, "the store waits for the first one", func() bool {
		var n int
		ok(t, other.QueryRowContext(t.Context(),
			`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
		return n > 0
	})
	insert("b")
	ok(t, tx.Commit())
	ok(t, <-folded)
}

// What is remembered goes in batches like all else, and each batch says that there may be more.
func TestForgettingEndsIsDoneInBatches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		alerts := make([]incident.Alert, 1001)
		for n := range alerts {
			alerts[n] = ended(fmt.Sprint("f", n), now)
		}
		ok(t, foldEnds(ctx, t, s, alerts...))
		for _, tc := range []struct {
			after time.Duration
			want  int64
		}{{time.Minute, 0}, {2 * time.Hour, 1000}, {2 * time.Hour, 1}, {2 * time.Hour, 0}} {
			if got, err := s.Prune(ctx, now.Add(tc.after), store.DefaultKeep); err != nil || got.Ended != tc.want ||
				got.All() != tc.want {
				t.Errorf("after %s: removed %+v, %v; want %d", tc.after, got, err, tc.want)
			}
		}
	})
}
