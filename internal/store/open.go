package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed migrations
var migrations embed.FS

// Options are what a store is told beside its URL.
type Options struct {
	// ChannelFor returns the channel of a pool's messages; "" means that nothing is posted.
	ChannelFor func(pool string) string
	// MaxDeliveryAttempts is how often a delivery is tried before it is parked as dead. Default 20.
	MaxDeliveryAttempts int
	Logger              *slog.Logger
}

// Store is a database with the schema of this package. Use Open.
type Store struct {
	opts Options
	// write has one connection on SQLite, so that writers queue instead of failing; read may have many.
	write, read *sql.DB
	postgres    bool
	// alone is held as long as a SQLite store is open: it serves one process.
	alone    *flock.Flock
	wake     *waker
	commits  *committer
	named    seen
	stop     context.CancelFunc
	wg       sync.WaitGroup
	closing  sync.Once
	closeErr error
}

// Open connects to sqlite:///path or postgres://..., brings the schema up to date, and refuses a schema that is newer than this program. The URL
// never stands in an error.
func Open(ctx context.Context, rawURL string, opts Options) (*Store, error) {
	if opts.ChannelFor == nil || opts.Logger == nil {
		return nil, errors.New("store: ChannelFor and Logger are needed")
	}
	if opts.MaxDeliveryAttempts == 0 {
		opts.MaxDeliveryAttempts = 20
	}
	s := &Store{opts: opts, wake: newWaker()}
	scheme, rest, _ := strings.Cut(rawURL, "://")
	var err error
	var listen *pgx.ConnConfig
	switch scheme {
	case "sqlite":
		err = s.openSQLite(ctx, rest)
	case "postgres", "postgresql":
		listen, err = s.openPostgres(ctx, rawURL)
	default:
		err = errors.New("the URL must begin with sqlite:// or postgres://")
	}
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the store: %w", err), s.closeDBs())
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.commits = newCommitter(s)
	s.wg.Go(func() { s.commits.run(run) })
	if listen != nil {
		s.wg.Go(func() { s.listen(run, listen) })
	}
	return s, nil
}

func (s *Store) openSQLite(ctx context.Context, path string) error {
	if path == "" {
		return errors.New("sqlite:// needs a path")
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("the folder %s does not exist or cannot be read; create it, writable for the bot", filepath.Dir(path))
	}
	if err := s.lock(path); err != nil {
		return err
	}
	if err := s.openFile(ctx, path); err != nil {
		return errors.Join(err, s.alone.Unlock())
	}
	return nil
}

// lock makes sure that no other process has the database: each would take the other one's claims for those of a process that is gone.
func (s *Store) lock(path string) error {
	s.alone = flock.New(path+".lock", flock.SetPermissions(0o600))
	switch got, err := s.alone.TryLock(); {
	case err != nil:
		return fmt.Errorf("lock the database file: %w", err)
	case !got:
		return fmt.Errorf("another vllm-medic has %s open; SQLite serves one, use PostgreSQL for more", path)
	}
	return nil
}

func (s *Store) openFile(ctx context.Context, path string) error {
	// Created here so that nobody else can read it: alert labels can be sensitive.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the operator's own
	if err != nil {
		return fmt.Errorf("the database file: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
	if s.write, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	q.Set("_txlock", "deferred")
	q.Add("_pragma", "query_only(1)")
	if s.read, err = sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode()); err != nil {
		return errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(4)
	if err := s.write.PingContext(ctx); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), s.closeDBs())
	}
	return nil
}

func (s *Store) openPostgres(ctx context.Context, rawURL string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		// The error of the parser can hold parts of the URL.
		return nil, errors.New("the postgres:// URL cannot be read")
	}
	s.postgres = true
	s.write = stdlib.OpenDB(*cfg)
	s.write.SetMaxOpenConns(10)
	s.write.SetMaxIdleConns(5)
	s.read = s.write
	if err := s.write.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("PostgreSQL at %s does not answer: %s", cfg.Host, redact(err, cfg.Password)), s.write.Close())
	}
	return cfg, nil
}

func redact(err error, secret string) string {
	if secret == "" {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), secret, "[redacted]")
}

func (s *Store) provider() (*goose.Provider, error) {
	name, dialect := "sqlite", goose.DialectSQLite3
	var opts []goose.ProviderOption
	if s.postgres {
		name, dialect = "postgres", goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	}
	dir, err := fs.Sub(migrations, "migrations/"+name)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, s.write, dir, opts...)
}

// prepare brings the schema up to date, gives incidents that could not be read another look, and frees what a process that is gone had claimed. Only SQLite knows that it is gone; on PostgreSQL the
// leases run out.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if _, err := s.changed(ctx, s.write, `UPDATE incidents SET unreadable = 0 WHERE unreadable = 1`); err != nil {
		return fmt.Errorf("look at unreadable incidents again: %w", err)
	}
	if s.postgres {
		return nil
	}
	for _, table := range []string{"incidents", "deliveries", "messages", "clicks"} {
		if _, err := s.changed(ctx, s.write, "UPDATE "+table+" SET lease_until = 0 WHERE lease_until > 0"); err != nil {
			return fmt.Errorf("free the claims on %s: %w", table, err)
		}
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have > SchemaVersion {
		return fmt.Errorf("the schema has version %d and this program knows %d: a newer vllm-medic has used this database; run that one", have, SchemaVersion)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema to version %d: %w", SchemaVersion, err)
	}
	return nil
}

// SchemaVersion is the version of the schema that this program makes.
const SchemaVersion = 2

// Ping says whether the database answers readers and writers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.read.PingContext(ctx); err != nil {
		return err
	}
	return s.write.PingContext(ctx)
}

// Wake returns a channel that is closed when something may be due. Take it before looking, so that nothing falls in between.
func (s *Store) Wake() <-chan struct{} { return s.wake.channel() }

// Close ends the store after the commits under way. It may be called twice.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.wg.Wait()
		s.closeErr = s.closeDBs()
	})
	return s.closeErr
}

func (s *Store) closeDBs() error {
	if s.postgres {
		return s.write.Close()
	}
	return errors.Join(s.write.Close(), s.read.Close(), s.alone.Unlock())
}
