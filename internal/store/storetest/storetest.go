// Package storetest opens fresh stores for tests: SQLite in a temporary folder, and PostgreSQL in a database of its own
// on the server of test/postgres.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/test/postgres"
)

// Engine opens fresh, empty databases of one kind.
type Engine struct {
	Name string
	// URL makes a fresh database that is gone after the test. On SQLite it has the present schema already.
	URL func(t testing.TB) string
	// Bare is URL without any schema.
	Bare func(t testing.TB) string
}

// Engines lists SQLite first, and then PostgreSQL, whose URL leaves a test out of a small run: it is asked for in a
// subtest of its own.
func Engines() []Engine {
	return []Engine{
		{Name: "sqlite", URL: SQLite, Bare: func(t testing.TB) string {
			return "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
		}},
		{Name: "postgres", URL: PostgreSQL, Bare: PostgreSQL},
	}
}

// PostgreSQL makes a fresh database without any schema for a medium test, and returns its URL. It is gone after the
// test. The package has a TestMain that calls postgres.Main.
func PostgreSQL(t testing.TB) string {
	t.Helper()
	return database(t, postgres.Server(t))
}

// empty is a SQLite file without data. Migrating a new one takes longer than most of what is done with it, so it is
// made once and copied.
var empty = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "medic.db")
	s, err := store.Open(context.Background(), "sqlite://"+path, store.Options{
		ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path) //nolint:gosec // the file was made above
})

// SQLite makes a fresh SQLite database with the present schema and returns its URL. It is gone after the test.
func SQLite(t testing.TB) string {
	t.Helper()
	file, err := empty()
	if err != nil {
		t.Fatalf("make an empty SQLite database: %v", err)
	}
	path := filepath.Join(t.TempDir(), "medic.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite://" + path
}

// Open opens a store on the URL with a channel for every pool, and closes it after the test. change may change the
// options before.
func Open(t testing.TB, rawURL string, change ...func(*store.Options)) *store.Store {
	t.Helper()
	opts := store.Options{
		ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler),
		MaxDeliveryAttempts: 3,
	}
	for _, fn := range change {
		fn(&opts)
	}
	s, err := store.Open(t.Context(), rawURL, opts)
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
	made, drop, err := create(ctx, server)
	if err != nil {
		t.Fatalf("make a database on PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := drop(ctx); err != nil {
			t.Error(err)
		}
	})
	return made
}

// create makes a database whose name nobody else has or had. It needs nothing on the server, and leaves nothing there
// when it is dropped.
func create(ctx context.Context, server string) (made string, drop func(context.Context) error, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("the value is not a URL")
	}
	name := "medic_test_" + strings.ToLower(rand.Text())
	// Nobody can be connected to template0, so nobody can hold this up.
	if err := do(ctx, server, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return "", nil, err
	}
	u.Path = "/" + name
	return u.String(), func(ctx context.Context) error {
		return do(
			ctx, server, "DROP DATABASE "+name+" WITH (FORCE)",
		)
	}, nil
}

// do runs one statement on a connection of its own.
func do(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close(ctx))
	}
	return conn.Close(ctx)
}
