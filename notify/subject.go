package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// subject is what a message shows: an incident, or a digest of several. Everything else about a message is the
// same.
type subject interface {
	version() int64
	// open says that it is to be shown, also when somebody has deleted its message.
	open() bool
	post(ctx context.Context, channel string) (ts string, err error)
	update(ctx context.Context, channel, ts string) error
	// next is what comes next in the thread.
	next(m incident.Message, now time.Time) reply
	// last is the number of the last line of the thread.
	last() int64
	// asks says that people are asked something.
	asks() bool
}

// reply is the next one in a thread.
type reply struct {
	// seq is its number, or that of the last line of several; not greater than what was sent: there is nothing to
	// say now.
	seq int64
	// send posts it; nil: the lines up to seq are passed over.
	send func(ctx context.Context, channel, ts string) error
	// calls says that the thread of a digest has called people with it, and what comes next waits for a while.
	calls bool
}

// subjectOf reads what a message shows.
func (d *Dispatcher) subjectOf(ctx context.Context, m incident.Message) (subject, error) {
	if m.Kind == "" {
		inc, err := d.incidents.IncidentWithJournal(ctx, m.Incident)
		return ofIncident{d.notifier, inc}, err
	}
	digester, is := d.notifier.(Digester)
	if m.Kind != incident.KindDigest || !is {
		return nil, &PermanentError{
			Err:  fmt.Errorf("a message of the kind %q cannot be shown here", m.Kind),
			Next: "Run the version of vllm-medic that wrote it.",
		}
	}
	digest, err := d.incidents.Digest(ctx, m.Incident)
	return ofDigest{digester, digest}, err
}

// missing is what an error of subjectOf means for the message.
func missing(m incident.Message, err error) error {
	var permanent *PermanentError
	switch {
	case errors.As(err, &permanent):
		return err
	case errors.Is(err, incident.ErrNotFound):
		return &PermanentError{
			Err:  fmt.Errorf("read incident %s: %w", m.Incident, err),
			Next: "No action needed: its incident was removed from the store.",
		}
	}
	return &saveError{fmt.Errorf("read the incident: %w", err)}
}

// ofIncident is a message that shows an incident.
type ofIncident struct {
	to  Notifier
	inc incident.Incident
}

func (o ofIncident) version() int64 { return o.inc.Version }

func (o ofIncident) open() bool { return o.inc.Open() }

func (o ofIncident) post(ctx context.Context, channel string) (string, error) {
	return o.to.Post(ctx, channel, o.inc)
}

func (o ofIncident) update(ctx context.Context, channel, ts string) error {
	return o.to.Update(ctx, channel, ts, o.inc)
}

func (o ofIncident) next(m incident.Message, _ time.Time) reply {
	for _, e := range o.inc.Journal {
		if e.Thread && e.Seq > m.ThreadSent {
			return reply{seq: e.Seq, send: func(ctx context.Context, channel, ts string) error {
				return o.to.Reply(ctx, channel, ts, o.inc, e)
			}}
		}
	}
	return reply{}
}

func (o ofIncident) asks() bool { return o.inc.State == incident.StateDeciding }

func (o ofIncident) last() int64 {
	last := int64(0)
	for _, e := range o.inc.Journal {
		last = max(last, e.Seq)
	}
	return last
}

// ofDigest is a message that shows a digest. Its thread has only what calls people, gathered.
type ofDigest struct {
	to     Digester
	digest incident.Digest
}

func (o ofDigest) version() int64 { return o.digest.Version }

func (o ofDigest) open() bool { return o.digest.Open() }

func (o ofDigest) post(ctx context.Context, channel string) (string, error) {
	return o.to.PostDigest(ctx, channel, o.digest)
}

func (o ofDigest) update(ctx context.Context, channel, ts string) error {
	return o.to.UpdateDigest(ctx, channel, ts, o.digest)
}

func (o ofDigest) next(m incident.Message, now time.Time) reply {
	p := o.digest.Pending(m.ThreadSent, m.CalledAt, now)
	switch {
	case p.Held:
		return reply{}
	case len(p.Calls) == 0:
		return reply{seq: p.Last}
	}
	return reply{seq: p.Last, calls: !p.More, send: func(ctx context.Context, channel, ts string) error {
		return o.to.Call(ctx, channel, ts, o.digest, p.Calls, p.Last)
	}}
}

func (o ofDigest) asks() bool { return true } // of its incidents, some wait for somebody to look

func (o ofDigest) last() int64 { return o.digest.LastCall }
