package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Outbox is the durable list of messages.
type Outbox interface {
	// ClaimMessages takes up to limit messages of a sink for owner until the lease ends: those whose NextAt has
	// come, and that are not up to date (Wanted > Sent, or a thread entry is newer than ThreadSent). One that has
	// given up comes back, with GaveUp cleared, when a version is wanted that is newer than the Wanted it gave up
	// with; one that was Refused comes back so at its NextAt, too.
	ClaimMessages(
		ctx context.Context, sink, owner string, now time.Time, lease time.Duration, limit int,
	) ([]incident.Message, error)
	// SaveMessage stores everything but Wanted, which only commits raise, keeps with GaveUp the Wanted of m, and
	// gives the claim back on release. It answers incident.ErrFenced when the claim was lost.
	SaveMessage(ctx context.Context, m incident.Message, release bool) error
	// Wake receives a value, now and then, when there is something to do.
	Wake() <-chan struct{}
}

// Incidents reads what is to be shown.
type Incidents interface {
	// IncidentWithJournal returns the incident with its whole journal, or incident.ErrNotFound.
	IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error)
	// Digest returns the digest with its incidents, or incident.ErrNotFound.
	Digest(ctx context.Context, id string) (incident.Digest, error)
}

// Notifier is where messages go. Its errors are *AmbiguousError, *RateLimitedError, *PermanentError and *GoneError;
// any other error says that nothing was sent and that it may be tried again. Only Post and Reply may be ambiguous;
// Update and FindPosted may be called any number of times.
type Notifier interface {
	// Post puts up the incident's message and returns what identifies it.
	Post(ctx context.Context, channel string, inc incident.Incident) (ts string, err error)
	// Update draws the message again.
	Update(ctx context.Context, channel, ts string, inc incident.Incident) error
	// Reply adds a journal entry to the message's thread.
	Reply(ctx context.Context, channel, ts string, inc incident.Incident, e incident.Entry) error
	// FindPosted looks for a message (parentTS empty, entrySeq 0) or a thread entry that was posted at or after
	// oldest. A nil error promises that the channel could be read: not found then means that it is not there.
	FindPosted(ctx context.Context, channel, parentTS, incidentID string, entrySeq int64, oldest time.Time) (ts string,
		found bool, err error)
}

// Digester is a Notifier that shows digests, too; where incidents fold, the notifier has to be one. What is said of
// Post, Update and Reply is true of these. FindPosted finds them by the digest's id, and a call by its last line.
type Digester interface {
	Notifier
	PostDigest(ctx context.Context, channel string, d incident.Digest) (ts string, err error)
	UpdateDigest(ctx context.Context, channel, ts string, d incident.Digest) error
	// Call adds to the digest's thread that people are asked to decide, for several of its incidents at once.
	Call(ctx context.Context, channel, ts string, d incident.Digest, calls []incident.Call, last int64) error
}

// Dispatcher drains the outbox. It is safe to run several on one outbox.
type Dispatcher struct {
	cfg       Config
	outbox    Outbox
	incidents Incidents
	notifier  Notifier
	logger    *slog.Logger
	// leftOut counts what a receiver did not get because it refuses what it says; delivered and failed count turns.
	leftOut, delivered, failed atomic.Int64
}

// Sink is the sink that it delivers to.
func (d *Dispatcher) Sink() string { return d.cfg.Sink }

// Counts are what became of the messages since the start. LeftOut is how many entries and versions the receiver refused
// for what they say, twice, and did not get; Delivered are turns that left a message as it should be, Failed those that
// could not. A wait for a rate limit is neither.
type Counts struct{ LeftOut, Delivered, Failed int64 }

// Counts may be called at any time.
func (d *Dispatcher) Counts() Counts {
	return Counts{LeftOut: d.leftOut.Load(), Delivered: d.delivered.Load(), Failed: d.failed.Load()}
}

// New returns a Dispatcher, or an error that names everything that is missing or wrong.
func New(cfg Config, outbox Outbox, incidents Incidents, notifier Notifier, logger *slog.Logger) (*Dispatcher, error) {
	var errs []error
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"outbox", outbox == nil},
		{"incidents", incidents == nil},
		{"notifier", notifier == nil},
		{"logger", logger == nil},
	} {
		if need.missing {
			errs = append(errs, fmt.Errorf("notify: the %s is nil", need.name))
		}
	}
	cfg = cfg.withDefaults()
	if err := errors.Join(append(errs, cfg.validate())...); err != nil {
		return nil, err
	}
	return &Dispatcher{cfg: cfg, outbox: outbox, incidents: incidents, notifier: notifier, logger: logger}, nil
}

// Run delivers until ctx ends, then waits for the calls in flight (Config.Drain) and returns nil. A store that
// cannot be asked is logged once and tried again at the next sweep.
func (d *Dispatcher) Run(ctx context.Context) error {
	tick := time.NewTicker(d.cfg.Sweep)
	defer tick.Stop()
	w := d.newWork()
	defer w.wait()
	claims, saves := trouble{logger: d.logger}, trouble{logger: d.logger}
	wake, look := d.outbox.Wake(), true
	for {
		if look {
			wake = d.outbox.Wake() // before the claim, so that nothing falls in between
			_, err := w.claim(ctx)
			if ctx.Err() != nil {
				return nil
			}
			claims.report(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			look = true
		case <-wake:
			look = true
		case e := <-w.ended:
			saves.report(ctx, w.end(e))
			look = w.more
		}
	}
}

// Deliver makes one pass over the outbox and returns how many messages it worked on. Failures of the notifier are
// stored with the message and are not errors here; the error is the store's.
func (d *Dispatcher) Deliver(ctx context.Context) (int, error) {
	w := d.newWork()
	n, err := w.claim(ctx)
	errs := []error{err}
	for len(w.running) > 0 {
		errs = append(errs, w.end(<-w.ended))
		if w.more {
			more, err := w.claim(ctx)
			n, errs = n+more, append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

// messageContext bounds the work on one message by its lease. The end of ctx does not cut off a call in flight,
// whose answer would then be lost, but gives it Config.Drain to finish.
func (d *Dispatcher) messageContext(ctx context.Context) (context.Context, context.CancelFunc) {
	budget := d.cfg.Lease * 3 / 4
	inner, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), budget,
		fmt.Errorf("the message took longer than %s", budget))
	var drain *time.Timer
	var mu sync.Mutex
	unhook := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		drain = time.AfterFunc(d.cfg.Drain, cancel)
	})
	return inner, func() {
		unhook()
		mu.Lock()
		defer mu.Unlock()
		if drain != nil {
			drain.Stop()
		}
		cancel()
	}
}
