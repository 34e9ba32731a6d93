package remediation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// turn is one look at one claimed incident: what was read, and the fence that its commits carry.
type turn struct {
	inc   incident.Incident
	fence int64
	pool  incident.Pool
	now   time.Time
	// overtaken says that somebody else committed during the turn.
	overtaken bool
}

// extra is what goes into a commit beside the event.
type extra struct {
	claim, finish *incident.Write
	lock          string
	// keep holds the claim, because this turn goes on.
	keep bool
	// asRead says that the event is a conclusion from the incident as it was read: when somebody commits meanwhile, it is not worked out again but
	// given up, and the incident looked at anew. "None of these alerts fires" is not true any more when one has joined.
	asRead bool
}

// staleTries bounds how often a change is worked out again because somebody else committed in between. Commits on one incident come from
// people and alerts; eight in a row within one turn mean that something is wrong.
const staleTries = 8

// commit applies an event to the claimed incident and commits it. When the incident changed meanwhile (an alert joined, a person decided) the
// event is applied to the new one; a refusal there means that the event has been overtaken, and is returned as *incident.RefusedError.
func (e *Engine) commit(ctx context.Context, t *turn, ev incident.Event, x extra) error {
	for range staleTries {
		res, err := incident.Apply(t.inc, ev, t.now)
		if err != nil {
			return err
		}
		ch := incident.Change{
			Incident: res.Incident, Expect: t.inc.Version, Fence: t.fence, Entries: res.Entries, Redraw: res.Redraw,
			DueAt: e.cfg.Timing.Due(res.Incident, t.now), Release: !x.keep,
			Claim: x.claim, Finish: x.finish, Lock: x.lock, Unlock: released(t.inc, res.Incident),
		}
		err = e.deps.Incidents.Commit(ctx, ch)
		if err == nil {
			t.inc = res.Incident
			t.inc.Version = ch.Expect + 1
			return nil
		}
		if !errors.Is(err, incident.ErrStale) {
			return err
		}
		t.overtaken = true
		if t.inc, err = e.deps.Incidents.Incident(ctx, t.inc.ID); err != nil {
			return fmt.Errorf("read incident again: %w", err)
		}
		if x.asRead {
			return &incident.RefusedError{Reason: fmt.Sprintf("The incident has changed since it was looked at; %s is not concluded from an old look.", ev.Kind())}
		}
	}
	return fmt.Errorf("incident %s: %s: %w, %d times in a row", t.inc.ID, ev.Kind(), incident.ErrStale, staleTries)
}

// later gives the claim back without a change.
func (e *Engine) later(ctx context.Context, t *turn, after time.Duration) error {
	return e.deps.Incidents.ReleaseClaim(ctx, t.inc.ID, t.fence, t.inc.Version, t.now.Add(after))
}

// Act applies what a person did: no claim is needed, the version guards it. A refusal is *incident.RefusedError with the sentence for the
// person; incident.ErrNotFound when there is no such incident. It may be called twice: the second one is refused or changes nothing.
func (e *Engine) Act(ctx context.Context, id string, ev incident.Event) (incident.Incident, error) {
	for range staleTries {
		inc, err := e.deps.Incidents.Incident(ctx, id)
		if err != nil {
			return incident.Incident{}, fmt.Errorf("incident %s: %w", id, err)
		}
		now := e.deps.Now()
		res, err := incident.Apply(inc, e.underNow(inc, ev), now)
		if err != nil {
			return inc, err
		}
		res.Incident = res.Incident.RetryNow()
		ch := incident.Change{
			Incident: res.Incident, Expect: inc.Version, Entries: res.Entries, Redraw: res.Redraw, DueAt: now,
			Unlock: released(inc, res.Incident),
		}
		if act := inc.Active; act != nil && act.Phase == incident.PhaseClaimed && res.Incident.Active == nil {
			ch.Finish = &incident.Write{ID: act.WriteID, EndedAt: now, Result: incident.ResultUnknown}
		}
		err = e.deps.Incidents.Commit(ctx, ch)
		if err == nil {
			res.Incident.Version = inc.Version + 1
			return res.Incident, nil
		}
		if !errors.Is(err, incident.ErrStale) {
			return inc, fmt.Errorf("incident %s: %w", id, err)
		}
	}
	return incident.Incident{}, fmt.Errorf("incident %s: %w, too often; try again", id, incident.ErrStale)
}

// underNow adds to a decision the approvers that are configured now: the plan may have been asked about under others.
func (e *Engine) underNow(inc incident.Incident, ev incident.Event) incident.Event {
	d, ok := ev.(incident.Decided)
	if !ok {
		return ev
	}
	p, known := e.pool(inc.Pool)
	s, found := inc.Step(d.Decision.Step)
	if known && found {
		now := p.ApproversFor(s.Kind)
		d.Approvers = &now
	}
	return d
}

// Decide takes a person's decision in; whether the person is allowed has been checked.
func (e *Engine) Decide(ctx context.Context, id string, d incident.Decision) (incident.Incident, error) {
	return e.Act(ctx, id, incident.Decided{Decision: d})
}

// released names the lock that falls with the end of a step: the active step's target, when no step is active any more.
func released(before, after incident.Incident) string {
	if before.Active == nil || after.Active != nil {
		return ""
	}
	s, _ := before.Step(before.Active.Step)
	return s.Target.Key()
}
