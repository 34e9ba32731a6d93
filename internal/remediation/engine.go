// Package remediation is the engine: it takes an incident from one state to the next, one durable step at a time.
//
// The incident row is the truth. Advance looks at it, does at most one thing outside, works out the next state with
// incident.Apply, and commits. Killed at any instruction it goes on where it was: what is repeated after a crash is
// either a read, or a write that is recognised. The engine never retries a write by itself and is safe for use by
// several goroutines and several replicas.
package remediation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Incidents is what the engine needs of the store to move incidents. Commit is all or nothing and answers
// incident.ErrStale, incident.ErrFenced, incident.ErrPoolOpen, *incident.LockedError or *incident.PausedError.
type Incidents interface {
	ClaimDue(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Claimed, error)
	ReleaseClaim(ctx context.Context, id string, fence, version int64, dueAt time.Time) error
	Incident(ctx context.Context, id string) (incident.Incident, error)
	Commit(ctx context.Context, changes ...incident.Change) error
	Wake() <-chan struct{}
}

// Inbox is what the engine needs of the store to fold deliveries in. A claim keeps the order of a group: no delivery is
// given out while an earlier one of its group is claimed by somebody else or waits to be tried again.
type Inbox interface {
	ClaimDeliveries(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Delivery, error)
	RenewDeliveries(ctx context.Context, ds []incident.Delivery, until time.Time) error
	ReleaseDelivery(ctx context.Context, d incident.Delivery) error
	FailDelivery(ctx context.Context, d incident.Delivery, reason string, retryAt time.Time) error
	CommitFolded(ctx context.Context, f incident.Folded) error
	EndedAlerts(ctx context.Context, fingerprints []string) ([]incident.Alert, error)
	OpenIncident(ctx context.Context, pool string) (incident.Incident, bool, error)
	LastClosed(ctx context.Context, pool string, since time.Time) (incident.Incident, bool, error)
}

// Ledger is what the guardrails read.
type Ledger interface {
	WritesSince(ctx context.Context, pool string, since time.Time) ([]incident.Write, error)
	Locks(ctx context.Context) (map[string]string, error)
	Pauses(ctx context.Context) ([]incident.Pause, error)
}

// Collector reads the live state. Collect never fails as a whole: each reading carries its own error. FindOwners
// follows labels to a pod and answers its owners, the nearest first, and how they were found; incident.ErrNoWorkload,
// wrapped, when it searched and found nothing; incident.ErrUnanswered, wrapped, when nobody answered; any other error
// is an answer about these labels only. The owners that could be read come with the error too.
type Collector interface {
	Collect(ctx context.Context, pool incident.Pool, signals []incident.Signal, attention incident.Attention) incident.Evidence
	FindOwners(ctx context.Context, labels map[string]string) ([]incident.WorkloadRef, string, error)
}

// Executor turns knobs. Do may be called again with the same write id and then recognises its own write. Its nil error
// promises that the object has the wanted value; *incident.DriftError and *incident.RefusedError promise that nothing
// was written; any other error means that the outcome is not known, and Observe must be asked. In a drill the executor
// sends dry-runs only. Mark looks at a field just before its write and Look after it: who has changed the value since,
// nil while nobody has. What could not be read is an error, and no answer to that.
type Executor interface {
	Propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error)
	Recheck(ctx context.Context, pool incident.Pool, step incident.Step) error
	Do(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string) error
	Mark(ctx context.Context, pool incident.Pool, step incident.Step) (incident.Mark, error)
	Observe(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string, before *incident.Mark) (incident.Observation, error)
	Look(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op) (*incident.Reversal, error)
	Rollout(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op) (incident.Rollout, error)
}

// Diagnoser answers from playbooks.
type Diagnoser interface {
	Signals(alertNames []string) []incident.Signal
	Diagnose(in playbooks.Input) playbooks.Result
}

// Deps are the engine's collaborators; all are needed, except Live and Drill, which are nil when no Kubernetes is
// configured.
type Deps struct {
	Incidents Incidents
	Inbox     Inbox
	Ledger    Ledger
	Collector Collector
	Playbooks Diagnoser
	Live      Executor
	Drill     Executor
	Logger    *slog.Logger
	// Panics logs and counts what was caught; nil only catches.
	Panics *rescue.Log
	// Now is the present time; time.Now in production.
	Now func() time.Time
}

// Config is what the engine is told.
type Config struct {
	// Owner names this process in claims. It must differ between replicas.
	Owner  string
	Pools  []incident.Pool
	Mode   incident.Mode // of alerts that lead to no pool
	Policy policy.Settings
	Timing incident.Timing
	// FreeCuts is how many turns on an incident may be cut off in a row, by the end of their process, before it waits.
	// Default 5: processes are ended for many reasons, and a write that was under way must be looked at soon.
	FreeCuts int
}

// Engine moves incidents. Use New.
type Engine struct {
	cfg   Config
	deps  Deps
	turns turns
}

// The parts of the engine in whose work a panic is counted.
const (
	PartInbox     = "inbox"
	PartIncidents = "incidents"
)

// bot is the actor of what the engine does by itself.
var bot = incident.Actor{Kind: "bot", ID: "vllm-medic"}

// New refuses a missing dependency by name and a configuration that cannot be meant, all mistakes at once.
func New(cfg Config, deps Deps) (*Engine, error) {
	cfg.Timing = cfg.Timing.WithDefaults()
	cfg.FreeCuts = cmp.Or(cfg.FreeCuts, 5)
	var errs []error
	for name, missing := range map[string]bool{
		"Incidents": deps.Incidents == nil, "Inbox": deps.Inbox == nil, "Ledger": deps.Ledger == nil, "Collector": deps.Collector == nil,
		"Playbooks": deps.Playbooks == nil, "Logger": deps.Logger == nil, "Now": deps.Now == nil, "Owner": cfg.Owner == "",
	} {
		if missing {
			errs = append(errs, fmt.Errorf("remediation: %s is missing", name))
		}
	}
	for _, e := range cfg.Policy.Validate() {
		errs = append(errs, errors.New("policy: "+e))
	}
	if err := cfg.Timing.Validate(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Engine{cfg: cfg, deps: deps}, nil
}

// Run works on the inbox and on the due incidents until the context ends, side by side: alerts whose owner is slow to
// find do not hold up an approved step. Each looks at its start, every Timing.Sweep, and when the store wakes it.
func (e *Engine) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		e.again(ctx, PartInbox, func(ctx context.Context) (int, error) { return e.drain(ctx, gatherInbox) })
	})
	wg.Go(func() { e.again(ctx, PartIncidents, e.advanceDue) })
	wg.Wait()
	return nil
}

// gatherInbox is how long deliveries gather before more of them are folded in: in a storm many are folded for the price
// of one. The first one does not wait.
const gatherInbox = 200 * time.Millisecond

func (e *Engine) again(ctx context.Context, what string, sweep func(context.Context) (int, error)) {
	tick := time.NewTicker(e.cfg.Timing.Sweep)
	defer tick.Stop()
	for {
		wake := e.deps.Incidents.Wake()
		err := e.deps.Panics.Do(ctx, what, func() error {
			_, err := sweep(ctx)
			return err
		})
		if err != nil && ctx.Err() == nil {
			e.deps.Logger.ErrorContext(ctx, "sweep failed", "of", what, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
	}
}

// pool finds a configured pool by name.
func (e *Engine) pool(name string) (incident.Pool, bool) {
	for _, p := range e.cfg.Pools {
		if p.Name == name {
			return p, true
		}
	}
	return incident.Pool{}, false
}
