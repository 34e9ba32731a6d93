package remediation

import (
	"context"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// settle waits for the rollout, then for the signals' window and the step's warm-up.
func (e *Engine) settle(ctx context.Context, t *turn) error {
	act := t.inc.Active
	if act == nil {
		return fmt.Errorf("the incident is %s without an active step", t.inc.State)
	}
	s, ok := t.inc.Step(act.Step)
	if !ok {
		return fmt.Errorf("the active step %s does not exist", act.Step)
	}
	if act.Phase == incident.PhaseSettle {
		return e.waitForSignals(ctx, t, s)
	}
	exec := e.executor(t.inc.DryRun)
	if exec == nil {
		return e.waitWithReason(ctx, t, incident.Note{Kind: incident.NoteEffectUnseen, Target: s.Target}, e.cfg.Timing.Watch)
	}
	return e.rollout(ctx, t, exec, s)
}

// waitForSignals lets the signals' window pass, and keeps an eye on the value meanwhile.
func (e *Engine) waitForSignals(ctx context.Context, t *turn, s incident.Step) error {
	if is, err := e.checkValue(ctx, t, s); is == valueChanged || err != nil {
		return err
	}
	if wait := t.inc.Active.SettleUntil.Sub(t.now); wait > 0 {
		return e.retryLater(ctx, t, min(wait, e.cfg.Timing.VerifyEvery))
	}
	return e.commit(ctx, t, incident.Settled{}, extra{})
}

// rollout checks the rollout once. One that takes longer than RolloutLimit has failed.
func (e *Engine) rollout(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	r, err := exec.Rollout(ctx, t.pool, s, act.Op)
	late := t.now.Sub(act.Since) >= e.cfg.Timing.RolloutLimit
	switch {
	case err != nil && !late:
		e.deps.Logger.WarnContext(ctx, "the rollout cannot be looked at yet",
			"incident", t.inc.ID, "step", s.ID, "err", err)
		return e.retryLater(ctx, t, e.cfg.Timing.Retry)
	case err != nil:
		why := incident.Reason{Kind: incident.ReasonRolloutUnread, Text: err.Error()}
		return e.commit(ctx, t, incident.RolledOut{Failed: true, Why: why}, extra{})
	case r.Reversal != nil:
		return e.commitReverted(ctx, t, s, *r.Reversal, extra{})
	case r.State == incident.RolloutDone:
		settled := t.now.Add(e.cfg.Timing.Settle + s.WarmUp)
		return e.commit(ctx, t, incident.RolledOut{Why: incident.Because(r.Note), SettleUntil: settled}, extra{})
	case r.State == incident.RolloutFailed:
		return e.commit(ctx, t, incident.RolledOut{Failed: true, Why: incident.Because(r.Note)}, extra{})
	case late:
		why := incident.Reason{Kind: incident.ReasonTooSlow, After: e.cfg.Timing.RolloutLimit, Text: r.Note}
		return e.commit(ctx, t, incident.RolledOut{Failed: true, Why: why}, extra{})
	default:
		return e.retryLater(ctx, t, e.cfg.Timing.RolloutPoll)
	}
}

// verify reads the signals again and judges them, as long as the change stands and at most once in VerifyEvery: a
// person or an alert may wake it at any time, and two readings that confirm each other must not rest on the same
// samples.
func (e *Engine) verify(ctx context.Context, t *turn) error {
	act := t.inc.Active
	if act == nil {
		return fmt.Errorf("the incident is %s without an active step", t.inc.State)
	}
	s, ok := t.inc.Step(act.Step)
	if !ok {
		return fmt.Errorf("the active step %s does not exist", act.Step)
	}
	is, err := e.checkValue(ctx, t, s)
	if is == valueChanged || err != nil {
		return err
	}
	var last *incident.Verification
	if act.Readings > 0 {
		last = s.Verification
	}
	if last != nil {
		if wait := last.At.Add(e.cfg.Timing.VerifyEvery).Sub(t.now); wait > 0 {
			return e.retryLater(ctx, t, wait)
		}
	}
	found := e.investigator.assess(ctx, t.pool, t.inc)
	var signals []string
	if t.inc.Diagnosis != nil {
		signals = t.inc.Diagnosis.Healthy
	}
	read, healthy := found.Evidence, found.Result.Healthy
	// What people were asked about is part of the answer, and while it is beyond its limit nothing is fixed for them,
	// whoever set that limit.
	if asked, ok := present.AskedAbout(act.Before, signals); ok {
		if !slices.Contains(signals, asked.Signal) {
			signals = append([]string{asked.Signal}, signals...)
		}
		if healthy == incident.True && present.Beyond(read.Readings[asked.Signal]) {
			healthy = incident.False
		}
	}
	v := incident.Verification{Before: act.Before, After: read.Readings, At: read.At, SampledAt: read.SampledAt}
	var shown incident.Comparison
	v.Verdict, shown = incident.VerdictOf(act.Before, read.Readings, signals, healthy)
	if incident.NotEnough(s.Kind, v.Verdict, act.Before, read.Readings, found.asks(s.Kind)) {
		v.Verdict, shown.Finding = incident.VerdictNotEnough, incident.FoundNotEnough
	}
	shown.Rejected = incident.RejectedOver(s.Kind, act.Before, read.Readings)
	v.Comparison = &shown
	ev := incident.Verified{UndoNow: e.cfg.Policy.AutomaticUndo, ExpiresAt: e.askUntil(t)}
	switch {
	case t.inc.DryRun:
		v.Verdict, shown.NoEffect, ev.Final = incident.VerdictInconclusive, incident.NoEffectDryRun, true
	case act.SettleUntil.IsZero():
		v.Verdict, shown.NoEffect, ev.Final = incident.VerdictWorse, notInEffect(s.Kind), true
	case confirmed(v.Verdict) && v.Repeats(last):
		return e.retryLater(ctx, t, e.cfg.Timing.VerifyEvery)
	default:
		again := last != nil && last.Verdict == v.Verdict
		ev.Final = isFinal(v.Verdict, again, t.now.Sub(act.Since) >= e.cfg.Timing.VerifyFor)
	}
	if is == valueUnread && v.Verdict != incident.VerdictRecovered {
		// Set back meanwhile, it is not the change that did not help. For ever nobody waits: an undo checks the value once
		// more.
		ev.Final = ev.Final && t.now.Sub(act.Since) >= e.cfg.Timing.VerifyFor+e.cfg.Timing.GiveUp
		shown.Unconfirmed = true
	}
	v.Why = present.Verification(v)
	ev.Verification = v
	return e.commit(ctx, t, ev, extra{found: &found})
}

// notInEffect is why what was written has no effect.
func notInEffect(k incident.StepKind) incident.NoEffect {
	if k.RollsOut() {
		return incident.NoEffectNoRollout
	}
	return incident.NoEffectNotApplied
}

// isFinal says whether a verdict stands: recovery at once, what has to be confirmed when it is the second reading in a
// row, anything else when time is up.
func isFinal(v incident.Verdict, again, timeUp bool) bool {
	if confirmed(v) {
		return again
	}
	return v == incident.VerdictRecovered || timeUp
}

// confirmed says whether a verdict is believed only when two readings in a row give it.
func confirmed(v incident.Verdict) bool {
	return v == incident.VerdictWorse || v == incident.VerdictNotEnough
}

// valueState is what became of a value that the bot has set.
type valueState int

const (
	valueInPlace valueState = iota
	// valueUnread: it could not be read, which says neither.
	valueUnread
	// valueChanged: somebody else has changed it.
	valueChanged
)

// checkValue checks whether the value that a step has set is still in place. When somebody else has changed it, the
// following of the step ends, and the turn with it: what the signals do says nothing about the step any more.
func (e *Engine) checkValue(ctx context.Context, t *turn, s incident.Step) (valueState, error) {
	exec := e.executor(t.inc.DryRun)
	if t.inc.DryRun || exec == nil {
		return valueInPlace, nil
	}
	r, err := exec.Reversal(ctx, t.pool, s, incident.OpApply)
	switch {
	case err != nil:
		e.deps.Logger.WarnContext(ctx, "whether a change still stands cannot be looked at",
			"incident", t.inc.ID, "step", s.ID, "err", err)
		return valueUnread, nil
	case r == nil:
		return valueInPlace, nil
	}
	return valueChanged, e.commitReverted(ctx, t, s, *r, extra{})
}

func (e *Engine) commitReverted(ctx context.Context, t *turn, s incident.Step, r incident.Reversal, x extra) error {
	return e.commit(ctx, t, incident.Reverted{Step: s.ID, Reversal: r, ExpiresAt: e.askUntil(t)}, x)
}
