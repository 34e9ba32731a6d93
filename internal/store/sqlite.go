package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

func (s *Store) openSQLite(ctx context.Context, path string) error {
	if path == "" {
		return errors.New("sqlite:// needs a path")
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("the folder %s does not exist or cannot be read; create it, writable for the bot",
			filepath.Dir(path))
	}
	if err := s.lock(path); err != nil {
		return err
	}
	if err := s.openFile(ctx, path); err != nil {
		return errors.Join(err, s.alone.Unlock())
	}
	return nil
}

// lock makes sure that no other process has the database: each would take the other one's claims for those of a process
// that is gone.
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
	if err := adoptSaved(ctx, path, s.opts.Logger); err != nil {
		return err
	}
	// Created here so that nobody else can read it: alert labels can be sensitive.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the operator's own
	if err != nil {
		return fmt.Errorf("the database file: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	busy := s.opts.Timeout / 2 // SQLite does not notice the end of a context while it waits for a lock of another process
	q := url.Values{"_pragma": {
		"journal_mode(WAL)", "synchronous(FULL)",
		"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")", "foreign_keys(1)",
	}, "_txlock": {"immediate"}}
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
	s.read.SetMaxOpenConns(5) // one of them is watchFile's
	err = s.ping(ctx, s.write)
	if err == nil {
		err = s.check(ctx, path)
	}
	if err == nil {
		err = s.watchFile(ctx, path)
	}
	if err != nil {
		return errors.Join(broken(path, err), s.write.Close(), s.read.Close())
	}
	return nil
}

// checkTimeout bounds the check at the start, unless the options say otherwise. It reads the whole file.
const checkTimeout = 30 * time.Second

// errDamaged says that the file is not as SQLite left it.
var errDamaged = errors.New("the file is damaged")

// check reads every page of the file: bytes that a disk or a copy has changed are found before anything is decided by
// them. What they change within the text of a row SQLite cannot know.
func (s *Store) check(ctx context.Context, path string) error {
	limit := cmp.Or(s.opts.CheckTimeout, checkTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begin := time.Now()
	rows, err := s.read.QueryContext(ctx, `PRAGMA quick_check(3)`)
	var found []string
	if err == nil {
		found, err = collect(rows, func(r *sql.Rows) (string, error) {
			var line string
			return line, r.Scan(&line)
		})
	}
	took := time.Since(begin)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		s.opts.Logger.WarnContext(ctx,
			"the database file is too large to be checked for damage at the start; it is used unchecked", "limit", limit,
			"reason", "check it yourself: sqlite3 "+path+" 'PRAGMA quick_check'")
		return nil
	case err != nil:
		return err
	case !slices.Equal(found, []string{"ok"}):
		return fmt.Errorf("%w: %s", errDamaged, strings.Join(found, "; "))
	case took > checkTimeout/10:
		s.opts.Logger.InfoContext(ctx, "the database file was checked for damage", "took", took.Round(time.Millisecond))
	}
	return nil
}

// broken says what to do about a file that cannot be used.
func broken(path string, err error) error {
	if errors.Is(err, errDamaged) || unreadableFile(err) {
		return fmt.Errorf("%s: %w; restore a backup, save what is left with sqlite3's .recover, or move the file and its "+
			"-wal away to begin with an empty store, "+
			"which knows nothing of changes that are still in force", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
