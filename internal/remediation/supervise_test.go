package remediation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// impatient is a bench whose turns are given up soon. The limit is in the machine's time, and so is what hangs.
func impatient(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, []incident.Pool{llama(), qwen()}, func(c *remediation.Config,
		_ *remediation.Deps,
	) {
		c.Timing.Lease = 2 * time.Second
	})
	b.sight.see(sick(5, addReplica()))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	return b
}

// until waits for something that another goroutine does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-t.Context().Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// onCollect has the next collection do something first.
func (s *sight) onCollect(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.during = do
}

// A turn that does not end although its context has cannot be stopped. It takes one place until it is given up, and its
// incident is not begun again here.
func TestATurnThatDoesNotEndIsGivenUp(t *testing.T) {
	t.Parallel()
	b := impatient(t)
	hang := make(chan struct{})
	b.sight.onCollect(func() { <-hang })
	b.sweep()
	inc := b.open("llama")
	if got := b.engine.Turns(); got.Hung != 1 || got.GivenUp != 1 || inc.Setback == nil ||
		inc.Setback.Kind != incident.SetbackHung {
		t.Fatalf("%+v, setback %+v", got, inc.Setback)
	}
	want := "did not finish in time and was given up. " +
		"The same replica tries again only after that work ends or after a restart. Other replicas: at 03:01 UTC."
	if !strings.Contains(inc.Note, want) || !strings.Contains(b.log.String(), "a turn does not end and was given up") {
		t.Errorf("note %q, log %s", inc.Note, b.log)
	}
	b.sight.onCollect(func() { t.Error("the incident is begun again while its turn is under way") })
	b.deliver(alert("QueueBuildUp", "llama")) // wakes it
	for range 3 {
		b.skip(10 * time.Minute)
		b.sweep()
	}
	b.sight.onCollect(nil)
	if got := b.open("llama"); got.Setback.Count != 1 || got.State != incident.StateInvestigating {
		t.Errorf("%s, setback %+v", got.State, got.Setback)
	}
	b.sight.seeAt("qwen", sick(6, addReplica()))
	b.deliver(alert("HighTTFT", "qwen"))
	b.sweep()
	b.pass(10 * time.Second)
	if got := b.open("qwen").State; got != incident.StateDeciding {
		t.Errorf("another incident is %s beside the hung one", got)
	}
	close(hang)
	until(t, "the hung turn ends", func() bool { return b.engine.Turns().Hung == 0 })
	if got := b.open("llama").State; got != incident.StateInvestigating {
		t.Errorf("the turn that was given up has led to %s", got)
	}
	b.pass(2 * time.Minute)
	if got := b.open("llama"); got.State != incident.StateDeciding || got.Setback != nil ||
		!strings.Contains(said(got), "Work on this incident has resumed.") {
		t.Errorf("%s, setback %+v in the end:\n%s", got.State, got.Setback, said(got))
	}
}

func TestAfterARestartAHungIncidentWaitsItsTime(t *testing.T) {
	t.Parallel()
	b := impatient(t)
	hang := make(chan struct{})
	defer close(hang)
	b.sight.onCollect(func() { <-hang })
	b.sweep()
	b.restart(llama(), qwen())
	b.sight.onCollect(func() { t.Error("it is begun again at once") })
	b.sweep()
	b.skip(30 * time.Second)
	b.deliver(alert("QueueBuildUp", "llama"))
	b.sweep()
	b.sight.onCollect(nil)
	b.pass(time.Minute)
	if got := b.open("llama"); got.State != incident.StateDeciding || got.Setback != nil {
		t.Errorf("%s, %+v", got.State, got.Setback)
	}
}

