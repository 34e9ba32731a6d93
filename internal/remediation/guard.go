package remediation

import (
	"context"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// check asks the guardrails. What cannot be read refuses.
func (e *Engine) check(ctx context.Context, pool incident.Pool, inc incident.Incident, s incident.Step, op incident.Op, ev incident.Evidence) []incident.Guardrail {
	now := e.deps.Now()
	in := policy.Input{
		Now: now, Pool: pool, Mode: careful(inc.Mode, pool.Mode), Drill: inc.Drill, Step: s, Op: op, By: bot, Incident: inc.ID, Cluster: ev.Cluster, Readings: ev.Readings,
	}
	if inc.Active != nil {
		in.By = inc.Active.By
	}
	var broken []incident.Guardrail
	unread := func(name string, err error) {
		broken = append(broken, incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Reason: "cannot be read from the store: " + err.Error()})
	}
	var err error
	if in.Writes, err = e.deps.Ledger.WritesSince(ctx, pool.Name, now.Add(-24*time.Hour)); err != nil {
		in.WritesUnknown = true
	}
	if in.Locks, err = e.deps.Ledger.Locks(ctx); err != nil {
		unread("lock", err)
	}
	if in.Pauses, err = e.deps.Ledger.Pauses(ctx); err != nil {
		unread("pause", err)
	}
	return append(broken, policy.Check(in, e.cfg.Policy)...)
}

// careful returns the more careful of the mode at the incident's opening and the one configured now.
func careful(a, b incident.Mode) incident.Mode {
	modes := incident.Modes()
	ia, ib := slices.Index(modes, a), slices.Index(modes, b)
	switch {
	case ia < 0:
		return a // unknown: refused by policy
	case ib < 0:
		return b
	case ia < ib:
		return a
	default:
		return b
	}
}
