package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/postgres"
)

// Two bots behind PgBouncer in transaction mode, where each transaction may get another connection: every delivery is
// taken and claimed once, and nothing is left on the connections that other clients get.
func TestAPoolerInTransactionModeLosesNothing(t *testing.T) {
	t.Parallel()
	direct := storetest.PostgreSQL(t)
	through := postgres.Pooled(t, direct, "transaction", 3)
	bots := []*store.Store{storetest.Open(t, through), storetest.Open(t, through)}
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			_, err := bots[n%2].AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now, GroupKey: fmt.Sprint(n)})
			if err != nil {
				t.Errorf("delivery %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	folded := map[int64]bool{}
	for range 10 {
		for n, s := range bots {
			ds, err := s.ClaimDeliveries(t.Context(), fmt.Sprint(n), now, time.Minute, 7)
			ok(t, err)
			if len(ds) == 0 {
				continue
			}
			for _, d := range ds {
				if folded[d.ID] {
					t.Errorf("delivery %d was claimed twice", d.ID)
				}
				folded[d.ID] = true
			}
			id := fmt.Sprintf("inc-%d", ds[0].ID)
			ok(t, s.CommitFolded(t.Context(), incident.Folded{
				Deliveries: ds, Changes: []incident.Change{{Incident: fresh(id, id), DueAt: now}},
			}))
			ok(t, s.Ready(t.Context()))
		}
	}
	if len(folded) != 40 {
		t.Errorf("%d of 40 deliveries were folded", len(folded))
	}
	r, err := store.OpenReadOnly(t.Context(), through)
	ok(t, err)
	list, err := r.Incidents(t.Context(), incident.Filter{AllPools: true})
	if ok(t, err); len(list) == 0 {
		t.Error("a reader sees no incidents")
	}
	ok(t, r.Close())

	db, err := sql.Open("pgx", direct)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	pooled, err := sql.Open("pgx", through+"&default_query_exec_mode=exec")
	ok(t, err)
	t.Cleanup(func() { ok(t, pooled.Close()) })
	for _, setting := range []string{
		"statement_timeout", "idle_in_transaction_session_timeout", "default_transaction_read_only",
	} {
		var left, own string
		ok(t, pooled.QueryRowContext(t.Context(), `SELECT current_setting($1)`, setting).Scan(&left))
		ok(t, db.QueryRowContext(t.Context(), `SELECT current_setting($1)`, setting).Scan(&own))
		if left != own {
			t.Errorf("%s is %q on a connection that another client gets, and %q by default", setting, left, own)
		}
	}
	for what, query := range map[string]string{
		// The server has databases of other tests, which lock there what is theirs.
		"locks of sessions": `SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
		"prepared statements":  `SELECT COUNT(*) FROM pg_prepared_statements`,
		"channels listened to": `SELECT COUNT(*) FROM pg_listening_channels()`,
	} {
		var n int
		ok(t, pooled.QueryRowContext(t.Context(), query).Scan(&n))
		if n != 0 {
			t.Errorf("%s that are left behind: %d", what, n)
		}
	}
}

// In session mode nothing is different but the number of connections.
func TestAPoolerInSessionModeWorks(t *testing.T) {
	t.Parallel()
	direct := storetest.PostgreSQL(t)
	s := storetest.Open(t, postgres.Pooled(t, direct, "session", 20))
	ok(t, deliver(t.Context(), s))
	ok(t, s.Ready(t.Context()))
}

// Without transactions nothing can be kept.
func TestAPoolerInStatementModeIsRefusedInASentence(t *testing.T) {
	t.Parallel()
	direct := storetest.PostgreSQL(t)
	_, err := store.Open(t.Context(), postgres.Pooled(t, direct, "statement", 3), store.Options{
		ChannelFor: func(string) string { return "" }, Logger: (&lines{}).logger(),
	})
	if err == nil || !strings.Contains(err.Error(), "set its pool_mode to transaction or session, not statement") {
		t.Errorf("statement mode: %v", err)
	}
}

// Deliveries that are kept and never processed are no service: the store is not ready while they cannot be claimed.
func TestClaimsThatKeepFailingCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		claim := func() error {
			_, err := s.ClaimDeliveries(t.Context(), "me", now, time.Minute, 10)
			return err
		}
		change := func(statement string) {
			t.Helper()
			driver, source := "pgx", url
			if path, lite := strings.CutPrefix(url, "sqlite://"); lite {
				driver, source = "sqlite", "file:"+path
			}
			db, err := sql.Open(driver, source)
			ok(t, err)
			_, err = db.ExecContext(t.Context(), statement)
			ok(t, errors.Join(err, db.Close()))
		}
		change(`ALTER TABLE deliveries RENAME COLUMN attempts TO tries`)
		for n := range 3 {
			ok(t, s.Ready(t.Context()))
			if claim() == nil {
				t.Fatalf("claim %d works", n)
			}
		}
		if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be claimed") {
			t.Errorf("after three failures: %v", err)
		}
		change(`ALTER TABLE deliveries RENAME COLUMN tries TO attempts`)
		eventually(t, "a claim works", func() bool { return claim() == nil })
		ok(t, s.Ready(t.Context()))
	})
}
