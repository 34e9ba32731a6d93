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
	in := policy.Input{
		Now: i.deps.Now(), Pool: pool, Mode: strictestMode(inc.Mode, pool.Mode), DryRun: inc.DryRun, Step: s, Op: op, By: bot,
		Incident: inc.ID, Cluster: ev.ClusterNow(), Readings: ev.Readings,
	}
	if inc.Active != nil {
		in.By = inc.Active.By
	}
	return append(i.readLedger(ctx, &in), policy.Check(in, i.policy)...)
}

// readLedger adds what the bot has done and been told. The guardrails that it returns are those that could not be
// asked.
func (i *Investigator) readLedger(ctx context.Context, in *policy.Input) (unread []incident.Guardrail) {
	if i.deps.Ledger == nil {
		return nil
	}
	refuse := func(name string, err error) {
		cause := incident.Reason{Kind: incident.ReasonLedgerUnread, Text: err.Error()}
		unread = append(unread, incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Cause: cause})
	}
	var err error
	if in.Writes, err = i.deps.Ledger.WritesSince(ctx, in.Pool.Name, in.Now.Add(-24*time.Hour)); err != nil {
		in.WritesUnknown = true
	}
	if in.Locks, err = i.deps.Ledger.Locks(ctx); err != nil {
		refuse("lock", err)
	}
	if in.Pauses, err = i.deps.Ledger.Pauses(ctx); err != nil {
		refuse("pause", err)
	}
	return unread
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
