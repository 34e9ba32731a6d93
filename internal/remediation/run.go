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
	exec := e.executor(t.inc.DryRun)
	switch {
	case exec == nil && act.Phase == incident.PhaseRecheck:
		return e.commitStopped(ctx, t, act, incident.Reason{Kind: incident.ReasonNoKubernetes}, nil, nil)
	case exec == nil:
		// The write may have happened. It cannot be ended as if it had not, so a person is told.
		return e.waitWithReason(ctx, t, incident.Note{Kind: incident.NoteOutcomeUnseen, Target: s.Target}, e.cfg.Timing.Watch)
	}
	switch act.Phase {
	case incident.PhaseRecheck:
		return e.recheck(ctx, t, exec, s)
	case incident.PhaseClaimed:
		// Found claimed: this process or another one ended, or lost the answer, in the middle of the write. Look before
		// anything else.
		return e.observe(ctx, t, exec, s)
	case incident.PhaseRollout:
		return e.rollout(ctx, t, exec, s)
	case incident.PhaseSettle, incident.PhaseVerify:
	}
	return fmt.Errorf("the phase %s does not belong to the state %s", act.Phase, t.inc.State)
}

// executor applies the steps of an incident; nil when no Kubernetes is configured.
func (e *Engine) executor(dryRun bool) Executor {
	if dryRun {
		return e.deps.DryRun
	}
	return e.deps.Live
}

// mark reads the field just before its write is claimed. again is true when this turn has ended: it could not be read.
func (e *Engine) mark(
	ctx context.Context, t *turn, exec Executor, s incident.Step,
) (_ *incident.Mark, again bool, _ error) {
	if t.inc.DryRun {
		return nil, false, nil // a dry-run may be repeated
	}
	m, err := exec.Mark(ctx, t.pool, s)
	switch {
	case err == nil:
		return &m, false, nil
	case e.mayRetry(t):
		e.deps.Logger.WarnContext(ctx, "the object of a write cannot be looked at yet",
			"incident", t.inc.ID, "step", s.ID, "err", err)
		return nil, true, e.retryLater(ctx, t, e.cfg.Timing.Retry)
	default:
		why := incident.Reason{Kind: incident.ReasonObjectUnread, Text: err.Error()}
		return nil, true, e.commitStopped(ctx, t, t.inc.Active, why, nil, nil)
	}
}

// write makes the claimed write. Its answer decides; without a clear one the next turn observes.
func (e *Engine) write(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	versions, err := exec.Do(ctx, t.pool, s, act.Op, act.WriteID)
	var drift *incident.DriftError
	var refused *incident.RefusedError
	switch {
	case err == nil && t.inc.DryRun:
		return e.commitWritten(ctx, t, incident.ResultDryRun, incident.Reason{}, versions)
	case err == nil:
		return e.commitWritten(ctx, t, incident.ResultApplied, incident.Reason{}, versions)
	case errors.As(err, &drift):
		return e.commitWritten(ctx, t, incident.ResultDrift, drift.Reason(), versions)
	case errors.As(err, &refused):
		return e.commitWritten(ctx, t, incident.ResultFailed, incident.Because(refused.Error()), versions)
	}
	e.deps.Logger.WarnContext(ctx, "the outcome of a write is not known; the object will be looked at",
		"incident", t.inc.ID, "step", s.ID, "err", err)
	return e.commit(ctx, t, incident.Unanswered{Error: shorten(err.Error(), 300)}, extra{})
}

func (e *Engine) commitWritten(
	ctx context.Context, t *turn, r incident.WriteResult, why incident.Reason, versions incident.Versions,
) error {
	end := incident.Write{ID: t.inc.Active.WriteID, EndedAt: e.deps.Now(), Result: r}
	return e.commit(ctx, t, incident.Written{
		Result: r, Why: why, Versions: versions, ExpiresAt: e.askUntil(t),
	}, extra{finish: &end})
}

// writeID names the claim: the same for the same step and operation, so that a repeated write is recognised.
func writeID(inc incident.Incident, act *incident.Active) string {
	return incident.WriteID{Incident: inc.ID, Step: act.Step, Op: act.Op, Since: act.Since}.String()
}

// writeTries bounds how often a claimed write is tried whose answers say nothing. With the pauses between them they
// last for two minutes, in which an API server restarts.
const writeTries = 6

