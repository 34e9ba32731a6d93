package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// outbox is one row in memory, without leases.
type outbox struct {
	mu     sync.Mutex
	m      incident.Message
	thread int64 // the newest thread entry
}

func (o *outbox) complete() bool { return o.m.Wanted <= o.m.Sent && o.thread <= o.m.ThreadSent }

func (o *outbox) ClaimMessages(
	_ context.Context, _, _ string, now time.Time, _ time.Duration, _ int,
) ([]incident.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.m.GaveUp || o.complete() || o.m.NextAt.After(now) {
		return nil, nil
	}
	return []incident.Message{o.m}, nil
}

func (o *outbox) SaveMessage(_ context.Context, m incident.Message, _ bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	m.Wanted = o.m.Wanted
	o.m = m
	return nil
}

func (o *outbox) Wake() <-chan struct{} { return nil }

type oneIncident struct{ inc incident.Incident }

func (o oneIncident) IncidentWithJournal(context.Context, string) (incident.Incident, error) {
	return o.inc, nil
}

func (o oneIncident) Digest(context.Context, string) (incident.Digest, error) {
	return incident.Digest{}, incident.ErrNotFound
}

// TestOutagesLeaveOneMessageAndOneThread runs the real dispatcher against every kind of lost answer.
func TestOutagesLeaveOneMessageAndOneThread(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fakeslack.Fault{
		"cut after": {DropAfter: true}, "cut before": {DropBefore: true}, "500 and done": {HTTPStatus: 500, Performed: true},
		"503":                     {HTTPStatus: 503},
		"internal_error and done": {Error: "internal_error", Performed: true},
		"rate limit":              {HTTPStatus: 429, RetryAfter: time.Second},
	} {
		for skip := range 3 {
			t.Run(fmt.Sprintf("%s at call %d", name, skip+1), func(t *testing.T) {
				t.Parallel()
				w := newWorkspace(t, fakeslack.Options{})
				inc := asked(t, incident.ModeApprove).inc
				o := &outbox{m: incident.Message{Incident: inc.ID, Channel: channel, Wanted: inc.Version}}
				for _, e := range inc.Journal {
					if e.Thread {
						o.thread = e.Seq
					}
				}
				now := time.Now()
				d, err := notify.New(notify.Config{Owner: "me", Now: func() time.Time { return now }}, o, oneIncident{inc},
					w.notifier,
					w.log)
				if err != nil {
					t.Fatal(err)
				}
				fault := fault
				fault.Skip = skip
				w.Fail("chat.postMessage", 1, fault)
				for range 20 {
					if _, err := d.Deliver(t.Context()); err != nil {
						t.Fatal(err)
					}
					if o.complete() {
						break
					}
					now = now.Add(20 * time.Second)
					w.client.limits.until = nil // the time of the rate limit has passed in this test's time
				}
				mustBeWhole(t, w, inc)
			})
		}
	}
}

func mustBeWhole(t *testing.T, w *workspace, inc incident.Incident) {
	t.Helper()
	all := w.Messages(channel)
	if len(all) != 1 {
		t.Fatalf("%d messages", len(all))
	}
	var want, got []string
	for _, e := range inc.Journal {
		if e.Thread {
			want = append(want, fmt.Sprint(e.Seq))
		}
	}
	for _, m := range w.Thread(channel, all[0].TS) {
		b, err := json.Marshal(m.Metadata.EventPayload["seq"])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("thread (-want +got):\n%s", diff)
	}
}
