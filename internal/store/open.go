package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

//go:embed migrations
var migrations embed.FS

// Options are what a store is told beside its URL.
type Options struct {
	// ChannelFor returns the channel of a pool's messages in incident.SinkSlack; "" means that nothing is posted there.
	ChannelFor func(pool string) string
	// Sinks are the other sinks, by name: each gets every incident.
	Sinks []string
	// Storm is the rate above which new incidents fold into a digest in incident.SinkSlack. Other sinks get everything.
	Storm incident.Storm
	// MaxDeliveryAttempts is how often a delivery is tried before it is parked as dead. Default 20.
	MaxDeliveryAttempts int
	// FreeCuts is how often the claim on a delivery may be cut off in a row, by the end of its process, before it waits;
	// three times later it is given up. Default 5. Rehearsals that end the process at every instruction raise it.
	FreeCuts int
	// Timeout bounds each transaction and each query. Default 10 s. A delivery gets half of it.
	Timeout time.Duration
	// CheckTimeout bounds the check of a SQLite file for damage at the start; a larger one is used unchecked, and that is
	// logged. Default 30 s.
	CheckTimeout time.Duration
	// Clock is the machine's clock. nil: time.Now. On PostgreSQL it is only compared with the server's.
	Clock func() time.Time
	// URL returns the URL as it is now, before each new connection to PostgreSQL, of which the credentials are taken; nil:
	// it is always the one that Open is given.
	URL func() string
	// Beat is called whenever the committer comes round, whether its commits work or not. nil: nobody wants to know.
	Beat   func()
	Logger *slog.Logger
	// Panics logs and counts what was caught; nil only catches.
	Panics *rescue.Log
}

// Store is a database with the schema of this package. Use Open.
type Store struct {
	opts Options
	// write has one connection on SQLite, so that writers queue instead of failing; read may have many.
	write, read *sql.DB
	postgres    bool
	// alone is held as long as a SQLite store is open: it serves one process.
	alone *flock.Flock
	// file watches SQLite's files, on which keep has a connection; nil on PostgreSQL.
	file   *sqliteFile
	keep   *sql.Conn
	server *pgx.ConnConfig // of PostgreSQL, as at the start
	access access
	// pooled says that a pooler is in front of PostgreSQL; see pooler.go.
	pooled  atomic.Bool
	wake    *waker
	commits *committer
	claims  claimState
	clock   clock
	named   seen
	// statements are prepared on SQLite's writer.
	statements statements
	stop       context.CancelFunc
	wg         sync.WaitGroup
	closing    sync.Once
	closeErr   error
}

