package fleet

import (
	"cmp"
	"fmt"
	"math/rand/v2"
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
	// Role is the pod's part in disaggregated serving; empty: it does both.
	Role Role `json:"role,omitempty"`
	// Dialect is how this pod's version spells its metrics, as in a canary or an upgrade; empty means that of the fleet.
	Dialect Dialect `json:"dialect,omitempty"`
}

// replica is one API server with its engines.
type replica struct {
	pod     Pod
	args    []string // in force, the fleet's or the pod's own
	dialect Dialect  // likewise
	ranks   []*engine
	// frontend is the API server's CPU.
	frontend frontend
	// born is when it was started, ready when it answers.
	born, ready time.Duration
	// answered counts requests that got a 2xx, also when their stream broke later.
	answered uint64
}

// Fleet is a model served by some replicas behind a gateway, and its clients. It is an http.Handler and safe for use by
// several goroutines.
type Fleet struct {
	opts     Options
	families map[Dialect][]family
	mux      *http.ServeMux

	mu        sync.Mutex
	rnd       *rand.Rand
	now       time.Duration // simulated, since Options.Epoch
	scenario  Scenario
	base      float64 // requests per second that the scenario asks for, all replicas together
	levers    Levers
	arrivals  arrivals
	comebacks comebacks
	// handoffs are requests on their way from prefill to decode engines, fetched those whose blocks have come there.
	handoffs []handoff
	fetched  []*request
	calls    uint64 // clients that came
	turns    uint64 // requests that the router gave to engines
	args     []string
	replicas []*replica
	// desired is how many replicas there should be; it holds when nobody else decides which pods there are.
	desired int
	managed bool
	started int          // replicas, ever
	built   map[int]bool // the token budgets for which the model has been compiled
	gateway gateway
	gpuTime time.Duration
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
	//nolint:gosec // the same seed gives the same fleet
	f := &Fleet{opts: o, families: map[Dialect][]family{}, rnd: rand.New(rand.NewPCG(o.Seed, 0))}
	s, err := ScenarioNamed(o.Scenario)
	if err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	if _, err := s.Engine.withArgs(o.Args); err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	f.args, f.scenario = slices.Clone(o.Args), s
	f.desired, f.managed, f.built = o.Replicas, true, map[int]bool{f.spec(f.args).MaxNumBatchedTokens: true}
	if o.Pods == nil {
		f.reconcile()
	} else if err := f.SetPods(o.Pods); err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	for _, r := range f.replicas {
		r.ready = 0 // the fleet was there before
	}
	if err := f.Apply(s); err != nil {
		return nil, fmt.Errorf("make a vLLM fleet: %w", err)
	}
	f.mux = f.routes()
	return f, nil
}

// Advance lets simulated time pass. How a span is cut into calls does not change what happens.
func (f *Fleet) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for end := f.now + max(0, d); ; {
		at := f.next()
		f.run(min(at, end))
		if at > end {
			return
		}
		f.happen()
	}
}

// next is when something happens outside of the engines.
func (f *Fleet) next() time.Duration {
	at := f.arrivals.next
	if len(f.comebacks) > 0 {
		at = min(at, f.comebacks[0].again)
	}
	for _, r := range f.replicas {
		if r.ready > f.now {
			at = min(at, r.ready)
		}
	}
	if breaks := f.arrivals.since + f.scenario.FaultAfter; breaks > f.now {
		at = min(at, breaks)
	}
	at = min(at, f.nextFrontend())
	if f.disaggregated() {
		at = min(at, (f.now/roleStep+1)*roleStep)
	}
	if f.scenario.Load.Retries > 0 { // no further than clients need to come back
		at = min(at, (f.now/minRetryAfter+1)*minRetryAfter)
	}
	return at
}

// happen does what next announced for now.
func (f *Fleet) happen() {
	for _, r := range f.replicas {
		if r.ready == f.now && f.now > 0 {
			f.reconcile()
			f.settle()
			break
		}
	}
	if f.now == f.arrivals.since+f.scenario.FaultAfter {
		f.settle()
	}
	f.handOff()
	f.frontends()
	for f.arrivals.next <= f.now {
		r := f.nextCall()
		f.arrivals.took(f.rnd)
		f.try(r)
	}
	for len(f.comebacks) > 0 && f.comebacks[0].again <= f.now {
		f.comeBack()
	}
}

func (f *Fleet) run(at time.Duration) {
	for _, r := range f.replicas {
		for _, e := range r.ranks {
			e.advance(at)
		}
	}
	f.gpuTime += (at - f.now) * time.Duration(len(f.replicas)*f.opts.GPUs)
	f.now = at
}

// send passes a request through the gateway to an engine that reads its prompt.
func (f *Fleet) send(r *request) (how Result, ok bool) {
	role := Role("")
	if f.disaggregated() {
		role = Prefill
	}
	best, on, inFlight := f.pick(role)
	if best == nil {
		f.gateway.rejected++
		return Refused, false
	}
	if !f.gateway.admit(f.now, inFlight, !f.hurt()) {
		return Refused, false
	}
	f.deliver(r, best, on)
	return "", true
}

// pick is the ready engine of a role with the fewest requests for its share, the first of equals unless they rotate;
// nil for none. inFlight are the requests on all engines.
func (f *Fleet) pick(role Role) (best *engine, on *replica, inFlight int) {
	for _, rep := range f.replicas {
		for _, e := range rep.ranks {
			inFlight += e.inFlight()
			if rep.pod.Role == role && rep.ready <= f.now && (best == nil || e.before(best, f.opts.Rotate)) {
				best, on = e, rep
			}
		}
	}
	return best, on, inFlight
}

// deliver gives an engine a request, through the CPU of its API server where that counts.
func (f *Fleet) deliver(r *request, to *engine, on *replica) {
	f.turns++
	to.turn = f.turns
	if to.spec.cpuBound() {
		on.take(r, to, f.now)
		return
	}
	r.queued = r.arrived
	to.enqueue(r)
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

// settle brings the demand and every engine in line with the scenario, the levers, the arguments and the worse switch.
func (f *Fleet) settle() {
	f.arrivals.setDemand(f.base*factor(f.levers.Traffic), f.now)
	slow, fault := 1., NoFault
	if f.hurt() {
		slow = worseFactor
	}
	if f.now >= f.arrivals.since+f.scenario.FaultAfter {
		fault = f.scenario.Fault
	}
	for _, r := range f.replicas {
		for rank, e := range r.ranks {
			wrong := f.levers.engine(r.pod.Name, rank)
			e.configure(f.spec(r.args))
			e.share, e.cpu = factor(wrong.Share), factor(wrong.Frontend)
			e.fault, e.slow = cmp.Or(wrong.Fault, fault), slow*factor(wrong.Slow)
			e.held = int(wrong.KVHeld * float64(e.blocks))
			e.transfer = wrong.Transfer
		}
	}
	f.writeTargets()
}

// worseFactor is how much longer a step takes while a change hurts.
const worseFactor = 3
