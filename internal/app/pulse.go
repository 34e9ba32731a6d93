package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// pulseLeases is how many leases a loop may go without a look before it counts as stuck. One turn takes less than one lease.
const pulseLeases = 5

// The loops that must go on.
const (
	loopInbox     = "inbox"
	loopIncidents = "incidents"
	loopMessages  = "messages"
	loopCommits   = "commits" // of deliveries
)

// pulse knows when each loop last came back from the store, with or without work, with or without an error: a store that is down is no reason to restart
// the bot, a loop that hangs is.
type pulse struct {
	mu    sync.Mutex
	limit time.Duration
	now   func() time.Time
	last  map[string]time.Time
}

func newPulse(lease time.Duration, now func() time.Time) *pulse {
	return &pulse{limit: pulseLeases * lease, now: now, last: map[string]time.Time{}}
}

func (p *pulse) beat(loop string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[loop] = p.now()
}

// begin starts the clock of every loop.
func (p *pulse) begin() {
	for _, loop := range []string{loopInbox, loopIncidents, loopMessages, loopCommits} {
		p.beat(loop)
	}
}

// stuck names the loops that have not come round for too long; before begin there is none.
func (p *pulse) stuck() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for loop, at := range p.last {
		if silent := p.now().Sub(at); silent > p.limit {
			out = append(out, fmt.Sprintf("%s: not looked at for %s", loop, silent.Round(time.Second)))
		}
	}
	slices.Sort(out)
	return out
}

// beating is the store as the loops see it: each look for work is a beat.
type beating struct {
	Store
	pulse *pulse
}

// ClaimDue is the look of the engine's loop over incidents.
func (b beating) ClaimDue(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Claimed, error) {
	defer b.pulse.beat(loopIncidents)
	return b.Store.ClaimDue(ctx, owner, now, lease, limit)
}

// ClaimDeliveries is the look of the engine's loop over the inbox.
func (b beating) ClaimDeliveries(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Delivery, error) {
	defer b.pulse.beat(loopInbox)
	return b.Store.ClaimDeliveries(ctx, owner, now, lease, limit)
}

// RenewDeliveries says that the loop over the inbox asks for owners that are slow to find.
func (b beating) RenewDeliveries(ctx context.Context, ds []incident.Delivery, until time.Time) error {
	defer b.pulse.beat(loopInbox)
	return b.Store.RenewDeliveries(ctx, ds, until)
}

// ClaimMessages is the look of the loop over messages.
func (b beating) ClaimMessages(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Message, error) {
	defer b.pulse.beat(loopMessages)
	return b.Store.ClaimMessages(ctx, owner, now, lease, limit)
}
