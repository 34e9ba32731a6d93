package remediation

import (
	"context"
	"errors"
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// run moves an approved step, or an undo, through check, claim, write and the rollout of an undo.
func (e *Engine) run(ctx context.Context, t *turn) error {
	act := t.inc.Active
	if act == nil {
		return fmt.Errorf("the incident is %s without an active step", t.inc.State)
	}
	s, ok := t.inc.Step(act.Step)
	if !ok {
		return fmt.Errorf("the active step %s does not exist", act.Step)
	}
	if act.Op != incident.OpApply && act.Op != incident.OpUndo {
		return fmt.Errorf("the operation %q is not known", act.Op) // a newer version began it
	}
	exec := e.executor(t.inc.Drill)
	switch {
	case exec == nil && act.Phase == incident.PhaseRecheck:
		return e.stop(ctx, t, act, "no Kubernetes API is configured any more", nil)
	case exec == nil:
		// The write may have happened. It cannot be ended as if it had not, so a person is told.
		return e.hold(ctx, t, fmt.Sprintf("What became of the write to %s cannot be seen: no Kubernetes API is configured any more. Look yourself, or abort.", s.Target), e.cfg.Timing.Watch)
	}
	switch act.Phase {
	case incident.PhaseRecheck:
		return e.recheck(ctx, t, exec, s)
	case incident.PhaseClaimed:
		// Found claimed: this process or another one ended, or lost the answer, in the middle of the write. Look before anything else.
		return e.observe(ctx, t, exec, s)
	case incident.PhaseRollout:
		return e.rollout(ctx, t, exec, s)
	case incident.PhaseSettle, incident.PhaseVerify:
	}
	return fmt.Errorf("the phase %s does not belong to the state %s", act.Phase, t.inc.State)
}

// recheck asks everything again that the human saw, then claims the write and makes it in the same turn.
func (e *Engine) recheck(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	claim := incident.WriteClaimed{Step: s.ID, Op: act.Op, WriteID: writeID(t.inc, act)}
	var guards []incident.Guardrail
	if act.Op == incident.OpApply {
		if why := e.unapproved(t, s); why != "" {
			return e.stop(ctx, t, act, why, nil)
		}
		ev, again, err := e.stillTrue(ctx, t, exec, s)
		if err != nil || again {
			return err
		}
		claim.Before = ev.Readings
		guards = e.check(ctx, t.pool, t.inc, s, act.Op, ev)
	} else {
		guards = e.check(ctx, t.pool, t.inc, s, act.Op, incident.Evidence{})
	}
	if why := policy.Refusal(guards); why != "" {
		return e.stop(ctx, t, act, why, guards)
	}
	mark, again, err := e.mark(ctx, t, exec, s)
	if err != nil || again {
		return err
	}
	claim.Mark = mark
	w := incident.Write{
		ID: claim.WriteID, Incident: t.inc.ID, Step: s.ID, Pool: t.inc.Pool, Kind: s.Kind, Target: s.Target.Key(), Op: act.Op,
		Drill: t.inc.Drill, StartedAt: t.now,
	}
	err = e.commit(ctx, t, claim, extra{claim: &w, lock: s.Target.Key(), keep: true})
	var paused *incident.PausedError
	var locked *incident.LockedError
	switch {
	case errors.As(err, &paused):
		return e.stop(ctx, t, act, paused.Error(), nil)
	case errors.As(err, &locked):
		return e.stop(ctx, t, act, locked.Error(), nil)
	case err != nil:
		return err
	}
	return e.write(ctx, t, exec, s)
}

// stillTrue reads again and says whether the runbook still asks for the very step that was approved, and the target is what the human saw. again is true when
// this turn has ended: the step was stopped, or the question has to be asked once more.
func (e *Engine) stillTrue(ctx context.Context, t *turn, exec Executor, s incident.Step) (incident.Evidence, bool, error) {
	l := e.read(ctx, t.pool, t.inc)
	if why := dropped(t.inc, s, l); why != "" {
		if l.Result.Healthy != incident.True && partial(l) && e.mayRetry(t) {
			return l.Evidence, true, e.later(ctx, t, e.cfg.Timing.Retry)
		}
		return l.Evidence, true, e.stop(ctx, t, t.inc.Active, why, nil)
	}
	err := exec.Recheck(ctx, t.pool, s)
	why := ""
	if err == nil {
		why, err = e.replaced(ctx, t, exec, s, l)
	}
	var drift *incident.DriftError
	var refused *incident.RefusedError
	switch {
	case err == nil && why == "":
		return l.Evidence, false, nil
	case err == nil:
		return l.Evidence, true, e.stop(ctx, t, t.inc.Active, why, nil)
	case errors.As(err, &drift), errors.As(err, &refused):
		return l.Evidence, true, e.stop(ctx, t, t.inc.Active, err.Error(), nil)
	case e.mayRetry(t):
		e.deps.Logger.WarnContext(ctx, "the check before the write is tried again", "incident", t.inc.ID, "step", s.ID, "err", err)
		return l.Evidence, true, e.later(ctx, t, e.cfg.Timing.Retry)
	default:
		return l.Evidence, true, e.stop(ctx, t, t.inc.Active, "it could not be checked again: "+err.Error(), nil)
	}
}

// unapproved says why the approvals of a step do not suffice under the configuration of now, or "".
func (e *Engine) unapproved(t *turn, s incident.Step) string {
	return policy.Unapproved(careful(t.inc.Mode, t.pool.Mode), s, t.pool.ApproversFor(s.Kind), e.cfg.Policy)
}

// mayRetry says whether an approval is young enough to wait for a look that failed.
func (e *Engine) mayRetry(t *turn) bool { return t.now.Sub(t.inc.Active.Since) < e.cfg.Timing.GiveUp }

// stop ends what was checked before its write. act is what the turn began with: the incident may have been read again since.
func (e *Engine) stop(ctx context.Context, t *turn, act *incident.Active, why string, guards []incident.Guardrail) error {
	return e.commit(ctx, t, incident.Stopped{Step: act.Step, Op: act.Op, Reason: why, Guardrails: guards, ExpiresAt: e.askUntil(t)}, extra{})
}

// write makes the claimed write. Its answer decides; without a clear one the next turn observes.
func (e *Engine) write(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	err := exec.Do(ctx, t.pool, s, act.Op, act.WriteID)
	var drift *incident.DriftError
	var refused *incident.RefusedError
	switch {
	case err == nil && t.inc.Drill:
		return e.wrote(ctx, t, incident.ResultDrilled, "")
	case err == nil:
		return e.wrote(ctx, t, incident.ResultApplied, "")
	case errors.As(err, &drift):
		return e.wrote(ctx, t, incident.ResultDrift, drift.Error())
	case errors.As(err, &refused):
		return e.wrote(ctx, t, incident.ResultFailed, refused.Error())
	}
	e.deps.Logger.WarnContext(ctx, "the outcome of a write is not known; the object will be looked at", "incident", t.inc.ID, "step", s.ID, "err", err)
	return e.commit(ctx, t, incident.Unanswered{Error: brief(err)}, extra{})
}

func (e *Engine) wrote(ctx context.Context, t *turn, r incident.WriteResult, note string) error {
	end := incident.Write{ID: t.inc.Active.WriteID, EndedAt: e.deps.Now(), Result: r}
	return e.commit(ctx, t, incident.Written{Result: r, Note: note, ExpiresAt: e.askUntil(t)}, extra{finish: &end})
}

// writeID names the claim: the same for the same step and operation, so that a repeated write is recognised.
func writeID(inc incident.Incident, act *incident.Active) string {
	return fmt.Sprintf("%s.%s.%s.%d", inc.ID, act.Step, act.Op, act.Since.Unix())
}
