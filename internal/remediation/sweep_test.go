package remediation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/test/process"
)

func TestAnErrorOfOneIncidentDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	b.sight.see(sick(5, addReplica()))
	b.sight.seeAt("qwen", sick(6, addReplica()))
	b.deliver(alert("HighTTFT", "llama"), alert("HighTTFT", "qwen"))
	b.sweep()
	b.store.onCommit(func(changes []incident.Change) error {
		if changes[0].Incident.Pool == "llama" && changes[0].Incident.Plan != nil {
			return errors.New("this row is broken")
		}
		return nil
	})
	b.skip(5 * time.Second)
	err := b.trySweep()
	if err == nil || !strings.Contains(err.Error(), "this row is broken") ||
		!strings.Contains(err.Error(), b.open("llama").ID) {
		t.Errorf("the error does not name the incident: %v", err)
	}
	if got := b.open("qwen").State; got != incident.StateDeciding {
		t.Errorf("qwen is %s", got)
	}
	if got := b.open("llama").State; got != incident.StateInvestigating {
		t.Errorf("llama is %s", got)
	}
	b.store.onCommit(nil)
	b.skip(5 * time.Second) // given back, not kept until the lease ends
	b.sweep()
	if got := b.open("llama").State; got != incident.StateDeciding {
		t.Errorf("llama is %s when the error is gone", got)
	}
}

// A mistake of the engine's own must not turn a sweep into an endless loop.
func TestARefusalWithNobodyInBetweenWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	tries := 0
	b.store.onCommit(func([]incident.Change) error {
		tries++
		return &incident.RefusedError{Reason: "never"}
	})
	if err := b.trySweep(); err == nil || tries != 1 {
		t.Errorf("error %v after %d tries in one sweep", err, tries)
	}
}

func TestAnIncidentWhosePoolIsGoneIsHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.restart(qwen())
	b.pass(10 * time.Minute) // any look or write fails the test
	if got := b.read(inc.ID); got.State != incident.StateApplying {
		t.Fatalf("state %s", got.State)
	}
	b.restart(llama())
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.skip(time.Minute)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateSettling {
		t.Errorf("state %s when the pool is back", got.State)
	}
}

func TestManyIncidentsAreAllTaken(t *testing.T) {
	t.Parallel()
	pools := []incident.Pool{}
	for name := range strings.FieldsSeq("a b c d e f g h i j k l m n o p q r s t") {
		p := llama()
		p.Name, p.Match = name, map[string]string{"model_name": name}
		pools = append(pools, p)
	}
	b := newBench(t, pools)
	for _, p := range pools {
		b.sight.seeAt(p.Name, sick(5, addReplica()))
		b.deliver(alert("HighTTFT", p.Name))
	}
	b.sweep()
	b.skip(5 * time.Second)
	b.sweep()
	for _, inc := range b.all() {
		if inc.State != incident.StateDeciding {
			t.Errorf("pool %s is %s", inc.Pool, inc.State)
		}
	}
	if got := len(b.all()); got != len(pools) {
		t.Errorf("%d incidents", got)
	}
}

func TestNewNamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := remediation.New(remediation.Config{Timing: incident.Timing{Hold: -time.Second}}, remediation.Deps{})
	if err == nil {
		t.Fatal("an engine without anything")
	}
	for _, want := range []string{
		"Incidents", "Inbox", "Ledger", "Collector", "Playbooks", "Logger", "Now", "Owner",
		"hourly_budget", "timing.hold",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

// idle is a store without work; it counts how often it was asked, and wakes on request.
type idle struct {
	remediation.Incidents
	remediation.Inbox

	mu    sync.Mutex
	asked int
	wake  chan struct{}
	err   error
}

// signal wakes everybody who waits; err is what the next call answers.
func (s *idle) signal(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *idle) sweeps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *idle) ClaimDue(context.Context, string, time.Time, time.Duration, int) ([]incident.Claimed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return nil, s.err
}

func (s *idle) ClaimDeliveries(context.Context, string, time.Time, time.Duration, int) ([]incident.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, s.err
}

func (s *idle) Wake() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wake
}

func TestRunSweepsAtStartEveryIntervalAndWhenWoken(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	deps := b.deps
	synctest.Test(t, func(t *testing.T) {
		s := &idle{wake: make(chan struct{})}
		deps.Incidents, deps.Inbox, deps.Now = s, s, time.Now
		engine, err := remediation.New(remediation.Config{
			Owner: "bot", Policy: b.cfg.Policy,
			Timing: incident.Timing{Sweep: time.Minute},
		}, deps)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- engine.Run(ctx) }()
		expect := func(when string, n int) {
			t.Helper()
			synctest.Wait()
			if got := s.sweeps(); got != n {
				t.Errorf("%s: swept %d times, want %d", when, got, n)
			}
		}
		expect("at start", 1)
		time.Sleep(time.Minute)
		expect("after the interval", 2)
		s.signal(errors.New("the store is away")) // logged; the loop goes on
		expect("when woken", 3)
		time.Sleep(time.Minute)
		expect("after an error", 4)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the end: %v", err)
		}
	})
	if !strings.Contains(b.log.String(), "the store is away") {
		t.Error("the error of a sweep is not in the log")
	}
}

