package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

const (
	// maxReplies bounds the thread entries of one turn, so that a turn fits into its lease.
	maxReplies = 20
	// lookBack is added to the time searched for a lost post: the notifier's clock may be behind, and a repeated post has
	// an elder.
	lookBack = 10 * time.Minute
	// saveTimeout bounds one write to the store.
	saveTimeout = 5 * time.Second
	// maxError bounds what is kept of an error's text.
	maxError = 500
)

// delivery is one turn on one claimed message.
type delivery struct {
	d    *Dispatcher
	m    incident.Message
	what subject
	now  func() time.Time
	stop <-chan struct{}
	// before is the error of the turn before, so that the same one is not logged twice.
	before string
	// drawn says that the message shows this version of the incident.
	drawn bool
	// sending says that the intent of a post was stored in this turn and its outcome not yet.
	sending bool
	// repeat says that the next post repeats one whose outcome could not be found out. It is done once.
	repeat bool
}

// rescued is run; a panic is a failure of this message like any other, which is tried again and given up in the end.
func (v *delivery) rescued(ctx context.Context) error {
	err := v.d.cfg.Panics.Do(ctx, Part, func() error { return v.run(ctx) }, slog.String("incident", v.m.Incident))
	if caught, ok := errors.AsType[*rescue.PanicError](err); ok {
		err = v.d.cfg.Panics.Do(ctx, Part, func() error { return v.broken(ctx, caught) },
			slog.String("incident", v.m.Incident))
	}
	if err != nil && !errors.Is(err, incident.ErrFenced) {
		return fmt.Errorf("message of incident %s: %w", v.m.Incident, err)
	}
	return nil
}

// run brings the message up to date, in the order in which people read it: the message, its edits, its thread.
func (v *delivery) run(ctx context.Context) error {
	err := v.steps(ctx)
	var save *saveError
	switch {
	case errors.As(err, &save) && errors.Is(err, incident.ErrFenced):
		v.d.logger.DebugContext(ctx, "a message was taken over by another replica", "incident", v.m.Incident)
		return nil
	case errors.As(err, &save):
		return fmt.Errorf("message of incident %s: %w", v.m.Incident, save.err)
	case err != nil:
		err = v.failed(ctx, err)
	}
	if errors.Is(err, incident.ErrFenced) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("message of incident %s: %w", v.m.Incident, err)
	}
	return nil
}

func (v *delivery) steps(ctx context.Context) error {
	what, err := v.d.subjectOf(ctx, v.m)
	if err != nil {
		return missing(v.m, err)
	}
	v.what = what
	for _, step := range []func(context.Context) error{v.settle, v.post, v.update} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	complete, err := v.thread(ctx)
	if err != nil {
		return err
	}
	return v.finish(ctx, complete)
}

// settle finds out what became of a post whose answer was lost, before anything else is sent.
func (v *delivery) settle(ctx context.Context) error {
	if v.m.IntentAt.IsZero() {
		return nil
	}
	if v.m.IntentAt.After(v.now()) {
		v.m.IntentAt = v.now() // the clock was set back since; nobody knows how long ago it was, so the wait begins anew
	}
	if wait := v.m.IntentAt.Add(v.d.cfg.LookAfter).Sub(v.now()); wait > 0 {
		return &laterError{wait, "the answer to a post was lost; the channel is searched in a moment"}
	}
	parent := ""
	if v.m.IntentThread > 0 {
		parent = v.m.TS
	}
	ts, found, err := v.d.notifier.FindPosted(ctx, v.m.Channel, parent, v.m.Incident, v.m.IntentThread,
		v.m.IntentAt.Add(-lookBack))
	switch {
	case err != nil:
		return v.unreadable(err)
	case found && v.m.IntentThread > 0:
		v.m.ThreadSent = max(v.m.ThreadSent, v.m.IntentThread)
		if v.m.Kind == incident.KindDigest {
			v.m.CalledAt = v.m.IntentAt // its thread has nothing but calls
		}
	case found:
		v.m.TS = ts
	}
	v.clearIntent()
	return v.save(ctx, false)
}

// unreadable decides what happens when the channel cannot be searched: wait, and after AmbiguousWait repeat the post
// once.
func (v *delivery) unreadable(err error) error {
	var limited *RateLimitedError
	var gone *GoneError
	if errors.As(err, &limited) || errors.As(err, &gone) {
		return err
	}
	if wait := v.m.IntentAt.Add(v.d.cfg.AmbiguousWait).Sub(v.now()); wait > 0 {
		return &laterError{
			min(wait, 30*time.Second),
			"the answer to a post was lost and the channel cannot be searched: " + err.Error(),
		}
	}
	v.repeat = true
	return nil
}

