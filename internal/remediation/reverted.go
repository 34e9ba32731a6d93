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

// standing is what a look at a value that the bot has set shows.
type standing int

const (
	stands standing = iota
	// unseen: it could not be looked at, which says neither.
	unseen
	// moved: somebody else has changed it.
	moved
)

// lookAt looks whether the value that a step has set still stands. When somebody else has changed it, the following of the step ends, and the turn with it: what the
// signals do says nothing about the step any more.
func (e *Engine) lookAt(ctx context.Context, t *turn, s incident.Step) (standing, error) {
	exec := e.executor(t.inc.Drill)
	if t.inc.Drill || exec == nil {
		return stands, nil
	}
	r, err := exec.Look(ctx, t.pool, s, incident.OpApply)
	switch {
	case err != nil:
		e.deps.Logger.WarnContext(ctx, "whether a change still stands cannot be looked at", "incident", t.inc.ID, "step", s.ID, "err", err)
		return unseen, nil
	case r == nil:
		return stands, nil
	}
	return moved, e.reverted(ctx, t, s, *r, extra{})
}

func (e *Engine) reverted(ctx context.Context, t *turn, s incident.Step, r incident.Reversal, x extra) error {
	return e.commit(ctx, t, incident.Reverted{Step: s.ID, Reversal: r, ExpiresAt: e.askUntil(t)}, x)
}
