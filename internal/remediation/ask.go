package remediation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// ask decides on a new plan: policy may approve its first step, else people are asked until the plan expires.
func (e *Engine) ask(ctx context.Context, t *turn) error {
	mode := strictestMode(t.inc.Mode, t.pool.Mode)
	for _, s := range t.inc.Proposed() {
		approvers := t.pool.ApproversFor(s.Kind)
		answer, why := policy.Decide(mode, s, approvers, e.cfg.Policy)
		switch answer {
		case policy.Automatic:
			if t.inc.AskedBy != nil || t.inc.ChosenBy(s) != nil { // a person wants to be asked
				return e.commit(ctx, t, incident.Asked{ExpiresAt: e.askUntil(t)}, extra{})
			}
			d := incident.Decision{
				Step: s.ID, Digest: t.inc.Plan.Digest, Verb: incident.Approve,
				By:     incident.Actor{Kind: incident.ActorPolicy, ID: "auto"},
				Reason: why,
			}
			return e.commit(ctx, t, incident.Decided{Decision: d, Approvers: &approvers}, extra{})
		case policy.NeedsApproval:
			return e.commit(ctx, t, incident.Asked{ExpiresAt: e.askUntil(t)}, extra{})
		case policy.Refused:
		}
	}
	return e.commit(ctx, t, incident.Muted{Note: incident.Note{Kind: incident.NoteNoStep}}, extra{})
}

// askUntil is until when people may decide on what is asked, or left, of a plan: one request is for all of it, so it is
// open no longer than each of its steps may wait. The step that is being run is one of them: it may be asked about
// again, or its undo be offered.
func (e *Engine) askUntil(t *turn) time.Time {
	asked := t.inc.Asking()
	if act := t.inc.Active; act != nil {
		if s, ok := t.inc.Step(act.Step); ok {
			asked = append(asked, s)
		}
	}
	if len(asked) == 0 {
		return t.now.Add(e.expire(t.pool.ApproversFor("")))
	}
	shortest := e.expire(t.pool.ApproversFor(asked[0].Kind))
	for _, s := range asked[1:] {
		shortest = min(shortest, e.expire(t.pool.ApproversFor(s.Kind)))
	}
	return t.now.Add(shortest)
}

func (e *Engine) expire(a incident.Approvers) time.Duration {
	if a.Expire > 0 {
		return a.Expire
	}
	return e.cfg.Timing.Expire
}

// unapproved says why the approvals of a step do not suffice under the configuration of now; zero: they do.
func (e *Engine) unapproved(t *turn, s incident.Step) incident.Reason {
	mode, approvers := strictestMode(t.inc.Mode, t.pool.Mode), t.pool.ApproversFor(s.Kind)
	return policy.Unapproved(mode, s, approvers, t.inc.ChosenBy(s), e.cfg.Policy)
}

// errDecision says that a decision was to be recorded elsewhere than in Decide.
var errDecision = errors.New("decisions are recorded by Decide only")

// Decide takes a person's decision in; whether the person is allowed has been checked. Every decision of a person, from
// whatever surface, is recorded here. It answers like Act.
func (e *Engine) Decide(ctx context.Context, id string, d incident.Decision) (incident.Incident, error) {
	return e.act(ctx, id, incident.Decided{Decision: d})
}

// Act applies what a person did other than to decide: no claim is needed, the version guards it. A refusal is
// *incident.RefusedError with the sentence for the person; incident.ErrNotFound when there is no such incident. It may
// be called twice: the second one is refused or changes nothing.
func (e *Engine) Act(ctx context.Context, id string, ev incident.Event) (incident.Incident, error) {
	if _, decision := ev.(incident.Decided); decision {
		return incident.Incident{}, fmt.Errorf("incident %s: %w", id, errDecision)
	}
	return e.act(ctx, id, ev)
}

func (e *Engine) act(ctx context.Context, id string, ev incident.Event) (incident.Incident, error) {
	for range staleTries {
		inc, err := e.deps.Incidents.Incident(ctx, id)
		if err != nil {
			return incident.Incident{}, fmt.Errorf("incident %s: %w", id, err)
		}
		now := e.deps.Now()
		held, unread := e.underNow(ctx, inc, ev)
		res, err := applied(inc, now, held)
		switch {
		case err != nil:
			return inc, err
		case unread != nil:
			return inc, fmt.Errorf("incident %s: %w", id, unread)
		}
		res.Incident = res.Incident.RetryNow()
		ch := incident.Change{
			Incident: res.Incident, Expect: inc.Version, Entries: res.Entries, Render: res.Render, DueAt: now,
			Unlock: releasedLock(inc, res.Incident),
		}
		act := inc.Active
		if act != nil && act.Phase == incident.PhaseClaimed && res.Incident.Active == nil && inc.Drill == nil {
			ch.Finish = &incident.Write{ID: act.WriteID, EndedAt: now, Result: incident.ResultUnknown}
		}
		within, _ := e.deps.Within(ctx, inc) // it is no turn: what it ends is a wait
		err = e.deps.Incidents.Commit(within, ch)
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

// underNow adds to what a person did what it is held against now: to a decision the approvers that are configured, as
// the plan may have been asked about under others; to what leads to a write the pause that covers the pool.
func (e *Engine) underNow(ctx context.Context, inc incident.Incident, ev incident.Event) (incident.Event, error) {
	var err error
	switch d := ev.(type) {
	case incident.Decided:
		p, known := e.router.pool(inc.Pool)
		s, found := inc.Step(d.Decision.Step)
		if known && found {
			now := p.ApproversFor(s.Kind)
			d.Approvers = &now
		}
		if d.Decision.Verb == incident.Approve {
			d.Paused, err = e.pauseOf(ctx, inc.Pool)
		}
		return d, err
	case incident.Narrowed:
		d.Paused, err = e.pauseOf(ctx, inc.Pool)
		return d, err
	}
	return ev, nil
}

// pauseOf is the pause that covers a pool; nil: none does.
func (e *Engine) pauseOf(ctx context.Context, pool string) (*incident.Pause, error) {
	pauses, err := e.deps.Ledger.Pauses(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	return incident.PauseOf(pauses, pool), nil
}
