package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// Why a SQLite store takes no commits although the database itself raises no objection, and what to do.
const (
	fileGone = "the database file was deleted or replaced while the bot runs; put it back, or restart the bot " +
		"(docs/operations.md, Backup and restore)"
	fileShrunk = "the database file was cut off while the bot runs; restore a backup and restart the bot " +
		"(docs/operations.md, Backup and restore)"
	fileDamaged = "the database file is damaged; restore a backup and restart the bot " +
		"(docs/operations.md, Backup and restore)"
)

// savedSuffix is what the name of the copy ends in that the bot makes of its data when its file is gone.
const savedSuffix = ".saved"

// beside are the ends of the names of SQLite's files: the database, its write-ahead log, and that one's index.
var beside = []string{"", "-wal", "-shm"}

// sqliteFile tells whether the files that the connections have open are still those that the path leads to. SQLite
// itself goes on with files that nobody can find any more, and everything is gone at the next start. The files are
// never opened here: closing one of them would take SQLite's locks away (sqlite.org/howtocorrupt.html, 2.2).
type sqliteFile struct {
	path   string
	logger *slog.Logger
	// pages asks for the size that the database says it has, in bytes.
	pages func(ctx context.Context) (int64, error)
	// save writes a copy of all that the connections see, merge writes what is in the write-ahead log into the file.
	save  func(ctx context.Context, to string) error
	merge func(ctx context.Context) error
	// background runs a function that the end of the store waits for.
	background func(fn func())

	// rescuing lets one copy be made at a time: a file may go again before the first one is complete.
	rescuing sync.Mutex

	mu     sync.Mutex
	opened map[string]os.FileInfo
	// largest is the largest size that the file had; cut is what was seen when it was cut off, which only a restart takes
	// back: what is written over it makes it as large as it was, with holes.
	largest int64
	cut     error
	// gone is why the files are not those that were opened, nil when they are; damage is the first sign that what they
	// hold cannot be read, which only a restart takes back.
	gone, damage *NotReadyError
	// saving is when the data were saved last, or are being saved, since the files are gone; copied that there is a copy.
	saving time.Time
	copied bool
}

// remember notes the files as they are now. The database has been read, so all of them are there.
func (f *sqliteFile) remember() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = map[string]os.FileInfo{}
	for _, end := range beside {
		info, err := os.Stat(f.path + end)
		if err != nil {
			return fmt.Errorf("the database file: %w", err)
		}
		f.opened[end] = info
	}
	f.largest = f.opened[""].Size()
	return nil
}

// check is why nothing must be committed, *NotReadyError, or nil. It costs as many calls of stat as there are files.
// The begin and the end of a loss are logged; at its begin the data are saved.
func (f *sqliteFile) check(ctx context.Context) error {
	if f == nil || f.opened == nil {
		return nil // PostgreSQL, or a store that is being opened
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	reason, err := f.compare(ctx)
	before := f.gone
	switch {
	case reason == "" && before != nil:
		f.gone, f.saving = nil, time.Time{}
		f.logger.InfoContext(ctx, "the database file is back", "after", time.Since(before.Since).Round(time.Second))
		f.forget(ctx)
	case reason != "" && before == nil:
		f.gone = &NotReadyError{Reason: reason, Since: time.Now(), Err: err}
		f.logger.ErrorContext(ctx, "the database file isn't the one that was opened; nothing is committed any more, and "+
			"deliveries are answered 503", "err", err, "reason", reason)
	}
	if f.gone == nil {
		return nil
	}
	if f.saving.IsZero() {
		f.saving = time.Now()
		f.background(func() { f.rescue(context.WithoutCancel(ctx)) })
	}
	return f.gone
}

// compare is the reason, or nothing, and what was seen.
func (f *sqliteFile) compare(ctx context.Context) (string, error) {
	if f.cut != nil {
		return fileShrunk, f.cut
	}
	for _, end := range beside {
		info, err := os.Stat(f.path + end)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fileGone, err
		case err != nil:
			continue // a folder that cannot be searched for a while: SQLite needs no path for what it has open
		case !os.SameFile(info, f.opened[end]):
			return fileGone, fmt.Errorf("%s is another file", f.path+end)
		case end != "":
			continue
		case info.Size() >= f.largest:
			f.largest = info.Size()
			continue
		}
		if err := f.shrunk(ctx, info.Size()); err != nil {
			return fileShrunk, err
		}
		f.largest = info.Size()
	}
	return "", nil
}

// shrunk is what is wrong with a file that is smaller than it was: nothing when it has the size that the database says.
// Only VACUUM makes it smaller, and leaves a page at least.
func (f *sqliteFile) shrunk(ctx context.Context, size int64) error {
	cut := fmt.Errorf("%s has %d bytes and had %d", f.path, size, f.largest)
	if size > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		switch said, err := f.pages(ctx); {
		case unreadableFile(err):
		case err != nil:
			return errors.Join(cut, err) // asked again at the next check
		case size >= said:
			return nil
		}
	}
	f.cut = cut
	return cut
}

