// Package remediation is the engine: it takes an incident from one state to the next, one durable step at a time.
//
// The incident row is the truth. Advance reads it, does at most one thing outside, works out the next state with
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
)

// Deps are the engine's collaborators; all are needed, except Scenarios, Ignored and Within, and Live, DryRun and
// LastWrites, which are nil when no Kubernetes is configured.
type Deps struct {
	Incidents Incidents
	Inbox     Inbox
	Ledger    Ledger
	Collector Collector
	Playbooks Diagnoser
	// Scenarios are what drills can play; nil: there are no drills.
	Scenarios Scenarios
	Live      Executor
	DryRun    Executor
	// LastWrites finds writes that the store has no record of; nil when no Kubernetes is configured.
	LastWrites LastWrites
	Logger     *slog.Logger
	// Panics logs and counts what was caught; nil only catches.
	Panics *rescue.Log
	// Now is the present time; time.Now in production.
	Now func() time.Time
	// Ignored counts words about alerts that were accepted and changed nothing; nil: nobody counts.
	Ignored func(why incident.Ignored, words int)
	// Within is the context of work on an incident, and what is called at its end; nil: the context as it is.
	Within func(context.Context, incident.Incident) (context.Context, func(error))
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
	// Default 5: processes are ended for many reasons, and a write that was under way must be reconciled soon.
	FreeCuts int
}

// Engine moves incidents. Use New.
type Engine struct {
	cfg          Config
	deps         Deps
	router       router
	investigator *Investigator
	turns        turns
	strays       strays
}

// The parts of the engine in whose work a panic is counted.
const (
	PartInbox     = "inbox"
	PartIncidents = "incidents"
)

// bot is the actor of what the engine does by itself.
var bot = incident.Actor{Kind: incident.ActorBot, ID: "vllm-medic"}

// New refuses a missing dependency by name and an invalid configuration, all errors at once.
func New(cfg Config, deps Deps) (*Engine, error) {
	cfg.Timing = cfg.Timing.WithDefaults()
	cfg.FreeCuts = cmp.Or(cfg.FreeCuts, 5)
	if deps.Within == nil {
		deps.Within = func(ctx context.Context, _ incident.Incident) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}
	var errs []error
	for name, missing := range map[string]bool{
		"Incidents": deps.Incidents == nil, "Inbox": deps.Inbox == nil, "Ledger": deps.Ledger == nil,
		"Owner": cfg.Owner == "",
	} {
		if missing {
			errs = append(errs, fmt.Errorf("remediation: %s is missing", name))
		}
	}
	investigator, err := NewInvestigator(cfg.Pools, cfg.Policy, InvestigatorDeps{
		Collector: deps.Collector, Playbooks: deps.Playbooks, Ledger: deps.Ledger, Live: deps.Live, DryRun: deps.DryRun,
		LastWrites: deps.LastWrites, Logger: deps.Logger, Now: deps.Now,
	})
	if err != nil {
		errs = append(errs, err)
	}
	if err := cfg.Timing.Validate(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Engine{cfg: cfg, deps: deps, router: investigator.router, investigator: investigator}, nil
}

// Run works on the inbox and on the due incidents until the context ends, side by side: alerts whose owner is slow to
// find do not hold up an approved step. Each polls at its start, every Timing.Sweep, and when the store wakes it.
func (e *Engine) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		e.sweepUntilDone(ctx, PartInbox, func(ctx context.Context) (int, error) { return e.drain(ctx, gatherInbox) })
	})
	wg.Go(func() { e.sweepUntilDone(ctx, PartIncidents, e.advanceDue) })
	wg.Wait()
	return nil
}

// gatherInbox is how long deliveries gather before more of them are folded in: in a storm many are folded for the price
// of one. The first one does not wait.
const gatherInbox = 200 * time.Millisecond

// sweepUntilDone sweeps until the context ends: whenever the store wakes it, and every Timing.Sweep.
func (e *Engine) sweepUntilDone(ctx context.Context, what string, sweep func(context.Context) (int, error)) {
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
