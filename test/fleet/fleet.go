package fleet

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Pod is one replica.
type Pod struct {
	Name string `json:"name"`
	// IP is what the instance label shows, with port 8000.
	IP string `json:"ip"`
	// Args are the engine arguments of this pod; nil means those of the fleet.
	Args []string `json:"args,omitempty"`
}

// replica is one API server with its engines.
type replica struct {
	pod   Pod
	args  []string // in force, the fleet's or the pod's own
	ranks []*engine
	born  time.Duration
	// answered counts requests that got a 2xx, also when their stream broke later.
	answered uint64
}

// Fleet is a model served by some replicas behind a gateway, and its clients. It is an http.Handler and safe for use by
// several goroutines.
type Fleet struct {
	opts Options
	mux  *http.ServeMux

	mu       sync.Mutex
	now      time.Duration // simulated, since Options.Epoch
	scenario Scenario
	demand   float64       // requests per second, all replicas together
	since    time.Duration // when this demand began
	sent     int           // requests since then
	args     []string
	replicas []*replica
	gateway  gateway
	// worse is on when baseline is set; see SetWorse.
	baseline *settings
	// targetsErr is the last failure to write Options.TargetsFile.
	targetsErr error
	address    string
}

// settings are what somebody who wants to help can change.
type settings struct {
	replicas, throttle int
	perSec             float64
	engines            string
}

// New returns a fleet at simulated time 0. It does not listen and its time stands still; see Start, Run and Advance.
func New(o Options) (*Fleet, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	f := &Fleet{opts: o}
	s, err := ScenarioNamed(o.Scenario)
	if err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	if _, err := s.Engine.withArgs(o.Args); err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	f.args, f.scenario = slices.Clone(o.Args), s
	f.setPods(f.numbered(o.Replicas))
	if err := f.Apply(s); err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	f.mux = f.routes()
	return f, nil
}

// numbered are the pods of a fleet that nobody named.
func (f *Fleet) numbered(n int) []Pod {
	pods := make([]Pod, n)
	for i := range pods {
		pods[i] = Pod{Name: fmt.Sprintf("%s-%d", f.opts.Model, i), IP: fmt.Sprintf("10.244.%d.%d", 1+i/250, 1+i%250)}
	}
	return pods
}

// Advance lets simulated time pass. How a span is cut into calls does not change what happens.
func (f *Fleet) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.now + max(0, d)
	for at, ok := f.nextArrival(); ok && at <= end; at, ok = f.nextArrival() {
		f.runTo(at)
		f.arrive()
	}
	f.runTo(end)
}

func (f *Fleet) runTo(at time.Duration) {
	if breaks := f.since + f.scenario.FaultAfter; f.now < breaks && breaks <= at {
		f.run(breaks)
		f.settle()
	}
	f.run(at)
}

func (f *Fleet) run(at time.Duration) {
	for _, r := range f.replicas {
		for _, e := range r.ranks {
			e.advance(at)
		}
	}
	f.now = at
}

// nextArrival is when the next request arrives. Arrivals are evenly spaced: the k-th of a load comes k/demand after its
// begin.
func (f *Fleet) nextArrival() (at time.Duration, ok bool) {
	if f.demand <= 0 {
		return 0, false
	}
	return f.since + time.Duration(float64(f.sent+1)/f.demand*float64(time.Second)), true
}

// arrive sends the next request through the gateway to the engine with the fewest requests, the first of equals.
func (f *Fleet) arrive() {
	r := f.scenario.Load.request(f.sent, f.now)
	f.sent++
	var best *engine
	inFlight := 0
	for _, rep := range f.replicas {
		for _, e := range rep.ranks {
			inFlight += e.inFlight()
			if best == nil || e.inFlight() < best.inFlight() {
				best = e
			}
		}
	}
	if best == nil {
		f.gateway.rejected++
		return
	}
	if f.gateway.admit(f.now, inFlight, !f.hurt()) {
		best.enqueue(r, f.scenario.Load.CachedShare)
	}
}

// hurt says whether a change made things worse and still stands.
func (f *Fleet) hurt() bool { return f.baseline != nil && f.settings() != *f.baseline }

func (f *Fleet) settings() settings {
	s := settings{replicas: len(f.replicas), throttle: f.gateway.throttle, perSec: f.gateway.perSec}
	var engines []string
	for _, r := range f.replicas {
		engines = append(engines, fmt.Sprint(f.spec(r.args)))
	}
	slices.Sort(engines)
	s.engines = fmt.Sprint(slices.Compact(engines))
	return s
}

// spec is what an engine with these arguments can do in this scenario. The arguments were checked when they were set; a
// scenario in which vLLM would refuse them cannot be applied.
func (f *Fleet) spec(args []string) Engine {
	spec, err := f.scenario.Engine.withArgs(args)
	if err != nil {
		return f.scenario.Engine
	}
	return spec
}

// settle brings every engine in line with the scenario, the arguments and the worse switch.
func (f *Fleet) settle() {
	slow, fault := 1, NoFault
	if f.hurt() {
		slow = worseFactor
	}
	if f.now >= f.since+f.scenario.FaultAfter {
		fault = f.scenario.Fault
	}
	for _, r := range f.replicas {
		for _, e := range r.ranks {
			e.configure(f.spec(r.args))
			e.fault, e.slow = fault, slow
		}
	}
	f.writeTargets()
}

// worseFactor is how much longer a step takes while a change hurts.
const worseFactor = 3