// observe finds out what became of a claimed write: it took effect, and stands or was set back; it did not happen and
// is made now; somebody else changed the object; or nobody can tell, and then it is not made again.
func (e *Engine) observe(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	if wait := e.cfg.Timing.NextTry(act).Sub(t.now); wait > 0 {
		return e.retryLater(ctx, t, wait)
	}
	if t.inc.DryRun {
		return e.tryAgain(ctx, t, exec, s) // a dry-run may be repeated
	}
	o, err := exec.Observe(ctx, t.pool, s, act.Op, act.WriteID, act.Mark)
	if err != nil {
		e.deps.Logger.WarnContext(ctx, "the object of a write cannot be looked at yet",
			"incident", t.inc.ID, "step", s.ID, "err", err)
		return e.waitWithReason(ctx, t, incident.Note{Kind: incident.NoteObjectUnread, Target: s.Target},
			e.cfg.Timing.Patience(t.now.Sub(act.Since)))
	}
	before := s.From
	if act.Op == incident.OpUndo {
		before = s.To
	}
	switch {
	case o.Ours:
		return e.commitWritten(ctx, t, incident.ResultApplied, incident.Reason{Kind: incident.ReasonInterrupted},
			incident.Versions{After: o.Version})
	case o.Made == incident.True && o.Reversal != nil:
		end := incident.Write{ID: act.WriteID, EndedAt: e.deps.Now(), Result: incident.ResultApplied}
		return e.commitReverted(ctx, t, s, *o.Reversal, extra{finish: &end})
	case o.Made == incident.False && o.Value == before:
		return e.writeAgain(ctx, t, exec, s)
	case o.Made == incident.False || act.Op == incident.OpUndo && o.Value != before:
		return e.commitWritten(ctx, t, incident.ResultDrift, incident.Reason{
			Kind: incident.ReasonChanged, Target: s.Target, Value: o.Value, Text: o.Note,
		}, incident.Versions{})
	default:
		return e.commitWritten(ctx, t, incident.ResultUnknown, unsure(s, o, before), incident.Versions{})
	}
}

// unsure says why nobody can tell what became of a write.
func unsure(s incident.Step, o incident.Observation, before incident.Value) incident.Reason {
	why := incident.Reason{Kind: incident.ReasonUnsure, Target: s.Target, Value: o.Value, Was: before}
	if o.Reversal != nil {
		why.By = o.Reversal.By
	}
	return why
}

// writeAgain makes a claimed write that did not happen, unless something has come in between that speaks against it. A
// step ends then. An undo waits: what it should restore still stands.
func (e *Engine) writeAgain(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	why, err := e.against(ctx, t, exec, s)
	switch {
	case err != nil:
		e.deps.Logger.WarnContext(ctx, "a claimed write waits",
			"incident", t.inc.ID, "step", s.ID, "err", err)
		return e.retryLater(ctx, t, e.cfg.Timing.Retry)
	case why.Kind == "":
		return e.tryAgain(ctx, t, exec, s)
	case t.inc.Active.Op == incident.OpUndo:
		return e.waitWithReason(ctx, t, incident.Note{Kind: incident.NoteUndoOnHold, Cause: why}, e.cfg.Timing.Watch)
	default:
		return e.commitWritten(ctx, t, incident.ResultFailed, why, incident.Versions{})
	}
}

// tryAgain makes a claimed write that did not happen, unless that was tried often enough.
func (e *Engine) tryAgain(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	if act := t.inc.Active; act.Tries >= writeTries {
		return e.commitWritten(ctx, t, incident.ResultFailed,
			incident.Reason{Kind: incident.ReasonGaveUp, Count: act.Tries, Text: act.LastError}, incident.Versions{})
	}
	return e.write(ctx, t, exec, s)
}

// against says what came after the claim and speaks against the write: a pause, a more careful mode, approvers that
// became stricter, and, when the claim of a step is older than GiveUp, a runbook that does not ask for it any more.
// Cool-down and budget are not asked again: the claim itself counts in them.
func (e *Engine) against(
	ctx context.Context, t *turn, exec Executor, s incident.Step,
) (incident.Reason, error) {
	act := t.inc.Active
	if act.Op == incident.OpUndo {
		guards := e.investigator.guardrails(ctx, t.pool, t.inc, s, act.Op, incident.Evidence{})
		return policy.Refusal(guards), nil
	}
	pause, err := e.pauseOf(ctx, t.inc.Pool)
	switch {
	case err != nil:
		return incident.Reason{}, err
	case pause != nil:
		return (&incident.PausedError{Pause: *pause}).Reason(), nil
	}
	if mode := strictestMode(t.inc.Mode, t.pool.Mode); mode != incident.ModeApprove && mode != incident.ModeAuto {
		return incident.Reason{Kind: incident.ReasonMode, Mode: mode}, nil
	}
	if why := e.unapproved(t, s); why.Kind != "" {
		return why, nil
	}
	if t.now.Sub(act.Since) < e.cfg.Timing.GiveUp {
		return incident.Reason{}, nil
	}
	found := e.investigator.assess(ctx, t.pool, t.inc)
	if why := dropped(t.inc, s, found); why.Kind != "" {
		return why, nil
	}
	return e.replaced(ctx, t, exec, s, found)
}