// More hung turns than may be given away keep their places; then nothing is begun any more, which the process' pulse
// shows.
func TestHungTurnsTakeABoundedNumberOfGoroutines(t *testing.T) {
	t.Parallel()
	var pools []incident.Pool
	for n := range 20 {
		p := llama()
		p.Name = string(rune('a' + n))
		p.Match = map[string]string{"model_name": p.Name}
		pools = append(pools, p)
	}
	hang := make(chan struct{})
	b := newBench(t, pools, func(c *remediation.Config, d *remediation.Deps) {
		c.Timing.Lease = time.Second
		d.Collector, d.Playbooks = hanging{until: hang}, hanging{}
	})
	for _, p := range pools {
		b.deliver(alert("HighTTFT", p.Name))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	b.skip(time.Minute)
	go func() { ended <- b.engine.Run(ctx) }()
	until(t, "all places are taken", func() bool { b.skip(time.Second); return b.engine.Turns().Hung == 16 })
	for range 50 {
		b.skip(time.Minute)
	}
	if got := b.engine.Turns(); got.Hung != 16 {
		t.Errorf("%+v", got)
	}
	stop()
	close(hang)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Nobody waits for them but this test, whose store they would still use.
	until(t, "the turns that hung have ended", func() bool { return b.engine.Turns().Hung == 0 })
}

// hanging is a collector that ends only when it is told to.
type hanging struct {
	remediation.Collector
	until chan struct{}
}

func (h hanging) Collect(context.Context, incident.Pool, []incident.Signal, incident.Scope) incident.Evidence {
	<-h.until
	return incident.Evidence{}
}

func (h hanging) Signals([]string) []incident.Signal { return nil }

func (h hanging) Diagnose(playbooks.Input) playbooks.Result {
	return playbooks.Result{Healthy: incident.Undecided}
}

// exploding is a collector that panics over one pool, and over alerts from one instance.
type exploding struct {
	*sight
	pool, instance string
}

func (x exploding) Collect(
	ctx context.Context, pool incident.Pool, signals []incident.Signal, scope incident.Scope,
) incident.Evidence {
	if pool.Name == x.pool {
		panic("index out of range")
	}
	return x.sight.Collect(ctx, pool, signals, scope)
}

func (x exploding) FindOwners(
	ctx context.Context, labels map[string]string,
) ([]incident.WorkloadRef, incident.Trail, error) {
	if labels["instance"] == x.instance {
		panic(errors.New("nil map"))
	}
	return x.sight.FindOwners(ctx, labels)
}

func TestAPanicParksItsIncidentAndNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	b.deps.Collector = exploding{sight: b.sight, pool: "llama"}
	b.restart(llama(), qwen())
	b.sight.seeAt("qwen", sick(6, addReplica()))
	b.deliver(alert("HighTTFT", "llama"), alert("HighTTFT", "qwen"))
	b.sweep()
	b.skip(5 * time.Second)
	for n, wait := range []time.Duration{
		time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, time.Hour,
		time.Hour,
	} {
		if err := b.trySweep(); err == nil || !strings.Contains(err.Error(), "panic: index out of range") {
			t.Fatalf("attempt %d: %v", n+1, err)
		}
		got := b.open("llama")
		if s := got.Setback; s == nil || s.Count != n+1 || s.Kind != incident.SetbackPanic ||
			s.RetryAt.Sub(b.clock()) != wait || s.Parked != (n >= 4) {
			t.Fatalf("attempt %d: %+v", n+1, s)
		}
		b.skip(wait - time.Second)
		if err := b.trySweep(); err != nil {
			t.Fatalf("attempt %d: begun again early: %v", n+1, err)
		}
		b.skip(time.Second)
	}
	got := b.open("llama")
	if !strings.Contains(got.Note, "so this incident is parked. Needs a human.") ||
		got.State != incident.StateInvestigating {
		t.Errorf("%s: %s", got.State, got.Note)
	}
	if thread := inThread(got); strings.Count(thread, "internal error") != 2 {
		t.Errorf("the thread does not say it at the first time and when it is parked:\n%s", thread)
	}
	if got := said(b.open("qwen")); !strings.Contains(got, "Requested approval") {
		t.Errorf("the other incident: %s", got)
	}
	b.deps.Collector = b.sight // a version without the error
	b.restart(llama(), qwen())
	b.sight.see(sick(5, addReplica()))
	if _, err := b.engine.Act(t.Context(), got.ID, incident.Acked{By: ada}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if got := b.open("llama"); got.State != incident.StateDeciding || got.Setback != nil {
		t.Errorf("after a person's action: %s, %+v", got.State, got.Setback)
	}
}

// inThread is what the thread says.
func inThread(inc incident.Incident) string {
	inc.Journal = slices.DeleteFunc(slices.Clone(inc.Journal), func(e incident.Entry) bool { return !e.Thread })
	return said(inc)
}

func TestADeliveryThatPanicsIsParkedAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.store.onCommit(func(changes []incident.Change) error {
		if changes[0].Incident.Pool == "" {
			panic("index out of range")
		}
		return nil
	})
	b.deliverAll(incident.Delivery{
		ReceivedAt: start, Receiver: "medic", GroupKey: "poisoned",
		Alerts: []incident.Alert{from("X", "poison")},
	})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	if got := b.open("llama"); len(got.Alerts) != 1 {
		t.Errorf("the other delivery: %+v", got.Alerts)
	}
	b.sight.see(well())
	dead := int64(0)
	for n := 0; dead == 0 && n < 30; n++ {
		b.pass(10 * time.Second)
		var err error
		if dead, err = b.store.DeadDeliveries(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if dead != 1 {
		t.Errorf("%d deliveries are parked", dead)
	}
}

// A look-up that panics is that of one place; the alerts of others find their pools.
func TestALookUpThatPanicsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deps.Collector = exploding{sight: b.sight, instance: "poison"}
	b.restart(llama())
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.deliver(from("X", "poison"), from("HighTTFT", "10.0.0.1:8000"))
	b.sweep()
	if got := b.open("llama"); len(got.Alerts) != 1 {
		t.Errorf("the other alert: %+v", got.Alerts)
	}
	if got := b.open(""); got.Unshown || len(got.Alerts) != 1 || !strings.Contains(said(got), "an internal error") {
		t.Errorf("the one whose pool can't be looked for: %s", said(got))
	}
}

// What is said about a turn that failed may fail itself, over the very same incident.
func TestAPanicWhileASetbackIsNotedEndsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deps.Collector = exploding{sight: b.sight, pool: "llama"}
	b.restart(llama())
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	b.store.onCommit(func(changes []incident.Change) error {
		if changes[0].Incident.Setback != nil {
			panic("again")
		}
		return nil
	})
	for range 3 {
		if err := b.trySweep(); err == nil || !strings.Contains(err.Error(), "panic: again") {
			t.Fatalf("got %v", err)
		}
		b.skip(3 * time.Minute) // the lease runs out
	}
	b.store.onCommit(nil)
	b.deps.Collector = b.sight
	b.restart(llama())
	b.sight.see(well())
	b.sweep()
	if got := b.open("llama"); got.Setback != nil {
		t.Errorf("%+v", got.Setback)
	}
}

