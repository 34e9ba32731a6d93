package storetest

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vllm-medic/vllm-medic/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// On a server on which nothing ever ran, many tests ask for a database in the same instant, and each gets one of its
// own.
func TestManyDatabasesAtOnceOnAServerThatHasNeverBeenUsed(t *testing.T) {
	t.Parallel()
	fresh := database(t, postgres.Server(t)) // what a former run left in the server's own database is not in here
	const tests = 32
	got := make(chan string, tests)
	var asked sync.WaitGroup
	for range tests {
		asked.Go(func() {
			u, drop, err := create(t.Context(), fresh)
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			got <- u
			t.Cleanup(func() {
				if err := drop(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		})
	}
	asked.Wait()
	close(got)
	seen := map[string]bool{}
	for u := range got {
		seen[u] = true
	}
	if len(seen) != tests {
		t.Errorf("%d tests got %d databases", tests, len(seen))
	}
	conn, err := pgx.Connect(t.Context(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	var left int
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d objects are left in the server's own database: %v", left, err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
