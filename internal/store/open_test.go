package store_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

func TestClosedStoreTakesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		ok(t, s.Close())
		if _, err := s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now}); err == nil {
			t.Error("a closed store took a delivery")
		}
		ok(t, s.Close())
	})
}

func raw(t *testing.T, rawURL string) *sql.DB {
	t.Helper()
	driver, dsn := "pgx", rawURL
	if path, isSQLite := strings.CutPrefix(rawURL, "sqlite://"); isSQLite {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, dsn)
	ok(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// The version of the schema is the number of the last migration.
func TestMigrationsAreNumberedAlikeAndWithoutGaps(t *testing.T) {
	t.Parallel()
	listed := func(database string) []string {
		files, err := os.ReadDir(filepath.Join("migrations", database))
		ok(t, err)
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		return names
	}
	names := listed("sqlite")
	if diff := cmp.Diff(names, listed("postgres")); diff != "" {
		t.Errorf("the databases have different migrations (-sqlite +postgres):\n%s", diff)
	}
	for n, name := range names {
		if want := fmt.Sprintf("%05d_", n+1); !strings.HasPrefix(name, want) {
			t.Errorf("migration %s should begin with %s", name, want)
		}
	}
	if got, err := store.SchemaVersion(); err != nil || got != int64(len(names)) {
		t.Errorf("the schema has version %d (%v); want %d", got, err, len(names))
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ok(t, s.Close())
		_, err := raw(t, url).ExecContext(t.Context(),
			`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, `+
				map[bool]string{true: "1", false: "true"}[strings.HasPrefix(url, "sqlite")]+`)`)
		ok(t, err)
		_, err = store.Open(t.Context(), url,
			store.Options{ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), "version 99") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOpenRefusesClearly(t *testing.T) {
	t.Parallel()
	const password = "s3cr3t-value"
	for _, tc := range []struct{ url, want string }{
		{"sqlite://" + filepath.Join(t.TempDir(), "no", "such", "x.db"), "does not exist"},
		{"sqlite://", "needs a path"},
		{"mysql://x", "sqlite:// or postgres://"},
		{"postgres://u:" + password + "@127.0.0.1:1/x?connect_timeout=2", "does not answer"},
		{"postgres://u:" + password + "@[::bad/x", "cannot be read"},
	} {
		_, err := store.Open(t.Context(), tc.url,
			store.Options{ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", url.PathEscape(tc.url), err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the password shows: %v", err)
		}
	}
}

func TestTheDatabaseFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "medic.db")
	storetest.Open(t, "sqlite://"+path)
	info, err := os.Stat(path)
	ok(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
}

func TestASQLiteFileServesOneProcess(t *testing.T) {
	t.Parallel()
	u := "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
	opts := store.Options{ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler)}
	first, err := store.Open(t.Context(), u, opts)
	ok(t, err)
	if _, err := store.Open(t.Context(), u, opts); err == nil || !strings.Contains(err.Error(), "another vllm-medic has") {
		t.Errorf("opened twice: %v", err)
	}
	ok(t, first.Close())
	storetest.Open(t, u)
}

// A process that was killed holds claims. With SQLite nobody else can, so the next one goes on at once; with PostgreSQL
// another replica may be alive, and the lease decides.
func TestARestartGoesOnWithoutWaitingForLeases(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			u := engine.URL(t)
			s, err := store.Open(t.Context(), u,
				store.Options{ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler)})
			ok(t, err)
			create(t, s, "inc-a", "p")
			claimOne(t, s, now)
			ok(t, s.Close())
			again := storetest.Open(t, u)
			cs, err := again.ClaimDue(t.Context(), "next", now, time.Minute, 10)
			ok(t, err)
			if want := map[string]int{"sqlite": 1, "postgres": 0}[engine.Name]; len(cs) != want {
				t.Errorf("the next process claimed %d incidents before the lease ended, want %d", len(cs), want)
			}
		})
	}
}
