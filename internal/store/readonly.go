package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Reader reads a store that may belong to a running bot, and cannot write to it. Use OpenReadOnly. It is safe for
// concurrent use.
type Reader struct {
	s *Store
}

// OpenReadOnly connects to sqlite:///path or postgres://... to read only: nothing is created, migrated or locked, so it
// works beside a running bot as well as after its end. It refuses a store that no bot has used, and a schema of another
// version. The URL never stands in an error.
func OpenReadOnly(ctx context.Context, rawURL string) (*Reader, error) {
	r := &Reader{s: &Store{}}
	scheme, rest, _ := strings.Cut(rawURL, "://")
	var err error
	switch scheme {
	case "sqlite":
		err = r.openFile(rest)
	case "postgres", "postgresql":
		err = r.openServer(rawURL)
	default:
		err = errors.New("the URL must begin with sqlite:// or postgres://")
	}
	if err == nil {
		err = r.known(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the store: %w", err), r.Close())
	}
	return r, nil
}

// openFile reads a SQLite file. Its write-ahead log may hold more than the file does, so the folder must let the log's
// index be made.
func (r *Reader) openFile(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w; is store.url the one of the bot, and is this its machine?", err)
	}
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
	var err error
	r.s.read, err = sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	return err
}

func (r *Reader) openServer(rawURL string) error {
	cfg, err := serverConfig(rawURL)
	if err != nil {
		return err
	}
	r.s.postgres, r.s.access.url = true, func() string { return rawURL }
	// Not as a parameter of the start, which a PgBouncer refuses. Behind a pooler it would make the connection's next
	// client read only, so there it is only the methods of a Reader that write nothing.
	r.s.read = r.s.openServer(cfg, func(ctx context.Context, conn *pgx.Conn) error {
		return errors.Join(r.s.limit(ctx, conn), conn.PgConn().Exec(ctx, `SET default_transaction_read_only = on`).Close())
	})
	return nil
}

// known asks whether the schema is the one that this program reads.
func (r *Reader) known(ctx context.Context) error {
	var have sql.NullInt64
	err := r.s.row(ctx, r.s.read, []any{&have}, `SELECT MAX(version_id) FROM goose_db_version`)
	switch {
	case err != nil && r.s.postgres:
		return fmt.Errorf("PostgreSQL does not answer, or no vllm-medic has used this database: %s",
			r.s.access.hide(err))
	case err != nil:
		return fmt.Errorf("the file cannot be read, or no vllm-medic has used it: %w", err)
	}
	want, err := SchemaVersion()
	if err == nil && have.Int64 != want {
		return fmt.Errorf("the schema has version %d and this program reads version %d; use the vllm-medic that runs the bot",
			have.Int64, want)
	}
	return err
}

// Incidents lists incidents without their journals, the newest first.
func (r *Reader) Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error) {
	return r.s.Incidents(ctx, f)
}

// IncidentWithJournal returns one incident with its whole journal, or incident.ErrNotFound.
func (r *Reader) IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error) {
	return r.s.IncidentWithJournal(ctx, id)
}

// Close ends the connections. It may be called twice.
func (r *Reader) Close() error {
	if r.s.read == nil {
		return nil
	}
	return r.s.read.Close()
}
