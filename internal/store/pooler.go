package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/lock"
)

// A pooler such as PgBouncer may give each transaction another connection to the server. What belongs to a connection
// is then somebody else's, or gone: prepared statements, SET, LISTEN, locks of a session. Behind one the store uses
// none of them: statements are sent anew each time, limits are those of a transaction, replicas find each other's work
// at their next sweep, and the lock on migrations is a transaction's.

// errPooler drops a connection that was made before it was known that a pooler is in between; database/sql makes
// another.
var errPooler = driver.ErrBadConn

// openServer makes a pool of connections to PostgreSQL. Each is prepared by limit, where no pooler is in between.
func (s *Store) openServer(cfg *pgx.ConnConfig, limit func(context.Context, *pgx.Conn) error) *sql.DB {
	return stdlib.OpenDB(*cfg, stdlib.OptionBeforeConnect(func(ctx context.Context, c *pgx.ConnConfig) error {
		if err := s.access.renew(ctx, c); err != nil {
			return err
		}
		if s.pooled.Load() && c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			c.DefaultQueryExecMode = pgx.QueryExecModeExec
		}
		return nil
	}), stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		known := s.pooled.Load()
		behind, err := behindPooler(ctx, conn)
		switch {
		case err != nil:
			return errors.Join(err, conn.Close(ctx))
		case behind && !known:
			s.pooled.Store(true)
			return errors.Join(errPooler, conn.Close(ctx))
		case known || limit == nil:
			return nil
		}
		return limit(ctx, conn)
	}))
}

// behindPooler says whether the server that answers is another one than greeted: a pooler greets with a number of its
// own in place of that of the server's process, with which queries are canceled.
func behindPooler(ctx context.Context, conn *pgx.Conn) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, ErrTimeout) // database/sql may connect without a deadline
	defer cancel()
	answers, err := conn.PgConn().Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return false, err
	}
	if len(answers) != 1 || len(answers[0].Rows) != 1 {
		return false, errors.New("the server does not say which of its processes answers")
	}
	return string(answers[0].Rows[0][0]) != strconv.FormatUint(uint64(conn.PgConn().PID()), 10), nil
}

// checkPooler refuses a pooler that does not keep a transaction together.
func (s *Store) checkPooler(ctx context.Context) error {
	if !s.pooled.Load() {
		return nil
	}
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.limitTx(ctx, tx) })
	if err != nil {
		return fmt.Errorf("the pooler in front of PostgreSQL (such as PgBouncer) takes no transactions: set its pool_mode "+
			"to transaction or session, not statement: %s", s.access.hide(err))
	}
	s.opts.Logger.InfoContext(ctx, "a pooler is in front of PostgreSQL: no prepared statements and no LISTEN are used",
		"reason", "replicas find each other's work at their next sweep")
	return nil
}

// limitTx is limit for one transaction, behind a pooler: what is set for a connection would stay for its next client.
func (s *Store) limitTx(ctx context.Context, tx *sql.Tx) error {
	if !s.postgres || !s.pooled.Load() {
		return nil
	}
	ms := strconv.FormatInt(s.timeout().Milliseconds(), 10)
	_, err := tx.ExecContext(ctx, `SELECT set_config('statement_timeout', $1, true),
		set_config('idle_in_transaction_session_timeout', $1, true)`, ms)
	return err
}

// migrating runs fn while no other replica migrates. Behind a pooler the lock is that of a transaction, which keeps its
// connection; everywhere else, and in earlier versions, goose takes the same lock for its session.
func (s *Store) migrating(ctx context.Context, db *sql.DB, fn func() error) (err error) {
	if !s.postgres || !s.pooled.Load() {
		return fn()
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if _, err := tx.ExecContext(ctx,
		`SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`,
	); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, lock.DefaultLockID); err != nil {
		return fmt.Errorf("wait for other replicas that migrate: %w", err)
	}
	return fn()
}
