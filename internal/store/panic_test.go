package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// SQLite has one writer: a transaction that a panic leaves open would hold up everything for ever.
func TestAPanicInATransactionLetsTheWriterGo(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	s, err := Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "medic.db"), Options{
		ChannelFor: func(string) string { return "" }, Logger: logger, Panics: rescue.NewLog(logger, Part),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	broken := func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.changed(ctx, tx,
			`INSERT INTO pauses (pool, reason, by_kind, by_id, at) VALUES ('x', '', '', '', 0)`); err != nil {
			return err
		}
		panic("in the middle")
	}
	err = rescue.Do(func() error { return s.inTx(t.Context(), broken) })
	if _, ok := errors.AsType[*rescue.PanicError](err); !ok {
		t.Errorf("the panic is lost: %v", err)
	}
	if got, err := s.Pauses(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("what the panic left: %v, %v", got, err)
	}
	err = s.commits.within(t.Context(), s.Now(), 0, broken)
	if _, ok := errors.AsType[*rescue.PanicError](err); !ok || s.opts.Panics.Counts()[Part] != 1 {
		t.Errorf("a panic of the committer: %v, counted %v", err, s.opts.Panics.Counts())
	}
	if _, err := s.AddDelivery(t.Context(),
		incident.Delivery{Receiver: "medic", GroupKey: "g", ReceivedAt: s.Now()}); err != nil {
		t.Errorf("the next delivery: %v", err)
	}
}
