package notify

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// mine is a notifier that panics while it draws one incident.
type mine struct {
	*fakeNotifier
	incident string
}

func (m mine) Post(ctx context.Context, channel string, inc incident.Incident) (string, error) {
	if inc.ID == m.incident {
		panic("index out of range")
	}
	return m.fakeNotifier.Post(ctx, channel, inc)
}

func (m mine) Update(ctx context.Context, channel, ts string, inc incident.Incident) error {
	if inc.ID == m.incident {
		panic("index out of range")
	}
	return m.fakeNotifier.Update(ctx, channel, ts, inc)
}

func TestAMessageThatPanicsIsParkedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"})
	other := incident.New("inc-2", "qwen", incident.ModeApprove, false, noon)
	other.Version = 1
	b.incidents.put(other)
	b.outbox.put(incident.Message{Incident: "inc-2", Channel: "C1", Wanted: 1, NextAt: noon})
	b.cfg.Panics = rescue.NewLog(slog.New(slog.NewTextHandler(b.logs, nil)), Part)
	b.Dispatcher.notifier = mine{b.notifier, "inc-1"}
	// What was being posted when the program failed may be there: the channel is searched before it is tried again.
	b.notifier.expect(expected{call: "find 0"}, expected{call: "find 0"}, expected{call: "find 0"},
		expected{call: "find 0"})
	got := b.pass(0)
	if got.Attempts != 1 || got.IntentAt.IsZero() || !strings.Contains(got.LastError, "panic: index out of range") {
		t.Fatalf("after the first turn: %+v", got)
	}
	for n := 0; n < 20 && !got.GaveUp; n++ {
		got = b.pass(10 * time.Minute)
	}
	if !got.GaveUp || got.Attempts != brokenTries || b.logs.count("a message is parked until its incident changes") != 1 {
		t.Errorf("in the end: %+v", got)
	}
	if n := b.cfg.Panics.Counts()[Part]; n != brokenTries {
		t.Errorf("%d panics are counted", n)
	}
	if m := b.outbox.rows["inc-2"]; m.Sent != 1 {
		t.Errorf("the other message: %+v", m)
	}
	b.Dispatcher.notifier = b.notifier // a version without the error
	b.notifier.expect(expected{call: "find 0"}, expected{call: "post v2"})
	b.change(2)
	if got := b.pass(10 * time.Minute); got.Sent != 2 || got.GaveUp {
		t.Errorf("after the next change: %+v", got)
	}
}

func TestAnEditThatPanicsIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, expected{call: "post v1"})
	b.pass(0)
	b.Dispatcher.notifier = mine{b.notifier, "inc-1"}
	b.change(2)
	if got := b.pass(time.Minute); got.Attempts != 1 || !got.IntentAt.IsZero() || !got.NextAt.After(b.now) {
		t.Errorf("after the panic: %+v", got)
	}
	b.Dispatcher.notifier = b.notifier
	b.notifier.expect(expected{call: "update v2"})
	if got := b.pass(time.Minute); got.Sent != 2 || got.Attempts != 0 {
		t.Errorf("after it: %+v", got)
	}
}
