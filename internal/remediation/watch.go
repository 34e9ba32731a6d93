package remediation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// watch investigates again, then undoes a mitigation or ends the incident when it has been healthy for long enough.
func (e *Engine) watch(ctx context.Context, t *turn) error {
	for _, s := range t.inc.Mitigations() {
		if t.inc.OnTopOf(s) != "" {
			continue // the value is that of the bot's own later step
		}
		if is, err := e.checkValue(ctx, t, s); is == valueChanged || err != nil {
			return err
		}
	}
	found := e.investigator.Investigate(ctx, t.pool, t.inc)
	ev := found.event()
	if err := e.commit(ctx, t, ev, extra{keep: true, found: &found}); err != nil {
		return err
	}
	if t.inc.State != incident.StateWatching {
		return e.retryLater(ctx, t, 0)
	}
	healthy := time.Duration(0)
	if !t.inc.HealthySince.IsZero() {
		healthy = t.now.Sub(t.inc.HealthySince)
	}
	active := t.inc.Mitigations()
	switch {
	case len(active) > 0 && healthy > 0:
		return e.undoMitigation(ctx, t, active, healthy)
	case len(active) > 0:
		return e.retryLater(ctx, t, e.cfg.Timing.Watch)
	case healthy > 0 && healthy >= e.cfg.Timing.Hold && !t.inc.ClosesOnResolve():
		return e.closeIncident(ctx, t, incident.Note{Kind: incident.NoteHealthyFor, For: healthy})
	case healthy > 0 && healthy >= e.cfg.Timing.Hold && e.unheard(t):
		return e.closeIncident(ctx, t, incident.Note{Kind: incident.NoteUnheard, For: healthy, Silent: e.cfg.Timing.Stale})
	case t.inc.FiringCount() == 0 && ev.Healthy == incident.Undecided && e.unheard(t):
		return e.closeIncident(ctx, t, incident.Note{Kind: incident.NoteNoData, Silent: e.cfg.Timing.Stale})
	default:
		return e.retryLater(ctx, t, e.cfg.Timing.Watch)
	}
}

// closeIncident ends the incident, unless it has changed since it was read: an alert may have joined.
func (e *Engine) closeIncident(ctx context.Context, t *turn, why incident.Note) error {
	return e.commit(ctx, t, incident.Closed{By: bot, Note: why}, extra{asRead: true})
}

// undoMitigation undoes the newest mitigation whose time has come. What holds it (a guardrail, a later change of the
// same value) is said once and asked again at every turn; after a refused undo it is tried ever more rarely. One that
// is held does not hold the others.
func (e *Engine) undoMitigation(ctx context.Context, t *turn, active []incident.Step, healthy time.Duration) error {
	var held incident.Note
	for _, s := range slices.Backward(active) {
		if healthy < s.RevertAfter || !s.UndoDue(t.now) {
			continue
		}
		guards := e.investigator.guardrails(ctx, t.pool, t.inc, s, incident.OpUndo, incident.Evidence{})
		why := policy.Refusal(guards)
		if top := t.inc.OnTopOf(s); top != "" {
			why = incident.Reason{Kind: incident.ReasonOnTop, Instead: top}
		}
		if why.Kind == "" {
			return e.commit(ctx, t, incident.UndoStarted{Step: s.ID, By: bot, Healthy: s.RevertAfter}, extra{})
		}
		held = cmp.Or(held, incident.Note{Kind: incident.NoteMitigationHeld, Step: s.Title, Cause: why})
	}
	if held.Kind == "" {
		return e.retryLater(ctx, t, e.cfg.Timing.Watch)
	}
	return e.waitWithReason(ctx, t, held, e.cfg.Timing.Watch)
}

// unheard says whether Alertmanager has sent nothing about the alerts of an incident for so long that it may have
// forgotten them.
func (e *Engine) unheard(t *turn) bool {
	newest := t.inc.OpenedAt
	for _, a := range t.inc.Alerts {
		if a.SeenAt.After(newest) {
			newest = a.SeenAt
		}
	}
	if at := t.inc.AlertsNotKept.HeardAt; at.After(newest) {
		newest = at
	}
	return t.now.Sub(newest) >= e.cfg.Timing.Stale
}
