package app

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// Diagnose answers, for a pool by name or for the pools that alerts lead to, what the bot would say: evidence,
// diagnosis and plan, as incidents that are not stored. It is read-only and needs no running bot. A Kubernetes that
// cannot be reached or is not configured is reported at each step; it is not an error.
func Diagnose(ctx context.Context, opts Options, pool string, alerts []incident.Alert) ([]incident.Incident, error) {
	rc, away := forReading(opts)
	parts, err := newClients(opts.Config, opts, rc)
	if err != nil {
		return nil, err
	}
	deps := remediation.InvestigatorDeps{
		Collector: collector{Collector: parts.collector, away: away}, Playbooks: opts.Catalog,
		Live: parts.live, DryRun: parts.dryRun, Logger: opts.Logger, Now: opts.Now,
	}
	if away != nil {
		// The API server cannot be reached from here: on a laptop, say, with the configuration of a pod.
		deps.Live, deps.DryRun = unreachable{away}, unreachable{away}
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	investigator, err := remediation.NewInvestigator(opts.Config.Pools, opts.Config.Policy, deps)
	if err != nil {
		return nil, err
	}
	return investigator.Diagnose(ctx, pool, alerts)
}

// unreachable proposes for a cluster that cannot be reached: every step fails with the reason.
type unreachable struct{ err error }

func (u unreachable) Propose(context.Context, incident.Pool, incident.StepRequest) (incident.Step, error) {
	return incident.Step{}, u.err
}
