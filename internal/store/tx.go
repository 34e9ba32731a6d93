package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// querier is a database or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// q writes the placeholders of the dialect: queries in this package have ?, PostgreSQL wants $1.
func (s *Store) q(query string) string {
	if !s.postgres {
		return query
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// skipLocked lets several replicas claim side by side on PostgreSQL; SQLite has one writer.
func (s *Store) skipLocked() string {
	if s.postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// inTx runs fn in a transaction of the writer and commits when it returns nil.
func (s *Store) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("roll back: %w", e))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// changed runs a statement and says how many rows it changed.
func (s *Store) changed(ctx context.Context, db querier, query string, args ...any) (int64, error) {
	res, err := db.ExecContext(ctx, s.q(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// sqliteUnique and sqlitePrimaryKey are SQLite's extended result codes (sqlite.org/rescode.html).
const (
	sqliteUnique     = 2067
	sqlitePrimaryKey = 1555
)

// duplicate says whether a statement failed because such a row exists, and in which index.
func duplicate(err error) (string, bool) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return pg.ConstraintName, true
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) && (lite.Code() == sqliteUnique || lite.Code() == sqlitePrimaryKey) {
		return lite.Error(), true
	}
	return "", false
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
