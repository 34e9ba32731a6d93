package remediation

import (
	"context"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// mark looks at the field just before its write is claimed. again is true when this turn has ended: it could not be looked at.
func (e *Engine) mark(ctx context.Context, t *turn, exec Executor, s incident.Step) (_ *incident.Mark, again bool, _ error) {
	if t.inc.Drill {
		return nil, false, nil // a dry-run may be repeated
	}
	m, err := exec.Mark(ctx, t.pool, s)
	switch {
	case err == nil:
		return &m, false, nil
	case e.mayRetry(t):
		e.deps.Logger.WarnContext(ctx, "the object of a write cannot be looked at yet", "incident", t.inc.ID, "step", s.ID, "err", err)
		return nil, true, e.later(ctx, t, e.cfg.Timing.Retry)
	default:
		return nil, true, e.stop(ctx, t, t.inc.Active, "its object could not be looked at: "+err.Error(), nil)
	}
}

// moved looks whether somebody else has changed the value that a step has set, and ends the following of the step then: what the signals do says nothing
// about it any more. A look that fails says nothing either, and the signals are gone on with.
func (e *Engine) moved(ctx context.Context, t *turn, s incident.Step) (bool, error) {
	exec := e.executor(t.inc.Drill)
	if t.inc.Drill || exec == nil {
		return false, nil
	}
	r, err := exec.Look(ctx, t.pool, s, incident.OpApply)
	switch {
	case err != nil:
		e.deps.Logger.WarnContext(ctx, "whether a change still stands cannot be looked at", "incident", t.inc.ID, "step", s.ID, "err", err)
		return false, nil
	case r == nil:
		return false, nil
	}
	return true, e.reverted(ctx, t, s, *r, extra{})
}

func (e *Engine) reverted(ctx context.Context, t *turn, s incident.Step, r incident.Reversal, x extra) error {
	return e.commit(ctx, t, incident.Reverted{Step: s.ID, Reversal: r, ExpiresAt: e.askUntil(t)}, x)
}
