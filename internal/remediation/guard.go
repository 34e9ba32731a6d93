package remediation

import (
	"context"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// guardrails asks the guardrails about one operation on a step. What cannot be read refuses.
func (i *Investigator) guardrails(
	ctx context.Context, pool incident.Pool, inc incident.Incident, s incident.Step, op incident.Op, ev incident.Evidence,
) []incident.Guardrail {
	return i.check(pool, inc, s, op, ev, i.guardInputs(ctx, pool, inc))
}

// check is guardrails with what they know already.
func (i *Investigator) check(
	pool incident.Pool, inc incident.Incident, s incident.Step, op incident.Op, ev incident.Evidence,
	known incident.GuardInputs,
) []incident.Guardrail {
	in := policy.Input{
		Pool: pool, Step: s, Op: op, By: bot, Incident: inc.ID, Cluster: ev.ClusterNow(), Readings: ev.Readings,
		Roles: ev.Roles(),
	}.Knowing(known)
	if inc.Active != nil {
		in.By = inc.Active.By
	}
	return slices.Concat(known.Unread, policy.Check(in, i.policy))
}

// guardInputs reads what the bot has done and been told.
func (i *Investigator) guardInputs(
	ctx context.Context, pool incident.Pool, inc incident.Incident,
) incident.GuardInputs {
	in := incident.GuardInputs{At: i.deps.Now(), Mode: strictestMode(inc.Mode, pool.Mode), DryRun: inc.DryRun}
	if i.deps.Ledger == nil {
		return in
	}
	refuse := func(name string, err error) {
		cause := incident.Reason{Kind: incident.ReasonLedgerUnread, Text: err.Error()}
		in.Unread = append(in.Unread, incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Cause: cause})
	}
	var err error
	if in.Writes, err = i.deps.Ledger.WritesSince(ctx, pool.Name, in.At.Add(-24*time.Hour)); err != nil {
		in.WritesUnknown = true
	}
	if in.Locks, err = i.deps.Ledger.Locks(ctx); err != nil {
		refuse("lock", err)
	}
	if in.Pauses, err = i.deps.Ledger.Pauses(ctx); err != nil {
		refuse("pause", err)
	}
	return in
}

// strictestMode is the stricter of the mode at the incident's opening and the one configured now.
func strictestMode(a, b incident.Mode) incident.Mode {
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
