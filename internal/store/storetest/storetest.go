// Package storetest opens fresh stores for tests: SQLite in a temporary folder, and PostgreSQL in a database of its own on the server that the
// environment variable VLLM_MEDIC_TEST_POSTGRES names.
package storetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vllm-medic/vllm-medic/internal/store"
)

// Engine opens fresh, empty databases of one kind.
type Engine struct {
	Name string
	// URL makes a fresh database that is gone after the test.
	URL func(t testing.TB) string
}

// Engines lists SQLite, and PostgreSQL when the test run has one. A run that must have it says so with VLLM_MEDIC_REQUIRE_POSTGRES=1 or CI=true, and
// fails without it.
func Engines(t testing.TB) []Engine {
	t.Helper()
	out := []Engine{{Name: "sqlite", URL: func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "medic.db") }}}
	server := os.Getenv("VLLM_MEDIC_TEST_POSTGRES")
	if server != "" {
		return append(out, Engine{Name: "postgres", URL: func(t testing.TB) string { return database(t, server) }})
	}
	if os.Getenv("VLLM_MEDIC_REQUIRE_POSTGRES") == "1" || os.Getenv("CI") == "true" {
		t.Fatal("VLLM_MEDIC_TEST_POSTGRES is not set; run the tests with make test")
	}
	return out
}

// Open opens a store on the URL with a channel for every pool, and closes it after the test.
func Open(t testing.TB, rawURL string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), rawURL, store.Options{
		ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler), MaxDeliveryAttempts: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

func database(t testing.TB, server string) string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("PostgreSQL of VLLM_MEDIC_TEST_POSTGRES: %v", err)
	}
	var n int64
	if err := conn.QueryRow(ctx, "SELECT nextval('vllm_medic_test')").Scan(&n); err != nil {
		if _, err := conn.Exec(ctx, "CREATE SEQUENCE IF NOT EXISTS vllm_medic_test"); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(ctx, "SELECT nextval('vllm_medic_test')").Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	name := fmt.Sprintf("medic_test_%d", n)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
		if err := conn.Close(ctx); err != nil {
			t.Errorf("close the connection: %v", err)
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("VLLM_MEDIC_TEST_POSTGRES is not a URL")
	}
	u.Path = "/" + name
	return u.String()
}
