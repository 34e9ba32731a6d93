package store_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// SQLite leaves a transaction open whose commit it refuses. The next one must not run into it, and nothing may be
// written into it.
func TestACommitThatIsRefusedLetsTheWriterGo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		defer func() { // a stuck writer would also hold up the end of the test
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		later := `SET CONSTRAINTS journal_incident_fkey DEFERRED`
		if strings.HasPrefix(url, "sqlite") {
			later = `PRAGMA defer_foreign_keys = ON`
		}
		err := store.InTx(s, ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, later); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO journal (incident, seq, body) VALUES ('none', 1, '{}')`)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "commit: ") {
			t.Fatalf("the commit was not refused: %v", err)
		}
		_, err = s.AddClick(ctx, now, "", []byte("{}"))
		ok(t, err)
		_, err = s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		ok(t, s.Close())
		db := raw(t, url)
		for table, want := range map[string]int{"clicks": 1, "deliveries": 1, "journal": 0} {
			if n := rowsOf(t, db, table); n != want {
				t.Errorf("%s has %d rows, want %d", table, n, want)
			}
		}
	})
}

// Labels and the words of other programs may hold what PostgreSQL's texts may not. What cannot be noted would be tried
// for ever.
func TestTextsFromOutsideAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ctx := t.Context()
		for _, odd := range []string{"find the pool of alert a\x00b", "not \xff UTF-8", "\x00", "plain ü"} {
			add(ctx, t, s, "g")
			for range 3 { // then it is parked
				d := claimMany(ctx, t, s, "me", now, 1)
				ok(t, s.FailDelivery(ctx, d[0], odd, now))
			}
			if d := claimMany(ctx, t, s, "me", now, 1); len(d) != 0 {
				t.Errorf("%q: tried a fourth time", odd)
			}
			ok(t, s.SetPause(ctx, incident.Pause{Pool: "llama", Reason: odd, At: now}))
		}
		ok(t, s.Commit(ctx, incident.Change{Incident: fresh("inc-1", "llama"), DueAt: now, Render: true}))
		ms, err := s.ClaimMessages(ctx, incident.SinkSlack, "me", now, 1, 1)
		ok(t, err)
		ms[0].LastError = "Slack says \x00\xff"
		ok(t, s.SaveMessage(ctx, ms[0], true))
	})
}

// A transaction may end after the store was closed.
func TestAStoreMayBeClosedInsideATransaction(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "medic.db"),
		store.Options{ChannelFor: func(string) string { return "" }, Logger: (&lines{}).logger()})
	ok(t, err)
	store.PrepareAfterClose(t.Context(), s, "SELECT 1")
	ok(t, s.Close())
}
