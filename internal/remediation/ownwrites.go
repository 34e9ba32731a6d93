package remediation

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ownReach is how far the cluster's clock and the bot's may be apart, and how long an autoscaler takes to obey.
const ownReach = time.Minute

// markOwn marks the scalings that writes of the bot itself explain: by the new number and the time. A scaling that
// cannot be proven to be its own stays somebody else's, also when the ledger cannot be read.
func (i *Investigator) markOwn(
	ctx context.Context, pool incident.Pool, inc incident.Incident, changes []incident.RecentChange, at time.Time,
) {
	scaled := func(c incident.RecentChange) bool { return c.Kind == incident.ChangeScale && c.To != nil }
	oldest := at
	for _, c := range changes {
		if scaled(c) && c.At.Before(oldest) {
			oldest = c.At
		}
	}
	if i.deps.Ledger == nil || !slices.ContainsFunc(changes, scaled) {
		return
	}
	writes, err := i.deps.Ledger.WritesSince(ctx, pool.Name, oldest.Add(-time.Hour))
	if err != nil {
		i.deps.Logger.WarnContext(ctx, "which scalings are the bot's own is not known", "pool", pool.Name, "err", err)
		return
	}
	known := map[string]incident.Incident{inc.ID: inc}
	for _, w := range writes {
		if w.DryRun || w.Kind != incident.StepReplicas {
			continue
		}
		to, ok := i.writtenNumber(ctx, known, w)
		if !ok {
			continue
		}
		from, until := w.StartedAt.Add(-ownReach), w.StartedAt.Add(ownReach)
		if !w.EndedAt.IsZero() {
			until = w.EndedAt.Add(ownReach)
		}
		for n, c := range changes {
			if scaled(c) && *c.To == to && !c.At.Before(from) && !c.At.After(until) {
				changes[n].Own = true
			}
		}
	}
}

// writtenNumber is the number that a write set or would have set.
func (i *Investigator) writtenNumber(
	ctx context.Context, known map[string]incident.Incident, w incident.Write,
) (int64, bool) {
	switch w.Result {
	case incident.ResultDrift, incident.ResultFailed, incident.ResultDryRun:
		return 0, false // nothing was written
	case "", incident.ResultApplied, incident.ResultUnknown:
	}
	inc, ok := known[w.Incident]
	if !ok {
		var err error
		if inc, err = i.deps.Ledger.Incident(ctx, w.Incident); err != nil {
			i.deps.Logger.WarnContext(ctx, "which scalings are the bot's own is not known", "incident", w.Incident, "err", err)
		}
		known[w.Incident] = inc
	}
	step, ok := inc.Step(w.Step)
	if !ok {
		return 0, false
	}
	value := step.To
	if w.Op == incident.OpUndo {
		value = step.From
	}
	n, err := strconv.ParseInt(value.Text, 10, 64)
	return n, err == nil && value.Present
}
