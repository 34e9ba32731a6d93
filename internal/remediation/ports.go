package remediation

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Incidents is what the engine needs of the store to move incidents. Commit is all or nothing and answers
// incident.ErrStale, incident.ErrFenced, incident.ErrPoolOpen, *incident.LockedError or *incident.PausedError.
type Incidents interface {
	ClaimDue(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Claimed, error)
	ReleaseClaim(ctx context.Context, id string, fence, version int64, dueAt time.Time) error
	Incident(ctx context.Context, id string) (incident.Incident, error)
	Commit(ctx context.Context, changes ...incident.Change) error
	// Message is the message that people decide in.
	Message(ctx context.Context, id string) (incident.Message, bool, error)
	Wake() <-chan struct{}
}

// Inbox is what the engine needs of the store to fold deliveries in. A claim keeps the order of a group: no delivery is
// given out while an earlier one of its group is claimed by somebody else or waits to be tried again. Yield returns
// when deliveries do not come in a storm, or after the limit.
type Inbox interface {
	AddDelivery(ctx context.Context, d incident.Delivery) (int64, error)
	ClaimDeliveries(
		ctx context.Context, owner string, now time.Time, lease time.Duration, limit int,
	) ([]incident.Delivery, error)
	RenewDeliveries(ctx context.Context, ds []incident.Delivery, until time.Time) error
	ReleaseDelivery(ctx context.Context, d incident.Delivery) error
	FailDelivery(ctx context.Context, d incident.Delivery, reason string, retryAt time.Time) error
	CommitFolded(ctx context.Context, f incident.Folded) error
	Yield(ctx context.Context, limit time.Duration)
	EndedAlerts(ctx context.Context, fingerprints []string) ([]incident.Alert, error)
	OpenIncident(ctx context.Context, pool string) (incident.Incident, bool, error)
	OpenDrill(ctx context.Context, pool string) (incident.Incident, bool, error)
	LastClosed(ctx context.Context, pool string, since time.Time) (incident.Incident, bool, error)
}

// Ledger is what the bot has done and been told: the guardrails read it, and a scaling in the cluster is recognized by
// it as the bot's own.
type Ledger interface {
	Incident(ctx context.Context, id string) (incident.Incident, error)
	WritesSince(ctx context.Context, pool string, since time.Time) ([]incident.Write, error)
	Locks(ctx context.Context) (map[string]string, error)
	Pauses(ctx context.Context) ([]incident.Pause, error)
	// Recorded says whether the store has, or has had, a write.
	Recorded(ctx context.Context, w incident.WriteID) (bool, error)
}

// LastWrites reads what the objects of a pool's knobs say of the last write of each, and writes nothing. What could be
// read comes with the error, too.
type LastWrites interface {
	LastWrites(ctx context.Context, pool incident.Pool) ([]incident.LastWrite, error)
}

// Collector reads the live state. Collect never fails as a whole: each reading carries its own error. FindOwners
// follows labels to a pod and answers its owners, the nearest first, and how they were found; incident.ErrNoWorkload,
// wrapped, when it searched and found nothing; incident.ErrUnanswered, wrapped, when nobody answered; any other error
// is an answer about these labels only. The owners that could be read come with the error too.
type Collector interface {
	Collect(
		ctx context.Context, pool incident.Pool, signals []incident.Signal, scope incident.Scope,
	) incident.Evidence
	FindOwners(ctx context.Context, labels map[string]string) ([]incident.WorkloadRef, incident.Trail, error)
}

// Proposer works out the step that a playbook asks for, from the live values. *incident.RefusedError says why there is
// none; any other error, that the values could not be read.
type Proposer interface {
	Propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error)
}

// Executor proposes steps and applies them. Do may be called again with the same write id and then recognises its own
// write. Its nil error promises that the object has the wanted value; *incident.DriftError and *incident.RefusedError
// promise that nothing was written; any other error means that the outcome is not known, and Observe must be asked. In
// a dry run the executor sends dry-runs only. Mark reads a field just before its write and Reversal after it: who has
// changed the value since, nil while nobody has. What could not be read is an error, and no answer to that.
type Executor interface {
	Proposer
	Recheck(ctx context.Context, pool incident.Pool, step incident.Step) error
	Do(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string) (
		incident.Versions, error)
	Mark(ctx context.Context, pool incident.Pool, step incident.Step) (incident.Mark, error)
	Observe(
		ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string, before *incident.Mark,
	) (incident.Observation, error)
	Reversal(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op) (*incident.Reversal, error)
	Rollout(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op) (incident.Rollout, error)
}

// Diagnoser answers from playbooks.
type Diagnoser interface {
	Signals(alertNames []string) []incident.Signal
	Diagnose(in playbooks.Input) playbooks.Result
}
