package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// texts makes arguments into what PostgreSQL stores. Its texts have no NUL and are UTF-8, which the labels of an alert
// or the words of another program need not be: a delivery whose failure could not be noted would be tried for ever.
func (s *Store) texts(args []any) []any {
	if !s.postgres {
		return args
	}
	cloned := false
	for n, a := range args {
		text, is := a.(string)
		if !is || utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
			continue
		}
		if !cloned {
			args, cloned = slices.Clone(args), true
		}
		args[n] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	}
	return args
}

// skipLocked lets several replicas claim side by side on PostgreSQL; SQLite has one writer.
func (s *Store) skipLocked() string {
	if s.postgres {
		return " FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// ErrTimeout says that the database did not answer in time. What was asked may have happened.
var ErrTimeout = errors.New("the database did not answer in time")

// defaultTimeout bounds a transaction or a query. The longest take milliseconds; a connection that is dead never
// answers.
const defaultTimeout = 10 * time.Second

// timeout is what bounds a transaction or a query.
func (s *Store) timeout() time.Duration { return cmp.Or(s.opts.Timeout, defaultTimeout) }

// ping asks for a sign of life.
func (s *Store) ping(ctx context.Context, db *sql.DB) error {
	ctx, cancel := s.bound(ctx, db)
	defer cancel()
	return s.late(ctx, db.PingContext(ctx))
}

// bound gives a transaction or a query its deadline, whatever the caller's own is. What runs inside of a transaction
// has the transaction's.
func (s *Store) bound(ctx context.Context, db querier) (context.Context, context.CancelFunc) {
	if _, inside := db.(*sql.Tx); inside {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.timeout(), ErrTimeout)
}

// late names an error that comes from the deadline of bound, and notes what every error says about the connections.
func (s *Store) late(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s.renew(err)
	s.file.note(ctx, err)
	if errors.Is(context.Cause(ctx), ErrTimeout) && !errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// inTx runs fn in a transaction of the writer and commits when it returns nil. The context that fn gets has the
// transaction's deadline; fn must use no other.
func (s *Store) inTx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := s.bound(ctx, s.write)
	defer cancel()
	return s.late(ctx, s.transact(ctx, s.write, nil, fn))
}

// inSnapshot runs fn in a transaction that only reads, and in which every query sees the same state.
func (s *Store) inSnapshot(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if s.postgres {
		opts.Isolation = sql.LevelRepeatableRead // SQLite's transactions do it by themselves
	}
	ctx, cancel := s.bound(ctx, s.read)
	defer cancel()
	return s.late(ctx, s.transact(ctx, s.read, opts, fn))
}

// transact runs fn in a transaction on a connection of db. A transaction that does not end as it should takes its
// connection with it: SQLite leaves one open whose commit it refuses, and what is written next on that connection would
// be part of it, and lost.
func (s *Store) transact(ctx context.Context, db *sql.DB, opts *sql.TxOptions,
	fn func(ctx context.Context, tx *sql.Tx) error,
) error {
	if db == s.write {
		if err := s.file.check(ctx); err != nil {
			return err
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err = s.transactOn(ctx, conn, db == s.write && !s.postgres, opts, fn)
	// The transaction's error counts; a connection that is given up is closed already.
	if e := conn.Close(); e != nil && !errors.Is(e, sql.ErrConnDone) && err == nil {
		return fmt.Errorf("give a connection back: %w", e)
	}
	if err == nil && db == s.write && !s.postgres {
		s.statements.prepare(ctx, db)
	}
	return err
}

func (s *Store) transactOn(ctx context.Context, conn *sql.Conn, prepared bool, opts *sql.TxOptions,
	fn func(ctx context.Context, tx *sql.Tx) error,
) error {
	tx, err := conn.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if prepared {
		ctx = context.WithValue(ctx, ofWriter{}, true)
	}
	ended := false
	defer func() {
		if !ended { // fn panics, or the transaction is still open
			_ = tx.Rollback()
			giveUp(conn)
		}
	}()
	err = s.limitTx(ctx, tx)
	if err == nil {
		err = fn(ctx, tx)
	}
	if err != nil {
		e := tx.Rollback()
		if ended = e == nil || errors.Is(e, sql.ErrTxDone); !ended {
			return errors.Join(err, fmt.Errorf("roll back: %w", e))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	ended = true
	return nil
}

// giveUp closes a connection instead of giving it back.
func giveUp(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// changed runs a statement and says how many rows it changed.
func (s *Store) changed(ctx context.Context, db querier, query string, args ...any) (int64, error) {
	res, err := s.exec(ctx, db, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// exec runs a statement.
func (s *Store) exec(ctx context.Context, db querier, query string, args ...any) (sql.Result, error) {
	if db == querier(s.write) {
		if err := s.file.check(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := s.bound(ctx, db)
	defer cancel()
	var res sql.Result
	var err error
	if st, unbound := s.prepared(ctx, db, query); st != nil {
		res, err = st.ExecContext(unbound, args...)
	} else {
		res, err = db.ExecContext(ctx, s.q(query), s.texts(args)...)
	}
	return res, s.late(ctx, err)
}

// ofWriter marks the context of a transaction of SQLite's writer, on which statements are prepared.
type ofWriter struct{}

// prepared returns the statement to use in a transaction on SQLite, or nil, and the context for it: a context that can
// end costs SQLite's driver a goroutine for each statement, and a statement in a transaction of the one writer waits
// for nobody. The transaction keeps its deadline.
func (s *Store) prepared(ctx context.Context, db querier, query string) (*sql.Stmt, context.Context) {
	tx, inside := db.(*sql.Tx)
	if !inside || ctx.Value(ofWriter{}) == nil || ctx.Err() != nil {
		return nil, ctx
	}
	ctx = context.WithoutCancel(ctx)
	return s.statements.in(ctx, tx, query), ctx
}

func (s *Store) query(ctx context.Context, db querier, query string, args ...any) (*sql.Rows, error) {
	if st, unbound := s.prepared(ctx, db, query); st != nil {
		return st.QueryContext(unbound, args...)
	}
	return db.QueryContext(ctx, s.q(query), s.texts(args)...)
}

// row reads the one row of a query into dest, or answers sql.ErrNoRows.
func (s *Store) row(ctx context.Context, db querier, dest []any, query string, args ...any) error {
	ctx, cancel := s.bound(ctx, db)
	defer cancel()
	if st, unbound := s.prepared(ctx, db, query); st != nil {
		return s.late(ctx, st.QueryRowContext(unbound, args...).Scan(dest...))
	}
	return s.late(ctx, db.QueryRowContext(ctx, s.q(query), s.texts(args)...).Scan(dest...))
}

// list reads every row of a query.
func list[T any](ctx context.Context, s *Store, db querier, scan func(*sql.Rows) (T, error), query string,
	args ...any,
) ([]T, error) {
	ctx, cancel := s.bound(ctx, db)
	defer cancel()
	rows, err := s.query(ctx, db, query, args...)
	if err != nil {
		return nil, s.late(ctx, err)
	}
	out, err := collect(rows, scan)
	return out, s.late(ctx, err)
}

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close() //nolint:errcheck // rows.Err is checked; Close after a full read cannot lose anything
	out := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// SQLite's result codes, and extended ones (sqlite.org/rescode.html).
const (
	sqliteCorrupt    = 11
	sqliteNotADB     = 26
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