func (v *delivery) post(ctx context.Context) error {
	if v.m.TS != "" {
		return nil
	}
	if err := v.begin(ctx, 0); err != nil {
		return err
	}
	ts, err := v.what.post(ctx, v.m.Channel)
	if err != nil {
		return err
	}
	v.m.TS, v.drawn = ts, true
	v.m.Sent = max(v.m.Sent, v.what.version())
	v.clearIntent()
	return v.save(ctx, false)
}

func (v *delivery) update(ctx context.Context) error {
	if v.drawn || v.m.Wanted <= v.m.Sent {
		return nil
	}
	err := v.what.update(ctx, v.m.Channel, v.m.TS)
	// Without its number: an incident that changes all the time must not begin anew with each version.
	if err := v.leaveOut(ctx, "new version", err); err != nil {
		return err
	}
	v.drawn = true
	v.m.Sent = max(v.m.Sent, v.what.version())
	return nil
}

// thread adds what is missing, in order, and says whether that was all there is to say now.
func (v *delivery) thread(ctx context.Context) (bool, error) {
	for range maxReplies {
		r := v.what.next(v.m, v.now())
		if r.seq <= v.m.ThreadSent {
			return true, nil
		}
		if r.send == nil {
			v.m.ThreadSent = r.seq
			continue
		}
		if v.stopping(ctx) {
			return false, nil
		}
		if err := v.begin(ctx, r.seq); err != nil {
			return false, err
		}
		err := r.send(ctx, v.m.Channel, v.m.TS)
		if err := v.leaveOut(ctx, fmt.Sprintf("journal entry %d", r.seq), err); err != nil {
			return false, err
		}
		v.m.ThreadSent = r.seq
		if r.calls {
			v.m.CalledAt = v.now()
		}
		v.clearIntent()
	}
	return v.what.next(v.m, v.now()).seq <= v.m.ThreadSent, nil
}

// leaveOut is the error of a call. One that refuses something for what it says, as Config.RetryRefused before, is
// logged, counted and no error any more: it must not keep all that follows from the receiver. The message itself is
// never left out.
func (v *delivery) leaveOut(ctx context.Context, what string, err error) error {
	permanent, ok := errors.AsType[*PermanentError](err)
	if !ok || !permanent.Content {
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	if !v.again(err) || v.early() {
		return &PermanentError{
			Err: err, Content: true, Next: permanent.Next + " It is tried once more, " +
				incident.FormatDuration(v.d.cfg.RetryRefused) + " later, and then left out.",
		}
	}
	v.d.leftOut.Add(1)
	v.d.logger.ErrorContext(ctx, "a part of a message is left out: the receiver refuses it, also when tried again",
		"incident", v.m.Incident, "version", v.what.version(), "err", err,
		"reason", permanent.Next+" It isn't sent again; the incident's page has it.")
	return nil
}

// again says that the turn before ended with the same error.
func (v *delivery) again(err error) bool { return clip(err.Error()) == v.before }

// early says that the message came back before it was due, because its incident has changed.
func (v *delivery) early() bool { return v.m.NextAt.After(v.now()) }

// stopping says that nothing more should be begun: the process ends, or the lease has too little left for another call.
func (v *delivery) stopping(ctx context.Context) bool {
	select {
	case <-v.stop:
		return true
	default:
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < v.d.cfg.Lease/4
}

// begin stores the intent before a post. A repeated post is stored as given up: whatever happens next, it is not
// repeated again until a new version is wanted.
func (v *delivery) begin(ctx context.Context, seq int64) error {
	v.m.IntentAt, v.m.IntentThread, v.m.GaveUp = v.now(), seq, v.repeat
	v.sending = true
	return v.save(ctx, false)
}

func (v *delivery) clearIntent() {
	v.m.IntentAt, v.m.IntentThread, v.m.GaveUp = time.Time{}, 0, false
	v.sending, v.repeat = false, false
}

// finish gives the claim back. When the message is up to date, the next edit waits for a while, so that a burst becomes
// one.
func (v *delivery) finish(ctx context.Context, complete bool) error {
	v.clearIntent()
	if v.before != "" {
		v.d.logger.InfoContext(ctx, "the message is delivered again", "incident", v.m.Incident)
	}
	v.m.Attempts, v.m.LastError, v.m.NextAt = 0, "", v.now()
	if complete {
		v.m.NextAt = v.now().Add(v.d.cfg.gap(v.m))
		v.d.delivered.Add(1)
	}
	return v.save(ctx, true)
}

// save writes even when the time for the message is over: what was sent must be known.
func (v *delivery) save(ctx context.Context, release bool) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), saveTimeout,
		fmt.Errorf("saving took longer than %s", saveTimeout))
	defer cancel()
	if err := v.d.outbox.SaveMessage(ctx, v.m, release); err != nil {
		return &saveError{fmt.Errorf("save the message: %w", err)}
	}
	return nil
}
