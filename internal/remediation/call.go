package remediation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// waitForPeople looks again at what people are asked, and ends the time to decide. When they have not decided, others
// are called, and all are reminded.
func (e *Engine) waitForPeople(ctx context.Context, t *turn) error {
	if p := t.inc.Plan; p != nil && !p.ExpiresAt.IsZero() && !t.now.Before(p.ExpiresAt) {
		return e.commit(ctx, t, incident.Expired{}, extra{})
	}
	if len(e.calls(t)) == 0 {
		return e.investigate(ctx, t)
	}
	// What is asked may not be true any more: nobody is called before that has been looked at.
	found := e.investigator.Investigate(ctx, t.pool, t.inc)
	if err := e.commit(ctx, t, found.event(), extra{keep: true, found: &found}); err != nil {
		return err
	}
	for _, call := range e.calls(t) {
		if err := e.commit(ctx, t, call, extra{keep: true}); err != nil {
			return err
		}
	}
	return e.retryLater(ctx, t, e.due(t.inc, t).Sub(t.now))
}

// calls are the events that call people now; none while the newest look does not bear out what they are asked.
func (e *Engine) calls(t *turn) []incident.Event {
	if t.inc.State != incident.StateDeciding || !t.inc.Request.Open() || t.inc.Plan != nil && t.inc.Plan.Missed > 0 {
		return nil
	}
	var out []incident.Event
	if further := e.further(t.inc, t.pool, t.now); further.After > 0 {
		out = append(out, further)
	}
	if at := remindAt(t.inc, t.pool); !at.IsZero() && !t.now.Before(at) {
		out = append(out, incident.Reminded{})
	}
	return out
}

// further are the people whose time has come and who have not been called; After is 0 when there are none.
func (e *Engine) further(inc incident.Incident, pool incident.Pool, now time.Time) incident.Escalated {
	var out incident.Escalated
	for _, next := range escalations(inc, pool) {
		if next.After <= inc.Request.Escalated || now.Before(inc.Request.At.Add(next.After)) {
			continue
		}
		out.After = next.After
		out.Users, out.Groups = append(out.Users, next.Users...), append(out.Groups, next.Groups...)
	}
	return out
}

// escalations are those of everything that is asked, in the order of their times.
func escalations(inc incident.Incident, pool incident.Pool) []incident.Escalation {
	var out []incident.Escalation
	for _, s := range inc.Asking() {
		out = append(out, pool.ApproversFor(s.Kind).Escalate...)
	}
	slices.SortStableFunc(out, func(a, b incident.Escalation) int { return cmp.Compare(a.After, b.After) })
	return out
}

// remindAt is when people are reminded; zero when they are not, or were already. The end must have been further away at
// first: a reminder right after the request says nothing.
func remindAt(inc incident.Incident, pool incident.Pool) time.Time {
	asking := inc.Asking()
	if inc.Plan == nil || inc.Plan.ExpiresAt.IsZero() || !inc.Request.RemindedAt.IsZero() || len(asking) == 0 {
		return time.Time{}
	}
	var before time.Duration
	for _, s := range asking {
		before = max(before, pool.ApproversFor(s.Kind).Remind)
	}
	at := inc.Plan.ExpiresAt.Add(-before)
	if before == 0 || !at.After(inc.Request.At) {
		return time.Time{}
	}
	return at
}

// due is when to look at an incident again: when its timing says, or somebody is to be called before that.
func (e *Engine) due(inc incident.Incident, t *turn) time.Time {
	due := e.drillDue(inc, t.now, e.soonerForNews(inc, t.now, e.cfg.Timing.Due(inc, t.now)))
	if inc.State != incident.StateDeciding || !inc.Request.Open() || inc.Setback != nil {
		return due
	}
	sooner := func(at time.Time) {
		if at.After(t.now) && at.Before(due) {
			due = at
		}
	}
	sooner(remindAt(inc, t.pool))
	for _, next := range escalations(inc, t.pool) {
		sooner(inc.Request.At.Add(next.After))
	}
	return due
}

// soonerForNews is when to look again at an incident whose alerts have news that gathers for the thread. A step that is
// being followed is looked at often enough, and its readings have a pace of their own.
func (e *Engine) soonerForNews(inc incident.Incident, now, due time.Time) time.Time {
	calm := inc.State == incident.StateDeciding || inc.State == incident.StateWatching
	tell := inc.AlertsSince.Add(e.cfg.Timing.Gather)
	if !calm || inc.AlertsSince.IsZero() || inc.Setback != nil || !tell.After(now) || !tell.Before(due) {
		return due
	}
	return tell
}
