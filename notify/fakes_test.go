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

func (o *outbox) ClaimMessages(_ context.Context, owner string, now time.Time, lease time.Duration,
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
		if len(out) == limit || current || m.NextAt.After(now) || o.leases[id].After(now) ||
			(m.GaveUp && m.Wanted <= o.gaveUp[id]) {
			continue
		}
		m.GaveUp = false
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
	mu  sync.Mutex
	all map[string]incident.Incident
	err error
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

// expected is one call that the notifier is prepared for. done carries the call out although it answers err.
type expected struct {
	call string // "post v1", "update v2", "reply 3", "find 0"
	err  error
	done bool
	// hold blocks the call until the channel is closed.
	hold chan struct{}
	// takes is how long the answer takes; what was posted shows in the channel shows after that.
	takes, shows time.Duration
}

// fakeNotifier is a channel that takes exactly the calls that were announced, in order.
type fakeNotifier struct {
	t       *testing.T
	mu      sync.Mutex
	want    []expected
	posted  []string    // "v1" for messages, "1/3" for entries
	shown   []time.Time // when each of them can be found
	lastTS  int
	edits   []string
	oldest  time.Time     // of the last search
	waiting chan struct{} // receives a value when a held call has begun
}

func newFakeNotifier(t *testing.T, want ...expected) *fakeNotifier {
	s := &fakeNotifier{t: t, want: want, waiting: make(chan struct{}, 10)}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range s.want {
			t.Errorf("the notifier was not called: %s", e.call)
		}
	})
	return s
}

func (s *fakeNotifier) expect(want ...expected) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want = append(s.want, want...)
}

func (s *fakeNotifier) take(call string) expected {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.want) == 0 || s.want[0].call != call {
		s.t.Errorf("unexpected call of the notifier: %s; prepared for %v", call, s.want)
		return expected{err: errors.New("fake notifier: unexpected " + call)}
	}
	e := s.want[0]
	s.want = s.want[1:]
	if e.takes > 0 {
		s.mu.Unlock()
		<-time.After(e.takes)
		s.mu.Lock()
	}
	return e
}

// put adds to the channel; the caller holds the lock.
func (s *fakeNotifier) put(e expected, what string) {
	s.posted = append(s.posted, what)
	s.shown = append(s.shown, time.Now().Add(e.shows))
}

func (s *fakeNotifier) Post(ctx context.Context, channel string, inc incident.Incident) (string, error) {
	e := s.take(fmt.Sprintf("post v%d", inc.Version))
	if channel != "C1" {
		s.t.Errorf("posted to channel %q", channel)
	}
	if e.hold != nil {
		s.waiting <- struct{}{}
		select {
		case <-e.hold:
		case <-ctx.Done():
			return "", &AmbiguousError{ctx.Err()}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.err == nil || e.done {
		s.lastTS++
		s.put(e, fmt.Sprintf("%s v%d", inc.ID, inc.Version))
	}
	return fmt.Sprintf("ts%d", s.lastTS), e.err
}

func (s *fakeNotifier) Update(_ context.Context, _, ts string, inc incident.Incident) error {
	e := s.take(fmt.Sprintf("update v%d", inc.Version))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.err == nil {
		s.edits = append(s.edits, fmt.Sprintf("%s v%d", ts, inc.Version))
	}
	return e.err
}

func (s *fakeNotifier) Reply(_ context.Context, _, ts string, inc incident.Incident, entry incident.Entry) error {
	e := s.take(fmt.Sprintf("reply %d", entry.Seq))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.err == nil || e.done {
		s.put(e, fmt.Sprintf("%s/%d in %s", inc.ID, entry.Seq, ts))
	}
	return e.err
}

func (s *fakeNotifier) FindPosted(_ context.Context, _, parentTS, id string, seq int64, oldest time.Time) (string, bool,
	error,
) {
	e := s.take(fmt.Sprintf("find %d", seq))
	if e.err != nil {
		return "", false, e.err
	}
	if oldest.IsZero() || (seq > 0) != (parentTS != "") {
		s.t.Errorf("find %d: oldest %s, parent %q", seq, oldest, parentTS)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = oldest
	for n, p := range s.posted {
		if time.Now().Before(s.shown[n]) {
			continue
		}
		if (seq == 0 && strings.HasPrefix(p, id+" v")) || strings.HasPrefix(p, fmt.Sprintf("%s/%d in ", id, seq)) {
			return fmt.Sprintf("ts%d", s.lastTS), true, nil
		}
	}
	return "", false, nil
}

func (s *fakeNotifier) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.posted, s.edits)
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
	d, err := New(Config{Owner: "me", Now: func() time.Time { return b.clock() }}, b.outbox, b.incidents, b.notifier,
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