// rescue saves what the connections still see, once: nothing is committed after that, so that is all. The file,
// wherever it is by now, takes what is in the write-ahead log, which must not be read as that of a file that was put
// in its place. When only the log or its index is gone, that is enough.
func (f *sqliteFile) rescue(ctx context.Context) {
	f.rescuing.Lock()
	defer f.rescuing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f.mu.Lock()
	cut := f.cut != nil
	f.mu.Unlock()
	var err error
	if !cut {
		err = f.merge(ctx)
	}
	info, missing := os.Stat(f.path)
	if !cut && err == nil && missing == nil && os.SameFile(info, f.opened[""]) {
		f.logger.WarnContext(ctx, "all that the bot knows was written to the database file; restart the bot")
		return
	}
	to := f.path + savedSuffix
	if err := errors.Join(err, f.copyTo(ctx, to)); err != nil {
		f.logger.ErrorContext(ctx, "what the bot knows could not be saved; restore a backup and restart the bot", "err", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copied = true
	if f.gone == nil { // the file came back while the copy was made
		f.forget(ctx)
		return
	}
	f.logger.WarnContext(ctx, "all that the bot knows was saved; restart the bot: it takes the copy when the database "+
		"file is missing or empty", "file", to)
}

// copyTo makes the copy under another name first, so that one with the right name is complete.
func (f *sqliteFile) copyTo(ctx context.Context, to string) error {
	if err := os.RemoveAll(to + ".part"); err != nil {
		return err
	}
	if err := f.save(ctx, to+".part"); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}

// forget removes a copy that is older than the file, which is back. A copy that is still being made removes itself.
func (f *sqliteFile) forget(ctx context.Context) {
	if !f.copied {
		return
	}
	f.copied = false
	if err := os.Remove(f.path + savedSuffix); err != nil {
		f.logger.WarnContext(ctx, "the saved copy of the database could not be removed; remove it", "err", err)
	}
}

// note keeps that the database could not be read. The error may come from any query.
func (f *sqliteFile) note(ctx context.Context, err error) {
	if f == nil || !unreadableFile(err) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage == nil {
		f.damage = &NotReadyError{Reason: fileDamaged, Since: time.Now(), Err: err}
		f.logger.ErrorContext(ctx, "the database file is damaged; deliveries are answered 503", "err", err, "reason",
			fileDamaged)
	}
}

// damaged is why no delivery must be taken although it could be committed: what is damaged may be what is needed to
// process it.
func (f *sqliteFile) damaged() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage != nil {
		return f.damage
	}
	return nil
}

// unreadableFile says that SQLite found its file damaged, or not to be a database.
func unreadableFile(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code()&0xff == sqliteCorrupt || lite.Code()&0xff == sqliteNotADB)
}

// watchFile begins to compare the files with those that are open. One connection stays open for that: SQLite removes
// the write-ahead log with the last one, and makes a new one with the next.
func (s *Store) watchFile(ctx context.Context, path string) error {
	keep, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	var n int64
	if err := keep.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_master`).Scan(&n); err != nil {
		return errors.Join(err, keep.Close())
	}
	f := &sqliteFile{
		path: path, logger: s.opts.Logger,
		pages: func(ctx context.Context) (size int64, err error) {
			// Not by s.row, which notes errors here.
			err = s.read.QueryRowContext(ctx,
				`SELECT c.page_count * s.page_size FROM pragma_page_count AS c, pragma_page_size AS s`).Scan(&size)
			return size, err
		},
		save: func(ctx context.Context, to string) error { return vacuumInto(ctx, s.write, to) },
		merge: func(ctx context.Context) error {
			var busy, frames, merged int64
			err := s.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &merged)
			if err == nil && busy != 0 {
				err = errors.New("a reader holds the write-ahead log")
			}
			return err
		},
		background: func(fn func()) {
			s.wg.Go(func() {
				_ = s.opts.Panics.Do(ctx, Part, func() error { fn(); return nil })
			})
		},
	}
	if err := f.remember(); err != nil {
		return errors.Join(err, keep.Close())
	}
	s.file, s.keep = f, keep
	return nil
}

// vacuumInto writes a copy of a database as one file that is complete without others, and readable by its owner only.
func vacuumInto(ctx context.Context, db *sql.DB, to string) error {
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // next to the operator's own file
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, to)
	return err
}

// adoptSaved puts the copy that an earlier process made of its data where its file was, unless there is a file with
// something in it: then somebody has restored one, and it is only said that there is a copy. What is left of the
// write-ahead log belongs to the file that is gone.
func adoptSaved(ctx context.Context, path string, logger *slog.Logger) error {
	saved := path + savedSuffix
	if _, err := os.Stat(saved); err != nil {
		return nil //nolint:nilerr // there is none, as almost always
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.Size() > 0:
		logger.WarnContext(ctx, "an earlier process saved its data when the database file was deleted or replaced; the file "+
			"that is there now is used. Remove the copy, or stop the bot and put the copy in its place", "file", saved)
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the database file: %w", err)
	}
	for _, end := range beside[1:] {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the database file: %w", err)
		}
	}
	if err := os.Rename(saved, path); err != nil {
		return fmt.Errorf("take the saved copy of the database: %w", err)
	}
	logger.WarnContext(ctx, "the database file was missing or empty; the copy is used that an earlier process saved",
		"file", strings.TrimSuffix(saved, savedSuffix))
	return nil
}
