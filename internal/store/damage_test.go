package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// written is a database file with all kinds of rows, closed in order.
func written(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "medic.db")
	s := storetest.Open(t, "sqlite://"+path)
	for n := range 20 {
		id := fmt.Sprintf("inc-%d", n)
		entry := incident.Entry{Thread: true, Text: strings.Repeat("word ", 200)}
		ok(t, s.Commit(t.Context(),
			incident.Change{Incident: fresh(id, id), DueAt: now, Render: true, Entries: []incident.Entry{entry}}))
		_, err := s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now, GroupKey: id})
		ok(t, err)
	}
	ok(t, s.Close())
	raw, err := os.ReadFile(path)
	ok(t, err)
	return raw
}

func open(t *testing.T, raw []byte, change ...func(*store.Options)) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "medic.db")
	ok(t, os.WriteFile(path, raw, 0o600))
	opts := store.Options{ChannelFor: func(string) string { return "" }, Logger: (&lines{}).logger()}
	for _, fn := range change {
		fn(&opts)
	}
	s, err := store.Open(t.Context(), "sqlite://"+path, opts)
	if err == nil {
		ok(t, s.Close())
	}
	return err
}

// Eight bytes of whichever page: the start refuses them, names the file and says what to do. What was not changed is
// opened.
func TestAFileWithChangedBytesIsRefused(t *testing.T) {
	t.Parallel()
	raw := written(t)
	ok(t, open(t, raw))
	const page = 4096
	for at := 0; at < len(raw); at += page {
		damaged := append([]byte{}, raw...)
		for n := range 8 {
			damaged[at+n] ^= 0x5a
		}
		err := open(t, damaged)
		if err == nil {
			t.Errorf("page %d: a damaged file was opened", at/page+1)
			continue
		}
		for _, want := range []string{"medic.db", "restore a backup", ".recover"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("page %d: the error does not say %q: %v", at/page+1, want, err)
			}
		}
	}
}

// A file that takes too long to be read does not hold up the start, and that is said.
func TestACheckThatTakesTooLongIsGivenUpAndSaid(t *testing.T) {
	t.Parallel()
	logged := &lines{}
	ok(t, open(t, written(t), func(o *store.Options) { o.CheckTimeout, o.Logger = time.Nanosecond, logged.logger() }))
	if logged.count("too large to be checked") != 1 || logged.count("PRAGMA quick_check") != 1 {
		t.Errorf("the log: %s", &logged.b)
	}
}
