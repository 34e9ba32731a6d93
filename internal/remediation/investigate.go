package remediation

import (
	"context"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Look is one look at a pool: what was read, what it means, and the steps that follow. It writes nothing.
type Look struct {
	Evidence incident.Evidence
	Result   playbooks.Result
	Steps    []incident.Step
	// Unread says that the live values behind one of the steps could not be read, which is refused for that.
	Unread bool
}

// Look reads the live state of a pool and works out diagnosis and steps. It is what diagnose shows. Executor errors become steps that are
// refused with the reason.
func (e *Engine) Look(ctx context.Context, pool incident.Pool, inc incident.Incident) Look {
	l := e.look(ctx, pool, inc, true)
	for _, req := range l.Result.Steps {
		s, err := e.propose(ctx, pool, inc, req, l.Evidence)
		if err != nil {
			l.Unread = true
			e.deps.Logger.WarnContext(ctx, "a step cannot be worked out", "incident", inc.ID, "pool", pool.Name, "kind", req.Kind, "err", err)
		}
		l.Steps = append(l.Steps, s)
	}
	return l
}

// read is Look without the steps, and so without a dry-run: for a turn after which no plan can follow.
func (e *Engine) read(ctx context.Context, pool incident.Pool, inc incident.Incident) Look {
	return e.look(ctx, pool, inc, false)
}

func (e *Engine) look(ctx context.Context, pool incident.Pool, inc incident.Incident, usual bool) Look {
	signals := e.deps.Playbooks.Signals(inc.AlertNames())
	l := Look{Evidence: e.deps.Collector.Collect(ctx, pool, signals, incident.Attention{Alerts: inc.Alerts, Usual: usual})}
	e.markOwn(ctx, pool, inc, l.Evidence.Cluster.Changes, l.Evidence.At)
	in := playbooks.Input{Alerts: inc.Alerts, Pool: pool, Evidence: l.Evidence}
	if inc.Diagnosis != nil {
		in.Standing = inc.Diagnosis.Name
	}
	l.Result = e.deps.Playbooks.Diagnose(in)
	l.Evidence.Readings = l.Result.Readings
	return l
}

// sameCause says whether a look shows the diagnosis on which the incident's plan stands.
func sameCause(inc incident.Incident, l Look) bool {
	return inc.Diagnosis != nil && l.Result.Diagnosis != nil && l.Result.Diagnosis.Name == inc.Diagnosis.Name
}

// partial says whether a look could not read all that it asked for, so that what it does not show may be there.
func partial(l Look) bool {
	if l.Result.Diagnosis == nil && l.Result.Healthy == incident.Undecided || l.Evidence.Cluster.Error != "" && !l.Evidence.Cluster.NotConfigured {
		return true
	}
	for _, r := range l.Evidence.Readings {
		if r.Error != "" {
			return true
		}
	}
	return false
}

func nowSays(l Look) string {
	switch {
	case l.Result.Diagnosis != nil:
		return "now it is " + l.Result.Diagnosis.Summary
	case l.Result.Note != "":
		return l.Result.Note
	default:
		return "the signals do not tell"
	}
}

func (e *Engine) investigate(ctx context.Context, t *turn) error {
	return e.commit(ctx, t, e.investigated(ctx, t), extra{})
}

func (e *Engine) investigated(ctx context.Context, t *turn) incident.Investigated {
	l := e.Look(ctx, t.pool, t.inc)
	return incident.Investigated{
		Evidence: l.Evidence, Diagnosis: l.Result.Diagnosis, Others: l.Result.Others, Steps: l.Steps, Unread: l.Unread,
		Healthy: l.Result.Healthy, Note: l.Result.Note,
	}
}
