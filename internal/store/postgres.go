package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// connectTimeout bounds the making of a connection, unless the URL has a connect_timeout.
	connectTimeout = 5 * time.Second
	// maxConns and idleConns bound the connections of one process. listen has one more.
	maxConns, idleConns = 10, 5
	// connLife is how long a connection is used. What moved behind a name or a balancer is found in this time even when
	// nothing fails.
	connLife = 30 * time.Minute
)

// keepAlive finds out about a server that is gone without a word, also on connections on which nothing is asked.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// serverConfig reads a URL, whose parts must not stand in an error, and gives the connections their limits.
func serverConfig(rawURL string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil, errors.New("the postgres:// URL cannot be read")
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, connectTimeout)
	cfg.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	return cfg, nil
}

func (s *Store) openPostgres(ctx context.Context, rawURL string) error {
	cfg, err := serverConfig(rawURL)
	if err != nil {
		return err
	}
	s.postgres, s.server = true, cfg
	s.access.url = func() string { return rawURL }
	if s.opts.URL != nil {
		s.access.url = s.opts.URL
	}
	s.write = s.openServer(cfg, s.limit)
	s.write.SetMaxOpenConns(maxConns)
	s.write.SetMaxIdleConns(idleConns)
	s.write.SetConnMaxLifetime(connLife)
	s.read = s.write
	if err := s.ping(ctx, s.write); err != nil {
		return errors.Join(fmt.Errorf("PostgreSQL at %s does not answer: %s", cfg.Host,
			s.access.hide(err)), s.write.Close())
	}
	if err := s.checkPooler(ctx); err != nil {
		return errors.Join(err, s.write.Close())
	}
	return nil
}

// limit makes the server itself end what nobody waits for any more: the locks of a replica that is cut off must not
// hold up the others. It is said on the connection and not at its start, because a PgBouncer refuses parameters that it
// does not know.
func (s *Store) limit(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, ErrTimeout) // database/sql may connect without a deadline
	defer cancel()
	ms := s.timeout().Milliseconds()
	return conn.PgConn().Exec(ctx,
		fmt.Sprintf("SET statement_timeout = %d; SET idle_in_transaction_session_timeout = %d", ms, ms)).Close()
}

// renew gives up the idle connections when the server they lead to only reads: after a failover the name leads to
// another one, and a setting of the database is asked for only when a connection begins.
func (s *Store) renew(err error) {
	var pg *pgconn.PgError
	if s.postgres && errors.As(err, &pg) && pg.Code == readOnlyTransaction {
		s.write.SetMaxIdleConns(0)
		s.write.SetMaxIdleConns(idleConns)
	}
}
