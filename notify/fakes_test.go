package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// outbox keeps rows as the contract of Outbox says, with leases and fences.
type outbox struct {
	mu      sync.Mutex
	rows    map[string]incident.Message
	leases  map[string]time.Time
	thread  map[string]int64 // the newest thread entry that is wanted
	gaveUp  map[string]int64 // what was wanted when it was given up
	fence   int64
	wake    chan struct{}
	broken  error // answer of every call
	onSave  func(m incident.Message, release bool) error
	history []incident.Message
}

func newOutbox(rows ...incident.Message) *outbox {
	o := &outbox{
		rows: map[string]incident.Message{}, leases: map[string]time.Time{}, thread: map[string]int64{},
		gaveUp: map[string]int64{},
		wake:   make(chan struct{}, 1),
	}
	for _, m := range rows {
		o.rows[m.Incident] = m
	}
	return o
}

func (o *outbox) ClaimMessages(_ context.Context, _, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken != nil {
		return nil, o.broken
	}
	if owner == "" {
		return nil, errors.New("fake outbox: no owner")
	}
	var out []incident.Message
	for _, id := range sortedKeys(o.rows) {
		m := o.rows[id]
		current := m.Wanted <= m.Sent && o.thread[id] <= m.ThreadSent
		newer := m.Wanted > o.gaveUp[id]
		due := !m.NextAt.After(now) && (!m.GaveUp || m.Refused || newer)
		if len(out) == limit || current || o.leases[id].After(now) || (!due && (!m.Refused || !newer)) {
			continue
		}
		m.GaveUp, m.Refused = false, false
		o.fence++
		m.Fence = o.fence
		o.rows[id], o.leases[id] = m, now.Add(lease)
		out = append(out, m)
	}
	return out, nil
}

func (o *outbox) SaveMessage(ctx context.Context, m incident.Message, release bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.broken != nil {
		return o.broken
	}
	old := o.rows[m.Incident]
	if old.Fence != m.Fence {
		return incident.ErrFenced
	}
	if o.onSave != nil {
		if err := o.onSave(m, release); err != nil {
			return err
		}
	}
	o.gaveUp[m.Incident] = m.Wanted
	m.Wanted = old.Wanted
	o.rows[m.Incident] = m
	o.history = append(o.history, m)
	if release {
		delete(o.leases, m.Incident)
	}
	return nil
}

func (o *outbox) Wake() <-chan struct{} { return o.wake }

// want raises the wanted version as a commit does.
func (o *outbox) want(id string, version int64, entries ...int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.rows[id]
	m.Wanted = version
	o.rows[id] = m
	for _, seq := range entries {
		o.thread[id] = max(o.thread[id], seq)
	}
}

func (o *outbox) put(m incident.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows[m.Incident] = m
}

func (o *outbox) row() incident.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows["inc-1"]
}

// unguarded lists what is being posted although another replica could claim it.
func (o *outbox) unguarded(now time.Time) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for id, m := range o.rows {
		if !m.IntentAt.IsZero() && !o.leases[id].After(now) {
			out = append(out, id)
		}
	}
	return out
}

func (o *outbox) steal(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.rows[id]
	o.fence++
	m.Fence = o.fence
	o.rows[id] = m
}

func sortedKeys(m map[string]incident.Message) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// incidents is the store's reading side.
type incidents struct {
	mu     sync.Mutex
	all    map[string]incident.Incident
	digest incident.Digest
	err    error
}

func (i *incidents) Digest(_ context.Context, id string) (incident.Digest, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id != i.digest.ID {
		return incident.Digest{}, incident.ErrNotFound
	}
	return i.digest, i.err
}

func (i *incidents) IncidentWithJournal(_ context.Context, id string) (incident.Incident, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return incident.Incident{}, i.err
	}
	inc, ok := i.all[id]
	if !ok {
		return incident.Incident{}, incident.ErrNotFound
	}
	return inc, nil
}

func (i *incidents) put(inc incident.Incident) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.all == nil {
		i.all = map[string]incident.Incident{}
	}
	i.all[inc.ID] = inc
}

// logs collects log lines.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// bench is a dispatcher with one incident, inc-1, in channel C1.
type bench struct {
	*Dispatcher
	t         *testing.T
	outbox    *outbox
	incidents *incidents
	notifier  *fakeNotifier
	logs      *logs
	now       time.Time
	// clock is the dispatcher's; it shows now unless the test lives in a bubble.
	clock func() time.Time
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newBench(t *testing.T, want ...expected) *bench {
	t.Helper()
	b := &bench{
		t: t, outbox: newOutbox(incident.Message{Incident: "inc-1", Channel: "C1", Wanted: 1, NextAt: noon}),
		incidents: &incidents{}, notifier: newFakeNotifier(t, want...), logs: &logs{}, now: noon,
	}
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, noon)
	inc.Version = 1
	b.incidents.put(inc)
	b.clock = func() time.Time { return b.now }
	d, err := New(Config{
		Owner: "me", Gap: incident.EditGap, Now: func() time.Time { return b.clock() },
	}, b.outbox, b.incidents, b.notifier,
		b.logs.logger())
	if err != nil {
		t.Fatal(err)
	}
	b.Dispatcher = d
	return b
}

// change commits a new version with the seqs of new thread entries.
func (b *bench) change(version int64, entries ...int64) {
	inc, err := b.incidents.IncidentWithJournal(b.t.Context(), "inc-1")
	if err != nil {
		b.t.Fatal(err)
	}
	inc.Version = version
	for _, seq := range entries {
		inc.Journal = append(inc.Journal, incident.Entry{Seq: seq, Thread: true, Text: fmt.Sprint("entry ", seq)})
	}
	b.incidents.put(inc)
	b.outbox.want("inc-1", version, entries...)
}

// pass lets time go by and delivers.
func (b *bench) pass(after time.Duration) incident.Message {
	b.t.Helper()
	b.now = b.now.Add(after)
	if _, err := b.Deliver(b.t.Context()); err != nil {
		b.t.Fatalf("deliver: %v", err)
	}
	return b.outbox.row()
}
