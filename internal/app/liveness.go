package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// livenessLeases is how many leases a loop may go without asking the store for work before it counts as stuck. One turn
// takes less than one lease.
const livenessLeases = 5

// The loops that must go on.
const (
	loopInbox     = "inbox"
	loopIncidents = "incidents"
	loopMessages  = "messages" // to Slack or the log; see messagesTo
	loopCommits   = "commits"  // of deliveries
)

// liveness knows when each loop last returned from the store, with or without work, with or without an error: a store
// that is down is no reason to restart the bot, a loop that hangs is.
type liveness struct {
	mu    sync.Mutex
	limit time.Duration
	now   func() time.Time
	last  map[string]time.Time
}

func newLiveness(lease time.Duration, now func() time.Time) *liveness {
	return &liveness{limit: livenessLeases * lease, now: now, last: map[string]time.Time{}}
}

func (l *liveness) beat(loop string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[loop] = l.now()
}

// begin starts the clock of every loop, those over the messages of further sinks among them.
func (l *liveness) begin(sinks ...string) {
	for _, loop := range []string{loopInbox, loopIncidents, loopMessages, loopCommits} {
		l.beat(loop)
	}
	for _, sink := range sinks {
		l.beat(messagesTo(sink))
	}
}

// messagesTo is the loop over the messages of a sink. Each sink has one, so that none hides that another one hangs.
func messagesTo(sink string) string {
	if sink == incident.SinkSlack {
		return loopMessages
	}
	return loopMessages + " to " + sink
}

// stuck names the loops that have been silent for too long; before begin there is none.
func (l *liveness) stuck() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for loop, at := range l.last {
		if silent := l.now().Sub(at); silent > l.limit {
			out = append(out, fmt.Sprintf("%s: no sign of life for %s", loop, silent.Round(time.Second)))
		}
	}
	slices.Sort(out)
	return out
}

// watchedStore is the store as the loops see it: asking it for work is a sign of life.
type watchedStore struct {
	Store
	liveness *liveness
}

// ClaimDue is called by the engine's loop over incidents.
func (w watchedStore) ClaimDue(
	ctx context.Context, owner string, now time.Time, lease time.Duration, limit int,
) ([]incident.Claimed, error) {
	defer w.liveness.beat(loopIncidents)
	return w.Store.ClaimDue(ctx, owner, now, lease, limit)
}

// ClaimDeliveries is called by the engine's loop over the inbox.
func (w watchedStore) ClaimDeliveries(
	ctx context.Context, owner string, now time.Time, lease time.Duration, limit int,
) ([]incident.Delivery, error) {
	defer w.liveness.beat(loopInbox)
	return w.Store.ClaimDeliveries(ctx, owner, now, lease, limit)
}

// RenewDeliveries is called by the loop over the inbox while it folds deliveries one by one.
func (w watchedStore) RenewDeliveries(ctx context.Context, ds []incident.Delivery, until time.Time) error {
	defer w.liveness.beat(loopInbox)
	return w.Store.RenewDeliveries(ctx, ds, until)
}

// ClaimMessages is called by the loop over the messages of a sink.
func (w watchedStore) ClaimMessages(
	ctx context.Context, sink, owner string, now time.Time, lease time.Duration, limit int,
) ([]incident.Message, error) {
	defer w.liveness.beat(messagesTo(sink))
	return w.Store.ClaimMessages(ctx, sink, owner, now, lease, limit)
}
