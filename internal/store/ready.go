package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// NotReadyError says why the store takes no commits. Its text names no server, user or file, so that anybody may see
// it.
type NotReadyError struct {
	Reason string
	Since  time.Time
	// Err is the database's own error, for the log; nil when the database says nothing at all.
	Err error
	// hangs says that the database does not answer, so that asking costs time.
	hangs bool
}

// Error is for people.
func (e *NotReadyError) Error() string { return "the store takes no commits: " + e.Reason }

// Unwrap returns the database's own error.
func (e *NotReadyError) Unwrap() error { return e.Err }

// Ready says whether the store takes commits and answers, and why not: *NotReadyError. It asks for nothing but a sign
// of life, for which it waits as long as the context lets it, and never for the writer.
func (s *Store) Ready(ctx context.Context) error {
	for _, trouble := range []error{
		s.file.check(ctx), s.file.damaged(), s.commits.state.trouble(time.Now()), s.claims.trouble(),
	} {
		if trouble != nil {
			return trouble
		}
	}
	if err := s.ping(ctx, s.read); err != nil {
		return notReady(err)
	}
	return nil
}

// claimFailures is how many claims on deliveries in a row must have failed for the store not to be ready: what is
// delivered is kept, but nobody gets to see it. One failure may be a connection that broke.
const claimFailures = 3

// claimState is how the claims on deliveries go.
type claimState struct {
	mu     sync.Mutex
	failed int
	since  time.Time
	err    error
}

// note keeps how a claim went; one that was given up here says nothing.
func (c *claimState) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.failed, c.err = 0, nil
	case errors.Is(err, context.Canceled):
	default:
		if c.failed++; c.failed == 1 {
			c.since = time.Now()
		}
		c.err = err
	}
}

// trouble is why deliveries are not processed; nil when they are.
func (c *claimState) trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed < claimFailures {
		return nil
	}
	e := notReady(c.err)
	e.Reason, e.Since = "deliveries are kept, but cannot be claimed to be processed: "+e.Reason, c.since
	return e
}

// commitState is what is known of the commits, without asking anybody.
type commitState struct {
	// patience is how long a commit may take.
	patience time.Duration
	logger   *slog.Logger

	mu sync.Mutex
	// since is when the oldest delivery of the commit under way came; zero when none is under way.
	since time.Time
	// failed is how the last commit failed, and size how much it was; nil when it worked.
	failed *NotReadyError
	size   int
}

func (s *commitState) begin(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
}

// end notes how a commit went. The begin of a failure, another reason, and its end are logged.
func (s *commitState) end(ctx context.Context, size int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.failed
	s.since = time.Time{}
	if err == nil {
		s.failed, s.size = nil, 0
		if before != nil {
			s.logger.InfoContext(ctx, "the store takes commits again", "after", time.Since(before.Since).Round(time.Second))
		}
		return
	}
	s.failed, s.size = notReady(err), max(size, s.size)
	if before != nil {
		s.failed.Since = before.Since
	}
	if before == nil || before.Reason != s.failed.Reason {
		s.logger.ErrorContext(ctx, "the store takes no commits; deliveries are answered 503 and sent again by Alertmanager",
			"reason", s.failed.Reason, "err", err)
	}
}

func (s *commitState) failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

func (s *commitState) failedSize() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// trouble is why the store is not ready: the last commit failed, or the one under way does not end. nil when there is
// none.
func (s *commitState) trouble(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.since.IsZero() && now.Sub(s.since) > s.patience:
		return &NotReadyError{
			Reason: fmt.Sprintf("a commit has waited for %s", now.Sub(s.since).Round(time.Second)),
			Since:  s.since,
		}
	case s.failed != nil:
		return s.failed
	}
	return nil
}

// hopeless is why a delivery need not even wait: the database does not answer. Any other failure may be over, and is
// quick.
func (s *commitState) hopeless() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil && s.failed.hangs:
		return s.failed
	case !s.since.IsZero() && time.Since(s.since) > s.patience/2:
		return &NotReadyError{Reason: silent, Since: s.since, hangs: true}
	}
	return nil
}

// silent is the reason when the database says nothing.
const silent = "the database does not answer"

// What PostgreSQL calls its errors (postgresql.org/docs/current/errcodes-appendix.html).
const (
	readOnlyTransaction = "25006"
	diskFull            = "53100"
	queryCanceled       = "57014"
)

// serverReasons name the errors of PostgreSQL that somebody has to do something about.
var serverReasons = map[string]string{
	readOnlyTransaction: "the database is read-only",
	diskFull:            "the disk of the database is full",
	"28P01":             notLetIn,
	"28000":             notLetIn,
	"53300":             "the database has too many connections already",
}

const notLetIn = "the database does not accept the bot's user or password"

// reasons name the primary result codes of SQLite (sqlite.org/rescode.html), the low byte of each code.
var reasons = map[int]string{
	5:             "another process has locked the database file",
	6:             "another process has locked the database file",
	8:             "the database file is read-only",
	10:            "the disk refuses writes; it may be full or failing",
	sqliteCorrupt: "the database file is damaged",
	13:            "the disk is full",
	14:            "the database file cannot be opened",
	sqliteNotADB:  "the database file is damaged",
}

// notReady says in one line, without names, why the database failed.
func notReady(err error) *NotReadyError {
	if known, ok := errors.AsType[*NotReadyError](err); ok {
		again := *known // its fields are noted elsewhere, too
		return &again
	}
	e := &NotReadyError{Reason: "the log says why", Since: time.Now(), Err: err}
	var pg *pgconn.PgError
	var lite *sqlite.Error
	var network net.Error
	switch {
	case errors.As(err, &pg) && serverReasons[pg.Code] != "":
		e.Reason = serverReasons[pg.Code]
	case errors.As(err, &pg) && pg.Code == queryCanceled, errors.Is(err, ErrTimeout),
		errors.Is(err, context.DeadlineExceeded):
		e.Reason, e.hangs = silent, true
	case errors.As(err, &lite) && reasons[lite.Code()&0xff] != "":
		e.Reason = reasons[lite.Code()&0xff]
	case errors.As(err, &network):
		e.Reason = "the database cannot be reached"
	}
	return e
}
