package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

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

func (s *fakeNotifier) PostDigest(ctx context.Context, channel string, d incident.Digest) (string, error) {
	return s.Post(ctx, channel, incident.Incident{ID: d.ID, Version: d.Version})
}

func (s *fakeNotifier) UpdateDigest(ctx context.Context, channel, ts string, d incident.Digest) error {
	return s.Update(ctx, channel, ts, incident.Incident{ID: d.ID, Version: d.Version})
}

func (s *fakeNotifier) Call(_ context.Context, _, ts string, d incident.Digest, calls []incident.Call,
	last int64,
) error {
	var names []string
	for _, c := range calls {
		names = append(names, c.Incident)
	}
	e := s.take(fmt.Sprintf("call %d for %s", last, strings.Join(names, " ")))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.err == nil || e.done {
		s.put(e, fmt.Sprintf("%s/%d in %s", d.ID, last, ts))
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
