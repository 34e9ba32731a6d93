package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// refuses checks that a store takes nothing any more, and why.
func refuses(t *testing.T, s *store.Store, why string) {
	t.Helper()
	for what, err := range map[string]error{
		"Ready":       s.Ready(t.Context()),
		"AddDelivery": deliver(t.Context(), s),
		"Commit":      s.Commit(t.Context(), incident.Change{Incident: fresh("late", "late"), DueAt: now}),
		"SetPause":    s.SetPause(t.Context(), incident.Pause{Pool: "late", Reason: "why", At: now}),
	} {
		var down *store.NotReadyError
		if !errors.As(err, &down) || !strings.Contains(down.Reason, why) ||
			!strings.Contains(down.Reason, "restart the bot") || strings.Contains(down.Reason, "medic.db") {
			t.Errorf("%s: %v, want that %s, with the next step and without the name", what, err, why)
		}
	}
}

// Whatever happens to the files while the bot runs, it takes nothing that nobody would find again, says why, and saves
// what it knows: a restart has everything that was accepted.
func TestASQLiteFileThatIsGoneIsNoticedAndNothingIsLost(t *testing.T) {
	t.Parallel()
	older := written(t)
	for name, lose := range map[string]func(path string) error{
		"the database is deleted": os.Remove,
		"everything is deleted": func(path string) error {
			return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		},
		"the log is deleted":   func(path string) error { return os.Remove(path + "-wal") },
		"the index is deleted": func(path string) error { return os.Remove(path + "-shm") },
		"replaced by an empty one": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, logged := filepath.Join(t.TempDir(), "medic.db"), &lines{}
			s := storetest.Open(t, "sqlite://"+path, func(o *store.Options) { o.Logger = logged.logger() })
			create(t, s, "known", "llama")
			ok(t, deliver(t.Context(), s))
			ok(t, lose(path))
			refuses(t, s, "was deleted or replaced")
			ok(t, s.Close())
			if logged.count("isn't the one that was opened") != 1 || logged.count("restart the bot") == 0 {
				t.Errorf("the log: %s", &logged.b)
			}
			again := storetest.Open(t, "sqlite://"+path)
			_, err := again.Incident(t.Context(), "known")
			ok(t, err)
			ds, err := again.ClaimDeliveries(t.Context(), "me", now, time.Minute, 10)
			if ok(t, err); len(ds) != 1 {
				t.Errorf("after the restart there are %d deliveries, want the one that was accepted", len(ds))
			}
			ok(t, again.Ready(t.Context()))
		})
	}
	t.Run("replaced by an older copy", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "medic.db")
		s := storetest.Open(t, "sqlite://"+path)
		create(t, s, "known", "llama")
		ok(t, errors.Join(os.WriteFile(path+".new", older, 0o600), os.Rename(path+".new", path)))
		refuses(t, s, "was deleted or replaced")
		ok(t, s.Close())
		// Somebody may have restored it on purpose: it is used, the copy is kept, and both are said.
		logged := &lines{}
		again := storetest.Open(t, "sqlite://"+path, func(o *store.Options) { o.Logger = logged.logger() })
		_, err := again.Incident(t.Context(), "inc-0")
		if err != nil || logged.count("Remove the copy, or stop the bot") != 1 {
			t.Errorf("the older copy: %v; the log: %s", err, &logged.b)
		}
		saved := storetest.Open(t, "sqlite://"+path+".saved")
		_, err = saved.Incident(t.Context(), "known")
		ok(t, err)
	})
}

// A file that comes back heals the store, and the copy of what was in it is not kept.
func TestASQLiteFileThatComesBackIsUsedAgain(t *testing.T) {
	t.Parallel()
	path, logged := filepath.Join(t.TempDir(), "medic.db"), &lines{}
	s := storetest.Open(t, "sqlite://"+path, func(o *store.Options) { o.Logger = logged.logger() })
	ok(t, os.Rename(path, path+".elsewhere"))
	refuses(t, s, "was deleted or replaced")
	ok(t, os.Rename(path+".elsewhere", path))
	eventually(t, "the store is ready", func() bool { return s.Ready(t.Context()) == nil })
	ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh("i1", "llama"), DueAt: now}))
	eventually(t, "deliveries are taken", func() bool { return deliver(t.Context(), s) == nil })
	if logged.count("the database file is back") != 1 {
		t.Errorf("the log: %s", &logged.b)
	}
}