// Open connects to sqlite:///path or postgres://..., brings the schema up to date, and refuses a schema that is newer
// than this program. The URL never stands in an error.
func Open(ctx context.Context, rawURL string, opts Options) (*Store, error) {
	if opts.ChannelFor == nil || opts.Logger == nil {
		return nil, errors.New("store: ChannelFor and Logger are needed")
	}
	if opts.MaxDeliveryAttempts == 0 {
		opts.MaxDeliveryAttempts = 20
	}
	if opts.FreeCuts == 0 {
		opts.FreeCuts = 5
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Beat == nil {
		opts.Beat = func() {}
	}
	opts.Timeout = cmp.Or(opts.Timeout, defaultTimeout)
	s := &Store{opts: opts, wake: newWaker(), clock: clock{machine: opts.Clock}}
	scheme, rest, _ := strings.Cut(rawURL, "://")
	var err error
	switch scheme {
	case "sqlite":
		err = s.openSQLite(ctx, rest)
	case "postgres", "postgresql":
		err = s.openPostgres(ctx, rawURL)
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
	s.background(run, s.commits.run, s.commits.end)
	s.background(run, s.watchClock, nil)
	if s.postgres && !s.pooled.Load() {
		s.background(run, s.listen, nil)
	}
	return s, nil
}

// Part is the part of the program for whose work a panic is counted.
const Part = "store"

// background runs a loop until the context ends, and begins it again when it panics; then end, if there is one.
func (s *Store) background(ctx context.Context, loop func(context.Context), end func()) {
	s.wg.Go(func() {
		if end != nil {
			defer end()
		}
		_ = s.opts.Panics.Keep(ctx, Part, func(ctx context.Context) error {
			loop(ctx)
			return nil
		})
	})
}

func (s *Store) provider(db *sql.DB) (*goose.Provider, error) {
	name, dialect := "sqlite", goose.DialectSQLite3
	var opts []goose.ProviderOption
	if s.postgres {
		name, dialect = "postgres", goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		if !s.pooled.Load() { // see migrating
			opts = append(opts, goose.WithSessionLocker(locker))
		}
	}
	dir, err := fs.Sub(migrations, "migrations/"+name)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, dir, opts...)
}

// prepare brings the schema up to date, tries incidents that could not be read once more, and frees what a process
// that is gone had claimed. Only SQLite knows that it is gone; on PostgreSQL the leases run out.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.chainOld(ctx); err != nil {
		return fmt.Errorf("chain the journals of earlier incidents: %w", err)
	}
	if err := s.measureClock(ctx); err != nil {
		return err
	}
	if err := s.logHeadsAtStart(ctx); err != nil {
		return err
	}
	if err := s.heal(ctx); err != nil { // the clock may have been set back since the last process ended
		return err
	}
	if _, err := s.changed(ctx, s.write, `UPDATE incidents SET unreadable = 0 WHERE unreadable = 1`); err != nil {
		return fmt.Errorf("look at unreadable incidents again: %w", err)
	}
	if err := s.boundStored(ctx); err != nil {
		return fmt.Errorf("bound what earlier versions have stored: %w", err)
	}
	if s.postgres {
		return nil
	}
	var dead map[int64]string
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		dead, err = s.cutOff(ctx, tx, s.Now(), math.MaxInt64)
		return err
	})
	if err != nil {
		return fmt.Errorf("free the claims on deliveries: %w", err)
	}
	for id, why := range dead {
		s.gaveUp(ctx, id, why)
	}
	for _, table := range leased {
		// 1 is over, and still tells that it was not given back.
		if _, err := s.changed(ctx, s.write, "UPDATE "+table+" SET lease_until = 1 WHERE lease_until > 1"); err != nil {
			return fmt.Errorf("free the claims on %s: %w", table, err)
		}
	}
	return nil
}

// migrateTimeout bounds the change of a schema. It may have to go over everything that is stored, and other replicas
// wait for it.
const migrateTimeout = 30 * time.Minute

func (s *Store) migrate(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, migrateTimeout, ErrTimeout)
	defer cancel()
	db := s.write
	if s.postgres {
		db = s.openServer(s.server, nil) // without the limits of statements
		defer func() { err = errors.Join(err, db.Close()) }()
	}
	return s.migrating(ctx, db, func() error { return s.migrateWith(ctx, db) })
}

func (s *Store) migrateWith(ctx context.Context, db *sql.DB) error {
	p, err := s.provider(db)
	if err != nil {
		return err
	}
	want, err := SchemaVersion()
	if err != nil {
		return err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have > want {
		return fmt.Errorf("the schema has version %d and this program knows %d: a newer vllm-medic has used this database; "+
			"run that one", have, want)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema to version %d: %w", want, err)
	}
	return nil
}

// SchemaVersion is the version of the schema that this program makes: the number of its last migration, which both
// databases have.
func SchemaVersion() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/sqlite/*.sql")
	if err != nil {
		return 0, fmt.Errorf("list the migrations: %w", err)
	}
	if len(names) == 0 {
		return 0, errors.New("this program was built without migrations")
	}
	return goose.NumericComponent(names[len(names)-1])
}

// Wake returns a channel that is closed when something may be due. Take it before looking, so that nothing falls in
// between.
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
	return errors.Join(s.statements.close(), s.keep.Close(), s.write.Close(), s.read.Close(), s.alone.Unlock())
}
