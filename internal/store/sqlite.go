package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

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
	busy := s.opts.Timeout / 2 // SQLite does not notice the end of a context while it waits for a lock of another process
	q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")", "foreign_keys(1)"}, "_txlock": {"immediate"}}
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
	if err := s.ping(ctx, s.write); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), s.write.Close(), s.read.Close())
	}
	return nil
}