// A file that comes back while the copy is still being made leaves no copy: a later start would take it for newer.
func TestACopyThatIsReadyAfterTheFileIsBackIsNotKept(t *testing.T) {
	t.Parallel()
	path, begun, goOn := filepath.Join(t.TempDir(), "medic.db"), make(chan struct{}), make(chan struct{})
	s := storetest.Open(t, "sqlite://"+path)
	store.HoldSave(s, begun, goOn)
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release) // before the store is closed, which waits for the copy
	ok(t, os.Rename(path, path+".elsewhere"))
	refuses(t, s, "was deleted or replaced")
	<-begun
	ok(t, os.Rename(path+".elsewhere", path))
	eventually(t, "the store is ready", func() bool { return s.Ready(t.Context()) == nil })
	release()
	ok(t, s.Close())
	if _, err := os.Stat(path + ".saved"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is kept: %v", err)
	}
}

// What is cut off is noticed by its size, or by the first read that fails, and is not mended by what is written over
// it.
func TestASQLiteFileThatIsCutOffIsNoticed(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 4096} {
		path := filepath.Join(t.TempDir(), "medic.db")
		ok(t, os.WriteFile(path, written(t), 0o600))
		s := storetest.Open(t, "sqlite://"+path)
		ok(t, os.Truncate(path, size))
		refuses(t, s, "was cut off")
	}
}

// A query that finds the file damaged makes the store refuse deliveries, which Alertmanager then keeps, for good.
func TestADamageThatIsFoundWhileReadingCounts(t *testing.T) {
	t.Parallel()
	path, logged := filepath.Join(t.TempDir(), "medic.db"), &lines{}
	ok(t, os.WriteFile(path, written(t), 0o600))
	s := storetest.Open(t, "sqlite://"+path, func(o *store.Options) { o.Logger = logged.logger() })
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, err)
	info, err := f.Stat()
	ok(t, err)
	_, err = f.WriteAt(make([]byte, info.Size()-4096), 4096) // all but the first page
	ok(t, errors.Join(err, f.Close()))
	if _, err := s.Incidents(t.Context(), incident.Filter{AllPools: true}); err == nil {
		t.Fatal("a damaged file was read")
	}
	for range 2 {
		var down *store.NotReadyError
		err := s.Ready(t.Context())
		if !errors.As(err, &down) || !strings.Contains(down.Reason, "is damaged; restore a backup") {
			t.Errorf("Ready: %v", err)
		}
		if err := deliver(t.Context(), s); !errors.As(err, &down) {
			t.Errorf("a delivery: %v", err)
		}
	}
	if logged.count("the database file is damaged") == 0 {
		t.Errorf("the log: %s", &logged.b)
	}
}

// VACUUM, which operators run, makes a file smaller too.
func TestAVacuumedSQLiteFileIsNoLoss(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "medic.db")
	s := storetest.Open(t, "sqlite://"+path)
	db, err := sql.Open("sqlite", "file:"+path)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	do := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		ok(t, err)
	}
	do(`INSERT INTO trials (body) VALUES (hex(zeroblob(1000000)))`)
	do(`PRAGMA wal_checkpoint(TRUNCATE)`)
	ok(t, s.Ready(t.Context()))
	before, err := os.Stat(path)
	ok(t, err)
	do(`DELETE FROM trials`)
	do(`VACUUM`)
	do(`PRAGMA wal_checkpoint(TRUNCATE)`)
	after, err := os.Stat(path)
	ok(t, err)
	if after.Size() >= before.Size() {
		t.Fatalf("the file has %d bytes and had %d", after.Size(), before.Size())
	}
	ok(t, s.Ready(t.Context()))
	ok(t, deliver(t.Context(), s))
}