// stuck answers for owners only when the context ends.
type stuck struct {
	*sight

	asked chan struct{}
}

func (s stuck) FindOwners(ctx context.Context, _ map[string]string) ([]incident.WorkloadRef, incident.Trail, error) {
	close(s.asked)
	<-ctx.Done()
	return nil, incident.Trail{}, context.Cause(ctx)
}

func TestAnOwnerThatIsSlowToFindDoesNotHoldUpAnApprovedStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	collector := stuck{sight: b.sight, asked: make(chan struct{})}
	b.deps.Collector = collector
	b.restart(llama())
	b.deliver(alert("HighTTFT", "mixtral"))
	ctx, stop := context.WithTimeout(t.Context(), process.Patience)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- b.engine.Run(ctx) }()
	<-collector.asked
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", answer{rollout: incident.Rollout{State: incident.RolloutRunning}, then: stop})
	b.approve(inc)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v while an owner was looked for", got)
	}
}

// One pool whose Prometheus hangs must not keep another pool's incident waiting, nor one that comes in meanwhile.
func TestASlowTurnHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	b.sight.see(sick(5, addReplica()))
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.skip(5 * time.Second)
	hang, hangs := make(chan struct{}), make(chan struct{})
	b.sight.during = func() { close(hangs); <-hang }
	swept := make(chan error, 1)
	go func() {
		_, err := b.engine.Sweep(t.Context())
		swept <- err
	}()
	<-hangs
	b.sight.seeAt("qwen", sick(6, addReplica()))
	b.deliver(alert("HighTTFT", "qwen"))
	// The inbox; the incident is not due before its group is gathered.
	if _, err := b.engine.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.skip(5 * time.Second)
	for b.open("qwen").State != incident.StateDeciding {
		select {
		case err := <-swept:
			t.Fatalf("the sweep ended before the slow turn did: %v", err)
		case <-t.Context().Done():
			t.Fatal("qwen waits for llama's slow turn")
		case <-time.After(10 * time.Millisecond):
		}
	}
	close(hang)
	if err := <-swept; err != nil {
		t.Fatal(err)
	}
	if got := b.open("llama").State; got != incident.StateDeciding {
		t.Errorf("llama is %s in the end", got)
	}
}

// backlog is a store with a backlog: it hands out a batch for each entry, of deliveries that came so long ago, and
// notes what folding did between them.
type backlog struct {
	*faulty

	ages    []time.Duration
	sizes   []int
	claims  []time.Time
	yielded []time.Duration
	took    time.Duration
}

func (s *backlog) ClaimDeliveries(
	_ context.Context, _ string, now time.Time, _ time.Duration, _ int,
) ([]incident.Delivery, error) {
	n := len(s.claims)
	if n == len(s.ages) {
		return nil, nil
	}
	s.claims = append(s.claims, now)
	s.yielded = append(s.yielded, 0)
	out := make([]incident.Delivery, s.sizes[n])
	for i := range out {
		out[i] = incident.Delivery{ID: int64(i + 1), Attempts: 1, ReceivedAt: now.Add(-s.ages[n]), GroupKey: fmt.Sprint(i)}
	}
	return out, nil
}

func (s *backlog) CommitFolded(context.Context, incident.Folded) error {
	time.Sleep(s.took)
	return nil
}

func (s *backlog) Yield(_ context.Context, limit time.Duration) {
	s.yielded[len(s.yielded)-1] = limit
}

// Folding gives way to intake in proportion to what it took, bounded, and not once deliveries have waited for long.
// New ones that do not fill a batch gather for a moment.
func TestFoldingGivesWayToIntake(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	deps := b.deps
	for _, x := range []struct {
		name   string
		took   time.Duration
		age    time.Duration
		size   int
		yields time.Duration
		next   time.Duration
	}{
		{"a full batch", 20 * time.Millisecond, time.Second, 256, 180 * time.Millisecond, 20 * time.Millisecond},
		{"a slow one", time.Second, time.Second, 256, 2 * time.Second, time.Second},
		{"one that has waited", time.Second, 30 * time.Second, 256, 0, time.Second},
		{"some new ones", 20 * time.Millisecond, 0, 10, 180 * time.Millisecond, 220 * time.Millisecond},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &backlog{ages: []time.Duration{x.age, 0}, sizes: []int{x.size, 2}, took: x.took}
				deps := deps
				deps.Incidents, deps.Inbox, deps.Now = &idle{wake: make(chan struct{})}, s, time.Now
				engine, err := remediation.New(remediation.Config{
					Owner: "bot", Policy: b.cfg.Policy, Timing: incident.Timing{Sweep: time.Hour, Lease: time.Minute},
				}, deps)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithTimeout(t.Context(), process.Patience)
				defer stop()
				if err := engine.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if len(s.claims) != 2 || s.yielded[0] != x.yields || s.claims[1].Sub(s.claims[0]) != x.next {
					t.Errorf("claims at %v, gave way for %v; want %s and the next claim after %s", s.claims, s.yielded, x.yields,
						x.next)
				}
			})
		})
	}
}
