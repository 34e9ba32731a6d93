package remediation_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// start is when the tests begin; only differences matter.
var start = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// ada and bob are people; whether they are allowed is checked before the engine.
var (
	ada = incident.Actor{Kind: "slack", ID: "U-ADA"}
	bob = incident.Actor{Kind: "slack", ID: "U-BOB"}
)

// bench is an engine on a real store, with a clock that is moved by hand and scripted doubles of the outside.
type bench struct {
	t      testing.TB
	store  *faulty
	engine *remediation.Engine
	// investigator asks what the engine asks, by itself.
	investigator *remediation.Investigator
	sight        *sight
	live         *cluster
	dryRun       *cluster
	log          *bytes.Buffer
	cfg          remediation.Config
	deps         remediation.Deps

	mu  sync.Mutex
	now time.Time
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// llama is the pool that most tests are about.
func llama() incident.Pool {
	return incident.Pool{
		Name: "llama", Mode: incident.ModeApprove, Match: map[string]string{"namespace": "llm", "model_name": "llama"},
		Workload: incident.WorkloadRef{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama",
			Container: "vllm",
		},
		Approvers: map[incident.StepKind]incident.Approvers{"": {Users: []string{"U-ADA"}, Expire: 30 * time.Minute}},
	}
}

func qwen() incident.Pool {
	p := llama()
	p.Name, p.Workload.Name = "qwen", "qwen"
	p.Match = map[string]string{"namespace": "llm", "model_name": "qwen"}
	return p
}

func inMode(p incident.Pool, m incident.Mode) incident.Pool {
	p.Mode = m
	return p
}

// newBench makes a bench; change may alter what the engine is told.
func newBench(t *testing.T, pools []incident.Pool, change ...func(*remediation.Config, *remediation.Deps)) *bench {
	t.Helper()
	b := &bench{
		t: t, now: start, sight: newSight(t), live: newCluster(t, false), dryRun: newCluster(t, true),
		log: &bytes.Buffer{},
	}
	b.sight.now = b.clock
	b.store = &faulty{Store: openStore(t)}
	b.cfg = remediation.Config{Owner: "bot-1", Pools: pools, Mode: incident.ModeApprove, Policy: policy.Defaults()}
	b.deps = remediation.Deps{
		Incidents: b.store, Inbox: b.store, Ledger: b.store, Collector: b.sight, Playbooks: b.sight, Live: b.live,
		DryRun: b.dryRun,
		Logger: slog.New(slog.NewTextHandler(&lockedWriter{to: b.log}, nil)), Now: b.clock,
	}
	for _, c := range change {
		c(&b.cfg, &b.deps)
	}
	b.restart(b.cfg.Pools...)
	return b
}

// restart makes the engine anew on the same store, as after the end of the process, with these pools.
func (b *bench) restart(pools ...incident.Pool) {
	b.t.Helper()
	b.cfg.Pools = pools
	var err error
	if b.engine, err = remediation.New(b.cfg, b.deps); err != nil {
		b.t.Fatal(err)
	}
	b.investigator, err = remediation.NewInvestigator(pools, b.cfg.Policy, remediation.InvestigatorDeps{
		Collector: b.deps.Collector, Playbooks: b.deps.Playbooks, Ledger: b.deps.Ledger, Live: b.deps.Live,
		DryRun: b.deps.DryRun,
		Logger: b.deps.Logger, Now: b.deps.Now,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{
		ChannelFor: func(string) string { return "C1" }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// pass lets time pass and sweeps, in steps of a minute at most, as the engine does.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	for d > 0 {
		step := min(d, 30*time.Second)
		b.skip(step)
		b.sweep()
		d -= step
	}
}

// skip moves the clock and nothing else.
func (b *bench) skip(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// sweep runs one sweep, which must not fail and must end.
func (b *bench) sweep() {
	b.t.Helper()
	if err := b.trySweep(); err != nil {
		b.t.Fatalf("sweep: %v", err)
	}
}

func (b *bench) trySweep() error {
	ctx, cancel := context.WithTimeout(b.t.Context(), process.Patience)
	defer cancel()
	_, err := b.engine.Sweep(ctx)
	if ctx.Err() != nil {
		b.t.Fatal("the sweep does not come to an end")
	}
	return err
}

// deliver stores a delivery of these alerts.
func (b *bench) deliver(alerts ...incident.Alert) {
	b.t.Helper()
	b.deliverAll(incident.Delivery{ReceivedAt: b.clock(), Receiver: "medic", GroupKey: "g", Alerts: alerts})
}

func (b *bench) deliverAll(d incident.Delivery) {
	b.t.Helper()
	for n := range d.Alerts {
		d.Alerts[n].SeenAt = b.clock()
	}
	if _, err := b.store.AddDelivery(b.t.Context(), d); err != nil {
		b.t.Fatal(err)
	}
}

// alert fires for a model since the start of the tests.
func alert(name, model string) incident.Alert {
	return incident.Alert{
		Fingerprint: name + "/" + model, Firing: true, StartsAt: start.Add(-time.Minute),
		Labels: map[string]string{"alertname": name, "namespace": "llm", "model_name": model, "severity": "warning"},
	}
}

// resolved is the end of an alert.
func resolved(a incident.Alert, at time.Time) incident.Alert {
	a.Firing, a.EndsAt = false, at
	return a
}

// open returns the open incident of a pool with its journal.
func (b *bench) open(pool string) incident.Incident {
	b.t.Helper()
	inc, ok, err := b.store.OpenIncident(b.t.Context(), pool)
	if err != nil || !ok {
		b.t.Fatalf("the pool %q has no open incident: %v", pool, err)
	}
	return b.read(inc.ID)
}

func (b *bench) read(id string) incident.Incident {
	b.t.Helper()
	inc, err := b.store.IncidentWithJournal(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return inc
}

// all lists every incident, the newest first.
func (b *bench) all() []incident.Incident {
	b.t.Helper()
	list, err := b.store.Incidents(b.t.Context(), incident.Filter{AllPools: true})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// asked brings an alert and lets the engine ask people about the plan that follows from what is seen.
func (b *bench) asked(f finding) incident.Incident {
	b.t.Helper()
	b.sight.see(f)
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	inc := b.open("llama")
	if inc.State != incident.StateDeciding {
		b.t.Fatalf("the incident is %s, not deciding: %s", inc.State, inc.Note)
	}
	return inc
}

func (b *bench) decide(inc incident.Incident, step string, verb incident.Verb) error {
	_, err := b.engine.Decide(b.t.Context(), inc.ID, decision(inc, step, verb))
	return err
}

func decision(inc incident.Incident, step string, verb incident.Verb) incident.Decision {
	return incident.Decision{Step: step, Digest: inc.Plan.Digest, Verb: verb, By: ada}
}

// approve approves the first step of the first plan, as ada.
func (b *bench) approve(inc incident.Incident) {
	b.t.Helper()
	if err := b.decide(inc, "p1-s1", incident.Approve); err != nil {
		b.t.Fatalf("approve: %v", err)
	}
}

func (b *bench) pause(pool string) {
	b.t.Helper()
	if err := b.store.SetPause(b.t.Context(), incident.Pause{
		Pool: pool, Reason: "maintenance", By: bob,
		At: b.clock(),
	}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) resume(pool string) {
	b.t.Helper()
	if had, err := b.store.ClearPause(b.t.Context(), pool, b.clock()); err != nil || !had {
		b.t.Fatalf("resume: %v %v", had, err)
	}
}

// writes are the claims of the last day on a pool.
func (b *bench) writes(pool string) []incident.Write {
	b.t.Helper()
	list, err := b.store.WritesSince(b.t.Context(), pool, b.clock().Add(-24*time.Hour))
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// unlocked fails when any lock is held.
func (b *bench) unlocked() {
	b.t.Helper()
	if locks, err := b.store.Locks(b.t.Context()); err != nil || len(locks) > 0 {
		b.t.Errorf("locks are held: %v %v", locks, err)
	}
}

type lockedWriter struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
