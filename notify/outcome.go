package notify

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// failed stores what a failure of the notifier means for the message: when to try again, or that it needs a human.
func (v *delivery) failed(ctx context.Context, err error) error {
	var later *laterError
	var limited *RateLimitedError
	var lost *AmbiguousError
	var gone *GoneError
	var permanent *PermanentError
	switch {
	case errors.As(err, &later):
		v.m.NextAt = v.now().Add(later.after)
	case errors.As(err, &limited):
		v.notSent()
		v.m.NextAt = v.now().Add(max(limited.After, time.Second))
		if v.m.TS != "" && v.what != nil && !v.what.asks() {
			v.m.NextAt = v.m.NextAt.Add(giveWay)
		}
	case v.sending &&
		(errors.As(err, &lost) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		v.lost(ctx, err)
	case errors.As(err, &gone):
		v.gone(ctx)
	case errors.As(err, &permanent):
		v.notSent()
		v.m.GaveUp, v.m.Refused, v.m.Attempts = true, !errors.Is(err, incident.ErrNotFound), v.m.Attempts+1
		if !v.again(err) || !v.early() { // else it waits as long as it did
			v.m.NextAt = v.now().Add(v.d.cfg.RetryRefused)
		}
		v.say(ctx, err, permanent.Next)
	default:
		v.notSent()
		v.m.Attempts++
		v.m.NextAt = v.now().Add(v.d.cfg.backoff(v.m.Attempts))
		v.say(ctx, err, "It is tried again by itself.")
	}
	v.m.LastError = clip(err.Error())
	return v.save(ctx, true)
}

// giveWay is how much longer than a rate limit lasts a message waits that asks nobody anything: those that ask come
// first.
const giveWay = time.Second

// brokenTries is how many turns of a message in a row may end in an error in the program before it is given up.
const brokenTries = 5

// broken stores that the turn panicked. What was being posted may have arrived.
func (v *delivery) broken(ctx context.Context, err error) error {
	switch {
	case v.sending:
		v.lost(ctx, err)
	default:
		v.m.Attempts++
		v.m.NextAt = v.now().Add(v.d.cfg.backoff(v.m.Attempts))
	}
	if v.m.Attempts >= brokenTries {
		v.m.GaveUp = true
		v.d.logger.ErrorContext(ctx, "a message is parked until its incident changes", "incident", v.m.Incident, "attempt",
			v.m.Attempts, "err", err)
	}
	v.m.LastError = clip(err.Error())
	return v.save(ctx, true)
}

// notSent takes back the intent of this turn, because it is known that nothing was posted. The intent of a repeated
// post stays: its elder is still open.
func (v *delivery) notSent() {
	switch {
	case v.repeat:
		v.m.GaveUp = false
	case v.sending:
		v.clearIntent()
	}
}

// lost keeps the intent: the channel is searched at the next turn. After a repeated post it has ended until a new
// version is wanted.
func (v *delivery) lost(ctx context.Context, err error) {
	v.m.Attempts++
	v.m.NextAt = v.now().Add(v.d.cfg.LookAfter)
	if v.repeat {
		v.say(ctx, err,
			"The post was repeated once and its answer was lost again. Look into the channel, and give the app the right to "+
				"read its history, so that the bot can look by itself.")
		return
	}
	v.say(ctx, err, "The bot searches the channel before it posts anything again.")
}

// gone makes the next turn post a new message in the place of one that somebody deleted; when the incident is over,
// nothing is shown.
func (v *delivery) gone(ctx context.Context) {
	v.clearIntent()
	v.m.TS, v.m.NextAt = "", v.now()
	if v.what.open() {
		v.d.logger.WarnContext(ctx, "the message was deleted; it is posted anew", "incident", v.m.Incident)
		return
	}
	v.m.Sent = max(v.m.Sent, v.what.version())
	v.m.ThreadSent = max(v.m.ThreadSent, v.what.last())
}

// say counts a failure, and logs it once, not at every turn that fails in the same way. The reason is the next step.
func (v *delivery) say(ctx context.Context, err error, reason string) {
	v.d.failed.Add(1)
	if v.again(err) {
		return
	}
	v.d.logger.WarnContext(ctx, "a message was not delivered", "incident", v.m.Incident, "attempt", v.m.Attempts, "err",
		err, "reason", reason)
}

func clip(s string) string {
	if len(s) <= maxError {
		return s
	}
	cut := maxError
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
