package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// reader answers for pools and counts how often it was asked, and by how many at once.
type reader struct {
	takes time.Duration

	mu          sync.Mutex
	asked       map[string]int
	busy, most  int
	wantCluster bool
}

func (r *reader) Collect(
	ctx context.Context, p incident.Pool, signals []incident.Signal, opts evidence.CollectOptions,
) incident.Evidence {
	r.mu.Lock()
	r.asked[p.Name]++
	r.busy++
	r.most, r.wantCluster = max(r.most, r.busy), r.wantCluster || !opts.NoCluster
	r.mu.Unlock()
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	out := incident.Evidence{At: time.Now(), Readings: map[string]incident.Reading{}}
	for _, s := range signals {
		out.Readings[s.Name] = incident.Reading{Signal: s.Name, Value: new(1.0), Direction: s.Direction}
	}
	return out
}

func (r *reader) ClockWarning() string { return "" }

func (r *reader) count(pool string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[pool]
}

// loaded are the built-in playbooks.
func loaded(t *testing.T) *playbooks.Catalog {
	t.Helper()
	files, err := playbookFiles(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// watch begins an overview of some pools.
func watch(t *testing.T, r *reader, c *playbooks.Catalog, pools ...incident.Pool) *overview {
	t.Helper()
	o := newOverview(clients{}, config.Config{Pools: pools}, time.Now)
	o.collector, o.playbooks = r, func() *playbooks.Catalog { return c }
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := o.run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return o
}

// The names in code are those of the catalog, and each that the catalog has a target for is among them.
func TestTheOverviewReadsSignalsThatExist(t *testing.T) {
	t.Parallel()
	all := loaded(t).SignalNames()
	for _, name := range overviewSignals() {
		if !slices.Contains(all, name) {
			t.Errorf("there is no signal %s", name)
		}
	}
	for _, s := range loaded(t).TargetSignals() {
		if !slices.Contains(overviewSignals(), s.Name) {
			t.Errorf("%s has a target, and is not read", s.Name)
		}
	}
}

// Many viewers cost no more than one, and none costs nothing.
func TestPoolsAreReadWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	synctest.Test(t, func(t *testing.T) {
		r := &reader{asked: map[string]int{}, takes: 100 * time.Millisecond}
		var pools []incident.Pool
		for n := range 7 {
			pools = append(pools, incident.Pool{Name: fmt.Sprint(n), SLO: incident.SLO{TTFT: 2}})
		}
		o := watch(t, r, c, pools...)
		time.Sleep(time.Hour)
		if n := r.count("0"); n != 0 {
			t.Fatalf("asked %d times while nobody looked", n)
		}
		got := o.Health(t.Context())
		readings := got["3"].Readings
		if len(got) != 7 || len(readings) != len(overviewSignals()) || readings["ttft_p95"].Threshold == nil ||
			got["3"].Assessment.Health != incident.HealthOK {
			t.Fatalf("the first page has %d pools with %d readings: %+v", len(got), len(readings), got["3"].Assessment)
		}
		for range 10 {
			o.Health(t.Context())
			synctest.Wait()
		}
		if n := r.count("3"); n != 1 || r.most > poolsAtOnce || r.wantCluster {
			t.Errorf("asked %d times, %d at once, the cluster too: %v", n, r.most, r.wantCluster)
		}
		time.Sleep(healthEvery)
		before := o.Health(t.Context())["3"].At
		time.Sleep(time.Second)
		if after := o.Health(t.Context())["3"].At; !after.After(before) || r.count("3") != 2 {
			t.Errorf("an old reading is not renewed: %s, then %s", before, after)
		}
	})
}

// A Prometheus that hangs keeps no page waiting for long, and what was read before stays.
func TestAPageDoesNotWaitForASlowPrometheus(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	synctest.Test(t, func(t *testing.T) {
		r := &reader{asked: map[string]int{}, takes: time.Minute}
		o := watch(t, r, c, incident.Pool{Name: "llama"})
		begun := time.Now()
		if got := o.Health(t.Context()); len(got) != 0 || time.Since(begun) != firstWait {
			t.Errorf("after %s there are %d pools", time.Since(begun), len(got))
		}
		time.Sleep(time.Minute)
		begun = time.Now()
		if got := o.Health(t.Context()); len(got) != 1 || time.Since(begun) != 0 {
			t.Errorf("after %s there are %d pools", time.Since(begun), len(got))
		}
		if found, at := o.permissions(t.Context()); len(found) != 0 || !at.IsZero() {
			t.Error("permissions were asked without a Kubernetes")
		}
	})
}

func TestNamesAreRememberedAndAFailureAsksNobodyForAWhile(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	asked, down := 0, false
	n := &names{now: func() time.Time { return clock }, ask: func(_ context.Context, id string) (string, error) {
		asked++
		if down {
			return "", errors.New("no answer")
		}
		return "name of\n" + id, nil
	}}
	expect := func(id, want string, calls int) {
		t.Helper()
		if got := n.get(t.Context(), id); got != want || asked != calls {
			t.Errorf("%s is %q after %d calls, want %q after %d", id, got, asked, want, calls)
		}
	}
	expect("U1", "name of U1", 1)
	expect("U1", "name of U1", 1)
	down = true
	expect("U2", "", 2)
	expect("U3", "", 2)
	clock = clock.Add(nameFor)
	expect("U1", "name of U1", 3)
	down = false
	expect("U2", "", 3)
	clock = clock.Add(noNameFor)
	expect("U2", "name of U2", 4)
}
