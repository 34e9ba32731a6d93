package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// What docs/audit.md says of a hash holds for every line of the export, whatever alerts bring into an entry.
func TestEveryLineOfAnExportHasTheHashOfItsBytes(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
	s, err := store.Open(t.Context(), url, store.Options{
		ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	texts := []string{"plain", `<a href="x">&</a>`, "ü 中 \u2028 \u0000 \x1b[2J", `back\slash`, "bad \xff byte", ""}
	var lines []incident.Entry
	for n, text := range texts {
		lines = append(lines, incident.Entry{At: now, Kind: incident.KindAlerts, Text: text, Thread: n%2 == 0})
	}
	err = s.Commit(t.Context(), incident.Change{
		Incident: incident.New("inc-a", "p", incident.ModeApprove, false, now), Entries: lines,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := store.OpenReadOnly(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export(t.Context(), r, []string{"inc-a"}, &out); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	before, n := "", 0
	for line := range strings.Lines(out.String()) {
		var e exported
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		thread := map[bool]string{true: "1", false: "0"}[e.Thread]
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%s\n%s", before, e.Incident, e.Seq, thread, e.Entry))
		if hex.EncodeToString(sum[:]) != e.Hash || e.Before != before {
			t.Errorf("line %d has the hash %s, which is not that of its bytes: %s", e.Seq, e.Hash, line)
		}
		before, n = e.Hash, n+1
	}
	if n != len(texts) {
		t.Errorf("%d lines, want %d", n, len(texts))
	}
}

// The note of a journal that was removed proves nothing by itself: without a head from outside, verify says so, and of
// how many incidents that is true.
func TestVerifySaysWhatItCouldNotCompare(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
	s, err := store.Open(t.Context(), url, store.Options{
		ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for id, closed := range map[string]time.Time{"inc-a": now, "inc-b": now.Add(-91 * 24 * time.Hour)} {
		inc := incident.New(id, id, incident.ModeApprove, false, closed)
		inc.State, inc.ClosedAt = incident.StateClosed, closed
		over := []incident.Entry{{Text: "over"}}
		if err := s.Commit(t.Context(), incident.Change{Incident: inc, Entries: over}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Prune(t.Context(), now, store.DefaultKeep); err != nil || got.Incidents != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := store.OpenReadOnly(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	heads := map[string][]string{}
	for _, id := range []string{"inc-a", "inc-b"} {
		c, _, err := r.Chain(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		heads[id] = []string{c.Head}
	}
	const removed = "1 of those were removed, which only the store says"
	for _, tt := range []struct {
		with       []string
		uncompared int
		removed    bool
	}{
		{nil, 2, true}, {[]string{"inc-a"}, 1, true}, {[]string{"inc-b"}, 1, false}, {[]string{"inc-a", "inc-b"}, 0, false},
	} {
		given := map[string][]string{}
		for _, id := range tt.with {
			given[id] = heads[id]
		}
		got, err := verify(t.Context(), r, []string{"inc-a", "inc-b"}, given)
		if err != nil || len(got.Findings) > 0 || got.Uncompared != tt.uncompared {
			t.Fatalf("with heads of %v: %+v, %v", tt.with, got, err)
		}
		var out bytes.Buffer
		printVerified(terminal{out: &out}, got)
		if says := strings.Contains(out.String(), "No head was given for"); says != (tt.uncompared > 0) {
			t.Errorf("with heads of %v: %s", tt.with, &out)
		}
		if says := strings.Contains(out.String(), removed); says != tt.removed {
			t.Errorf("with heads of %v: %s", tt.with, &out)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
