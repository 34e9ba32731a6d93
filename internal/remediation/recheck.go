package remediation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// recheck asks everything again that the human saw, then claims the write and makes it in the same turn.
func (e *Engine) recheck(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	claim := incident.WriteClaimed{Step: s.ID, Op: act.Op, WriteID: writeID(t.inc, act)}
	var guards []incident.Guardrail
	var found *Investigation
	if act.Op == incident.OpApply {
		if why := e.unapproved(t, s); why.Kind != "" {
			return e.commitStopped(ctx, t, act, why, nil, nil)
		}
		now, again, err := e.stillTrue(ctx, t, exec, s)
		if err != nil || again {
			return err
		}
		found, claim.Before = &now, now.Evidence.Readings
		guards = e.investigator.guardrails(ctx, t.pool, t.inc, s, act.Op, now.Evidence)
	} else {
		guards = e.investigator.guardrails(ctx, t.pool, t.inc, s, act.Op, incident.Evidence{})
	}
	if why := policy.Refusal(guards); why.Kind != "" {
		return e.commitStopped(ctx, t, act, why, guards, found)
	}
	mark, again, err := e.mark(ctx, t, exec, s)
	if err != nil || again {
		return err
	}
	claim.Mark = mark
	w := incident.Write{
		ID: claim.WriteID, Incident: t.inc.ID, Step: s.ID, Pool: t.inc.Pool, Kind: s.Kind, Target: s.Target.Key(), Op: act.Op,
		DryRun: t.inc.DryRun, StartedAt: t.now,
	}
	err = e.commit(ctx, t, claim, extra{claim: &w, lock: s.Target.Key(), keep: true, found: found})
	var paused *incident.PausedError
	var locked *incident.LockedError
	switch {
	case errors.As(err, &paused):
		return e.commitStopped(ctx, t, act, paused.Reason(), nil, found)
	case errors.As(err, &locked):
		return e.commitStopped(ctx, t, act, locked.Reason(), nil, found)
	case err != nil:
		return err
	}
	return e.write(ctx, t, exec, s)
}

// stillTrue reads again and says whether the runbook still asks for the very step that was approved, and the target is
// what the human saw. again is true when this turn has ended: the step was stopped, or the question has to be asked
// once more.
func (e *Engine) stillTrue(
	ctx context.Context, t *turn, exec Executor, s incident.Step,
) (Investigation, bool, error) {
	found := e.investigator.assess(ctx, t.pool, t.inc)
	if why := dropped(t.inc, s, found); why.Kind != "" {
		return found, true, e.stopUnlessPartial(ctx, t, why, found)
	}
	err := exec.Recheck(ctx, t.pool, s)
	var why incident.Reason
	if err == nil {
		why, err = e.replaced(ctx, t, exec, s, found)
	}
	var drift *incident.DriftError
	var refused *incident.RefusedError
	switch {
	case err == nil && why.Kind == "":
		return found, false, nil
	case err == nil:
		return found, true, e.stopUnlessPartial(ctx, t, why, found)
	case errors.As(err, &drift):
		return found, true, e.commitStopped(ctx, t, t.inc.Active, drift.Reason(), nil, &found)
	case errors.As(err, &refused):
		return found, true, e.commitStopped(ctx, t, t.inc.Active, incident.Because(err.Error()), nil, &found)
	case e.mayRetry(t):
		e.deps.Logger.WarnContext(ctx, "the check before the write is tried again",
			"incident", t.inc.ID, "step", s.ID, "err", err)
		return found, true, e.retryLater(ctx, t, e.cfg.Timing.Retry)
	default:
		why = incident.Reason{Kind: incident.ReasonUnchecked, Text: err.Error()}
		return found, true, e.commitStopped(ctx, t, t.inc.Active, why, nil, &found)
	}
}

// stopUnlessPartial stops the step for a reason that was found in readings, unless some of those could not be read and
// would perhaps say otherwise: then the question is asked again, as long as the approval is young enough.
func (e *Engine) stopUnlessPartial(
	ctx context.Context, t *turn, why incident.Reason, found Investigation,
) error {
	if found.Result.Healthy != incident.True && found.partial() && e.mayRetry(t) {
		return e.retryLater(ctx, t, e.cfg.Timing.Retry)
	}
	return e.commitStopped(ctx, t, t.inc.Active, why, nil, &found)
}

// dropped says why the runbook asks for no step of this kind any more, judged by a new investigation; zero: it
// does.
func dropped(inc incident.Incident, s incident.Step, found Investigation) incident.Reason {
	switch {
	case found.Result.Healthy == incident.True:
		return incident.Reason{Kind: incident.ReasonHealthy}
	case found.asks(s.Kind):
		return incident.Reason{}
	case !found.sameCause(inc):
		return found.otherDiagnosis()
	}
	titles := make([]string, len(found.Result.Steps))
	for n, r := range found.Result.Steps {
		titles[n] = requestTitle(r)
	}
	return incident.Reason{Kind: incident.ReasonNotAsked, Instead: strings.Join(titles, "; ")}
}

// replaced says why the runbook asks for another step than this one by now; zero: it does not. An approval binds to the
// same value on the same field of the same object, with the same way back. It holds for another cause that asks for the
// same change: under load two neighboring causes take turns (a cache at 95% and the queue before it). An error means
// that the live values could not be read from which a step is worked out.
func (e *Engine) replaced(
	ctx context.Context, t *turn, exec Executor, s incident.Step, found Investigation,
) (incident.Reason, error) {
	var instead, cannot []string
	var unread error
	for _, req := range found.Result.Steps {
		if req.Kind != s.Kind {
			continue
		}
		req.Asked = t.inc.OfferedValue(s)
		if n, chosen := t.inc.Narrowing(s.Kind); chosen && n.Holds(s) {
			req.Chosen = n.Chosen()
		}
		now, err := exec.Propose(ctx, t.pool, req)
		var refused *incident.RefusedError
		switch {
		case err == nil && now.ComputeDigest() == s.Digest:
			return incident.Reason{}, nil
		case err == nil:
			instead = append(instead, now.Title)
		case errors.As(err, &refused):
			cannot = append(cannot, refused.Reason)
		default:
			unread = err
		}
	}
	switch {
	case unread != nil:
		return incident.Reason{}, fmt.Errorf("work the step out again: %w", unread)
	case !found.sameCause(t.inc):
		return found.otherDiagnosis(), nil
	case len(instead) == 0:
		return incident.Reason{Kind: incident.ReasonNotProposable, Text: strings.Join(cannot, "; ")}, nil
	default:
		return incident.Reason{Kind: incident.ReasonOtherChange, Instead: strings.Join(instead, "; ")}, nil
	}
}

// mayRetry says whether an approval is young enough to wait for a check that failed.
func (e *Engine) mayRetry(t *turn) bool { return t.now.Sub(t.inc.Active.Since) < e.cfg.Timing.GiveUp }

// commitStopped ends what was checked before its write. act is what the turn began with: the incident may have been
// read again since. found is what the check has read, nil where it was not needed.
func (e *Engine) commitStopped(
	ctx context.Context, t *turn, act *incident.Active, why incident.Reason, guards []incident.Guardrail,
	found *Investigation,
) error {
	stopped := incident.Stopped{Step: act.Step, Op: act.Op, Why: why, Guardrails: guards, ExpiresAt: e.askUntil(t)}
	return e.commit(ctx, t, stopped, extra{found: found})
}
