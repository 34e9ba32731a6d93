package app

import (
	"context"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// Diagnose answers, for a pool by name or for the pools that alerts lead to, what the bot would say: evidence, diagnosis and plan, as incidents
// that are kept nowhere. It writes nothing and needs no store of a running bot. A Kubernetes that cannot be reached or is not configured is
// said at each step; it is not an error.
func Diagnose(ctx context.Context, opts Options, pool string, alerts []incident.Alert) ([]incident.Incident, error) {
	rc, away := forReading(opts)
	parts, err := newDeciding(opts.Config, opts, rc)
	if err != nil {
		return nil, err
	}
	if away != nil {
		// Nobody can be asked from here: a look from a laptop with the configuration of a pod.
		parts.live, parts.drill = unreachable{away}, unreachable{away}
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	nothing := empty{}
	e, err := remediation.New(remediation.Config{Owner: "diagnose", Pools: opts.Config.Pools, Mode: incident.ModeDrill, Policy: opts.Config.Policy}, remediation.Deps{
		Incidents: nothing, Inbox: nothing, Ledger: nothing, Collector: collector{Collector: parts.collector, away: away}, Playbooks: opts.Catalog,
		Live: parts.live, Drill: parts.drill, Logger: opts.Logger, Now: now,
	})
	if err != nil {
		return nil, err
	}
	return e.Diagnose(ctx, pool, alerts)
}

// unreachable stands for a cluster that cannot be asked; its error says why.
type unreachable struct{ err error }

func (u unreachable) Propose(context.Context, incident.Pool, incident.StepRequest) (incident.Step, error) {
	return incident.Step{}, u.err
}

func (u unreachable) Recheck(context.Context, incident.Pool, incident.Step) error { return u.err }

func (u unreachable) Do(context.Context, incident.Pool, incident.Step, incident.Op, string) error {
	return u.err
}

func (u unreachable) Mark(context.Context, incident.Pool, incident.Step) (incident.Mark, error) {
	return incident.Mark{}, u.err
}

func (u unreachable) Observe(context.Context, incident.Pool, incident.Step, incident.Op, string, *incident.Mark) (incident.Observation, error) {
	return incident.Observation{}, u.err
}

func (u unreachable) Look(context.Context, incident.Pool, incident.Step, incident.Op) (*incident.Reversal, error) {
	return nil, u.err
}

func (u unreachable) Rollout(context.Context, incident.Pool, incident.Step, incident.Op) (incident.Rollout, error) {
	return incident.Rollout{}, u.err
}

// empty is a store without anything in it, for commands that keep nothing.
type empty struct{}

func (empty) ClaimDue(context.Context, string, time.Time, time.Duration, int) ([]incident.Claimed, error) {
	return nil, nil
}

func (empty) ReleaseClaim(context.Context, string, int64, int64, time.Time) error {
	return incident.ErrNotFound
}

func (empty) Incident(_ context.Context, id string) (incident.Incident, error) {
	return incident.Incident{}, fmt.Errorf("incident %s: %w", id, incident.ErrNotFound)
}

func (empty) Commit(context.Context, ...incident.Change) error { return incident.ErrNotFound }

func (empty) Wake() <-chan struct{} { return nil }

func (empty) ClaimDeliveries(context.Context, string, time.Time, time.Duration, int) ([]incident.Delivery, error) {
	return nil, nil
}

func (empty) RenewDeliveries(context.Context, []incident.Delivery, time.Time) error {
	return incident.ErrNotFound
}

func (empty) ReleaseDelivery(context.Context, incident.Delivery) error { return incident.ErrNotFound }

func (empty) FailDelivery(context.Context, incident.Delivery, string, time.Time) error {
	return incident.ErrNotFound
}

func (empty) CommitFolded(context.Context, incident.Folded) error { return incident.ErrNotFound }

func (empty) EndedAlerts(context.Context, []string) ([]incident.Alert, error) { return nil, nil }

func (empty) OpenIncident(context.Context, string) (incident.Incident, bool, error) {
	return incident.Incident{}, false, nil
}

func (empty) LastClosed(context.Context, string, time.Time) (incident.Incident, bool, error) {
	return incident.Incident{}, false, nil
}

func (empty) WritesSince(context.Context, string, time.Time) ([]incident.Write, error) {
	return nil, nil
}

func (empty) Locks(context.Context) (map[string]string, error) { return map[string]string{}, nil }

func (empty) Pauses(context.Context) ([]incident.Pause, error) { return nil, nil }