// cutOff is a holder of the incident that ends without giving it back.
func (b *bench) cutOff(t *testing.T) {
	t.Helper()
	got, err := b.store.ClaimDue(t.Context(), "gone", b.clock(), time.Second, 1)
	if err != nil || len(got) != 1 {
		t.Fatalf("claimed %v, %v", got, err)
	}
	b.skip(2 * time.Second)
}

func TestAnIncidentThatEndsTheProcessIsNotBegunAgainForever(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	id := b.open("llama").ID
	for range 5 { // noted by five processes before they went on, and ended
		if _, err := b.engine.Act(t.Context(), id, incident.SetBack{How: incident.SetbackLost}); err != nil {
			t.Fatal(err)
		}
	}
	b.cutOff(t)
	b.sweep() // an investigation would fail the test
	got := b.open("llama")
	if got.Setback.Count != 6 || got.Setback.RetryAt.Sub(b.clock()) != time.Hour ||
		!strings.Contains(got.Note,
			"was cut off before it finished. That was attempt 6 in a row, so this incident is parked.") {
		t.Errorf("%+v, note %q", got.Setback, got.Note)
	}
	b.sight.see(sick(5, addReplica()))
	b.skip(time.Hour)
	b.sweep()
	if got := b.open("llama"); got.State != incident.StateDeciding || got.Setback != nil {
		t.Errorf("%s, %+v", got.State, got.Setback)
	}
}

func TestOneTurnThatWasCutOffIsTakenOnAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	b.cutOff(t)
	b.sight.see(sick(5, addReplica()))
	b.sweep()
	got := b.open("llama")
	if got.State != incident.StateDeciding || got.Setback != nil ||
		!strings.Contains(said(got), "was cut off before it finished.") || strings.Contains(inThread(got), "cut off") {
		t.Errorf("%s, %+v:\n%s", got.State, got.Setback, said(got))
	}
}
