package incident

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// DefaultLease is how long a claim lasts when nothing else is said.
const DefaultLease = 2 * time.Minute

// Timing is how long the engine waits for what. Zero fields take the defaults.
type Timing struct {
	// Sweep is how often the engine looks without being woken. Default 1 s.
	Sweep time.Duration
	// Lease is how long a claim lasts; one advance gets nine tenths of it. Default 2 min.
	Lease time.Duration
	// GroupWait gathers the first alerts before the investigation. Default 5 s: Alertmanager has grouped already.
	GroupWait time.Duration
	// Gather is how long news of the alerts gather before they are one line of the thread. Default 1 min: a rule that
	// flaps writes no more than that.
	Gather time.Duration
	// Refresh is how often a plan that waits for people is looked at again. Default 1 min.
	Refresh time.Duration
	// Watch is how often a quiet incident is looked at again. Default 1 min.
	Watch time.Duration
	// Expire is how long people are asked when the pool says nothing. Default 30 min.
	Expire time.Duration
	// Retry is the pause after a failed look at the outside. Default 5 s.
	Retry time.Duration
	// GiveUp is how long an approved step waits for a check that cannot be made. Default 2 min; then it is refused.
	GiveUp time.Duration
	// RolloutPoll and RolloutLimit: how often a rollout is looked at, and when it counts as failed. Defaults 5 s and 30
	// min: start-up of a large model takes minutes (docs/actions/replicas.md).
	RolloutPoll, RolloutLimit time.Duration
	// Settle is the signals' window that must pass after the rollout. Default 5 min, the window of the built-in signals.
	Settle time.Duration
	// VerifyEvery and VerifyFor: how often the signals are read after settling and for how long before the verdict stands.
	// Defaults 30 s and 5 min.
	VerifyEvery, VerifyFor time.Duration
	// Hold is how long the signals must be healthy before an incident closes. Default 5 min.
	Hold time.Duration
	// Reopen is how long after its end a re-fire opens an incident again instead of making a new one. Default
	// ReopenWithin; at most MaxSnooze, which is how far back a pool's last incident is looked for.
	Reopen time.Duration
	// Stale is when an incident about which nothing can be learned, and of which no alert fires, is closed. Default 24 h.
	Stale time.Duration
}

// WithDefaults has the default in every field that is zero.
func (t Timing) WithDefaults() Timing {
	t.Sweep = cmp.Or(t.Sweep, time.Second)
	t.Lease = cmp.Or(t.Lease, DefaultLease)
	t.GroupWait = cmp.Or(t.GroupWait, 5*time.Second)
	t.Gather = cmp.Or(t.Gather, time.Minute)
	t.Refresh = cmp.Or(t.Refresh, time.Minute)
	t.Watch = cmp.Or(t.Watch, time.Minute)
	t.Expire = cmp.Or(t.Expire, 30*time.Minute)
	t.Retry = cmp.Or(t.Retry, 5*time.Second)
	t.GiveUp = cmp.Or(t.GiveUp, 2*time.Minute)
	t.RolloutPoll = cmp.Or(t.RolloutPoll, 5*time.Second)
	t.RolloutLimit = cmp.Or(t.RolloutLimit, 30*time.Minute)
	t.Settle = cmp.Or(t.Settle, 5*time.Minute)
	t.VerifyEvery = cmp.Or(t.VerifyEvery, 30*time.Second)
	t.VerifyFor = cmp.Or(t.VerifyFor, 5*time.Minute)
	t.Hold = cmp.Or(t.Hold, 5*time.Minute)
	t.Reopen = cmp.Or(t.Reopen, ReopenWithin)
	t.Stale = cmp.Or(t.Stale, 24*time.Hour)
	return t
}

// Validate says which fields are negative.
func (t Timing) Validate() error {
	var errs []error
	for name, d := range map[string]time.Duration{
		"sweep": t.Sweep, "lease": t.Lease, "group_wait": t.GroupWait, "gather": t.Gather,
		"refresh": t.Refresh, "watch": t.Watch,
		"expire": t.Expire,
		"retry":  t.Retry, "give_up": t.GiveUp, "rollout_poll": t.RolloutPoll, "rollout_limit": t.RolloutLimit,
		"settle":       t.Settle,
		"verify_every": t.VerifyEvery, "verify_for": t.VerifyFor, "hold": t.Hold, "reopen": t.Reopen, "stale": t.Stale,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("timing.%s must not be negative", name))
		}
	}
	if t.Reopen > MaxSnooze {
		errs = append(errs, fmt.Errorf("timing.reopen is %v, must be at most %v", t.Reopen, MaxSnooze))
	}
	return errors.Join(errs...)
}

// Due says when the engine should look at an incident again.
func (t Timing) Due(inc Incident, now time.Time) time.Time {
	if s := inc.Setback; s != nil && s.RetryAt.After(now) && inc.State != StateClosed {
		return s.RetryAt
	}
	switch inc.State {
	case StateReceived:
		return inc.OpenedAt.Add(t.GroupWait)
	case StateInvestigating, StateProposed:
		return now
	case StateDeciding:
		next := now.Add(t.Refresh)
		if inc.Plan != nil && !inc.Plan.ExpiresAt.IsZero() && inc.Plan.ExpiresAt.Before(next) {
			next = inc.Plan.ExpiresAt
		}
		return next
	case StateApplying, StateSettling, StateVerifying, StateUndoing:
		return t.dueRunning(inc, now)
	case StateWatching:
		return now.Add(t.Watch)
	case StateClosed:
		return time.Time{}
	default:
		return now.Add(t.Watch)
	}
}

func (t Timing) dueRunning(inc Incident, now time.Time) time.Time {
	if inc.Active == nil {
		return now.Add(t.Retry)
	}
	switch inc.Active.Phase {
	case PhaseRecheck, PhaseRollout:
		return now
	case PhaseClaimed:
		if next := t.NextTry(inc.Active); next.After(now) {
			return next
		}
		return now
	case PhaseSettle:
		if look := now.Add(t.VerifyEvery); look.Before(inc.Active.SettleUntil) {
			return look
		}
		return inc.Active.SettleUntil
	case PhaseVerify:
		if inc.Active.Readings > 0 {
			return now.Add(t.VerifyEvery)
		}
		return now
	default:
		return now.Add(t.Retry)
	}
}

// NextTry is when a claimed write without a clear answer is looked at again: after Retry, and twice as long with each
// further try, up to Watch.
func (t Timing) NextTry(act *Active) time.Time {
	if act.Tries == 0 {
		return act.Since
	}
	return act.TriedAt.Add(min(t.Retry<<min(act.Tries-1, 16), max(t.Watch, t.Retry)))
}

// Patience is the pause after an investigation that failed, when that has gone on for so long: ever longer, from Retry
// up to Watch.
func (t Timing) Patience(since time.Duration) time.Duration {
	return max(t.Retry, min(since, t.Watch))
}
