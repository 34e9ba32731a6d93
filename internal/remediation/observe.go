package remediation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// writeTries bounds how often a claimed write is tried whose answers say nothing. With the pauses between them they last for two minutes, in which an API
// server restarts.
const writeTries = 6

// observe finds out what became of a claimed write: it took effect, and stands or was set back; it did not happen and is made now; somebody else changed
// the object; or nobody can tell, and then it is not made again.
func (e *Engine) observe(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	act := t.inc.Active
	if wait := e.cfg.Timing.NextTry(act).Sub(t.now); wait > 0 {
		return e.later(ctx, t, wait)
	}
	if t.inc.Drill {
		return e.tryAgain(ctx, t, exec, s) // a dry-run may be repeated
	}
	o, err := exec.Observe(ctx, t.pool, s, act.Op, act.WriteID, act.Mark)
	if err != nil {
		e.deps.Logger.WarnContext(ctx, "the object of a write cannot be looked at yet", "incident", t.inc.ID, "step", s.ID, "err", err)
		return e.hold(ctx, t, fmt.Sprintf("The write to %s may have happened or not: its object cannot be looked at. I go on trying. Look yourself, or abort.", s.Target),
			e.cfg.Timing.Patience(t.now.Sub(act.Since)))
	}
	before := s.From
	if act.Op == incident.OpUndo {
		before = s.To
	}
	switch {
	case o.Ours:
		return e.wrote(ctx, t, incident.ResultApplied, "Found done after an interruption.")
	case o.Made == incident.True && o.Reversal != nil:
		end := incident.Write{ID: act.WriteID, EndedAt: e.deps.Now(), Result: incident.ResultApplied}
		return e.reverted(ctx, t, s, *o.Reversal, extra{finish: &end})
	case o.Made == incident.False && o.Value == before:
		return e.writeAgain(ctx, t, exec, s)
	case o.Made == incident.False || act.Op == incident.OpUndo && o.Value != before:
		return e.wrote(ctx, t, incident.ResultDrift, fmt.Sprintf("%s is %s now, changed by somebody else. %s", s.Target, o.Value, o.Note))
	default:
		return e.wrote(ctx, t, incident.ResultUnknown, unsure(s, o, before))
	}
}

// unsure says why nobody can tell what became of a write.
func unsure(s incident.Step, o incident.Observation, before incident.Value) string {
	now := "is " + o.Value.String() + " now"
	if o.Value == before {
		now = "is " + o.Value.String() + " as before"
	}
	by := ""
	if o.Reversal != nil && o.Reversal.By != "" {
		by = fmt.Sprintf(" (%s was the last to set the value)", o.Reversal.By)
	}
	return fmt.Sprintf("the write had no clear answer. %s %s, but the object has changed since the write was claimed%s, so it can't be told whether the write took effect",
		s.Target, now, by)
}

// hold waits, and says why the first time.
func (e *Engine) hold(ctx context.Context, t *turn, why string, wait time.Duration) error {
	if t.inc.Note != why {
		if err := e.commit(ctx, t, incident.Noted{Note: why}, extra{keep: true}); err != nil {
			return err
		}
	}
	return e.later(ctx, t, wait)
}

// writeAgain makes a claimed write that did not happen, unless something has come in between that speaks against it. A step ends then. An undo
// waits: what it should restore still stands.
func (e *Engine) writeAgain(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	why, err := e.against(ctx, t, exec, s)
	switch {
	case err != nil:
		e.deps.Logger.WarnContext(ctx, "a claimed write waits", "incident", t.inc.ID, "step", s.ID, "err", err)
		return e.later(ctx, t, e.cfg.Timing.Retry)
	case why == "":
		return e.tryAgain(ctx, t, exec, s)
	case t.inc.Active.Op == incident.OpUndo:
		return e.hold(ctx, t, "The undo waits: "+why, e.cfg.Timing.Watch)
	default:
		return e.wrote(ctx, t, incident.ResultFailed, why)
	}
}

// tryAgain makes a claimed write that did not happen, unless that was tried often enough.
func (e *Engine) tryAgain(ctx context.Context, t *turn, exec Executor, s incident.Step) error {
	if act := t.inc.Active; act.Tries >= writeTries {
		return e.wrote(ctx, t, incident.ResultFailed, fmt.Sprintf("gave up after %d tries without a clear answer, the last one: %s", act.Tries, act.LastError))
	}
	return e.write(ctx, t, exec, s)
}

// against says what came after the claim and speaks against the write: a pause, a more careful mode, approvers that became stricter, and, when the claim of a step is older than
// GiveUp, a runbook that does not ask for it any more. Cool-down and budget are not asked again: the claim itself counts in them.
func (e *Engine) against(ctx context.Context, t *turn, exec Executor, s incident.Step) (string, error) {
	act := t.inc.Active
	if act.Op == incident.OpUndo {
		return policy.Refusal(e.check(ctx, t.pool, t.inc, s, act.Op, incident.Evidence{})), nil
	}
	pauses, err := e.deps.Ledger.Pauses(ctx)
	if err != nil {
		return "", fmt.Errorf("read the pauses: %w", err)
	}
	for _, p := range pauses {
		if p.Pool == "" || p.Pool == t.inc.Pool {
			return (&incident.PausedError{Pause: p}).Error(), nil
		}
	}
	if mode := careful(t.inc.Mode, t.pool.Mode); mode != incident.ModeApprove && mode != incident.ModeAuto {
		return fmt.Sprintf("the bot is in mode %s now", mode), nil
	}
	if why := e.unapproved(t, s); why != "" {
		return why, nil
	}
	if t.now.Sub(act.Since) < e.cfg.Timing.GiveUp {
		return "", nil
	}
	l := e.read(ctx, t.pool, t.inc)
	if why := dropped(t.inc, s, l); why != "" {
		return why, nil
	}
	return e.replaced(ctx, t, exec, s, l)
}

// brief is an error for the incident: proxies answer with whole pages.
func brief(err error) string {
	const most = 300
	text := strings.Join(strings.Fields(err.Error()), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}
