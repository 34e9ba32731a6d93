package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

func TestAReaderSeesWhatTheBotHasCommittedWhileItRunsAndAfterwards(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		want := create(t, s, "i1", "llama")
		look := func(when string) {
			t.Helper()
			r, err := store.OpenReadOnly(t.Context(), url)
			ok(t, err)
			list, err := r.Incidents(t.Context(), incident.Filter{State: "open", AllPools: true})
			ok(t, err)
			if d := cmp.Diff([]incident.Incident{want}, list); d != "" {
				t.Errorf("%s: -want +got:\n%s", when, d)
			}
			if _, err := r.IncidentWithJournal(t.Context(), "i1"); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			if _, err := r.IncidentWithJournal(t.Context(), "nope"); !errors.Is(err, incident.ErrNotFound) {
				t.Errorf("%s: an unknown id gives %v", when, err)
			}
			ok(t, r.Close())
			ok(t, r.Close())
		}
		look("while the bot runs")
		ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh("i2", "other"), DueAt: now}))
		ok(t, s.Close())
		r, err := store.OpenReadOnly(t.Context(), url)
		ok(t, err)
		t.Cleanup(func() { ok(t, r.Close()) })
		if list, err := r.Incidents(t.Context(), incident.Filter{AllPools: true}); err != nil || len(list) != 2 {
			t.Errorf("after the bot's end the reader sees %d incidents, want 2: %v", len(list), err)
		}
	})
}

func TestAReaderRefusesWhatNoBotHasUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, text := filepath.Join(dir, "empty.db"), filepath.Join(dir, "text.db")
	ok(t, os.WriteFile(empty, nil, 0o600))
	ok(t, os.WriteFile(text, []byte(strings.Repeat("no database at all\n", 100)), 0o600))
	for _, tc := range []struct{ name, url, want string }{
		{"no file", "sqlite://" + dir + "/none.db", "no such file"},
		{"an empty file", "sqlite://" + empty, "no vllm-medic has used it"},
		{"another kind of file", "sqlite://" + text, "cannot be read"},
		{"another scheme", "mysql://h/db", "must begin with sqlite:// or postgres://"},
		{"a URL that cannot be read", "postgres://u:s3cr3t-value@h:port/db", "cannot be read"},
		{"a server that is not there", "postgres://u:s3cr3t-value@127.0.0.1:1/db", "does not answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := store.OpenReadOnly(t.Context(), tc.url)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cr3t-value") {
				t.Errorf("got %v, want %q in it and no secret", err, tc.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the reader made a file: %v", err)
	}
}

// Another version may mean other fields, and half an incident is worse than none.
func TestAReaderRefusesASchemaOfAnotherVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "medic.db")
	s := storetest.Open(t, "sqlite://"+path)
	ok(t, s.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	ok(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	ok(t, errors.Join(err, db.Close()))
	if _, err := store.OpenReadOnly(t.Context(), "sqlite://"+path); err == nil ||
		!strings.Contains(err.Error(), "the schema has version 99") {
		t.Errorf("got %v, want a refusal that names both versions", err)
	}
}
