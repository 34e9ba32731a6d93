package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// SetScenario changes what is going on. The demand becomes the scenario's rate times the replicas that there are now.
func (f *Fleet) SetScenario(name string) error {
	s, err := ScenarioNamed(name)
	if err != nil {
		return err
	}
	return f.Apply(s)
}

// Apply is SetScenario for a scenario of one's own.
func (f *Fleet) Apply(s Scenario) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.replicas {
		if _, err := s.Engine.withArgs(r.args); err != nil {
			return fmt.Errorf("scenario %s: pod %s: %w", s.Name, r.pod.Name, err)
		}
	}
	worse := f.baseline != nil
	f.scenario, f.base = s, s.Load.Rate*float64(len(f.replicas))
	f.arrivals.start(s.Load, f.base*factor(f.levers.Traffic), f.now, f.rnd)
	if worse {
		f.setBaseline()
	}
	f.settle()
	return nil
}

// SetReplicas sets the number of replicas, named after the model. Replicas that stay go on, new ones are ready after
// Options.StartUp; of those that go, what is not ready goes first, then the youngest. They lose their requests.
// Pods of SetPods with arguments of their own are replaced by others with those of the fleet.
func (f *Fleet) SetReplicas(n int) error {
	if n < 0 {
		return fmt.Errorf("replicas are %d, must not be negative", n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.desired, f.managed = n, true
	f.reconcile()
	f.settle()
	return nil
}

// SetPods sets the replicas by name, as the ready pods of a real workload. A pod that was there with the same address,
// arguments and version goes on, any other starts cold and is ready after Options.StartUp. From now on which pods there
// are is somebody else's decision. Nothing changes on an error.
func (f *Fleet) SetPods(pods []Pod) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	for _, p := range pods {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("pod %q has no name or comes twice", p.Name)
		}
		seen[p.Name] = true
		if _, err := f.scenario.Engine.withArgs(p.Args); err != nil {
			return fmt.Errorf("pod %s: %w", p.Name, err)
		}
		if p.Role != "" && p.Role != Prefill && p.Role != Decode {
			return fmt.Errorf("pod %s: role %q is not one of %q", p.Name, p.Role, []Role{Prefill, Decode})
		}
		if err := p.Dialect.validate(f.opts.Ranks); p.Dialect != "" && err != nil {
			return fmt.Errorf("pod %s: %w", p.Name, err)
		}
	}
	f.managed = false
	f.setPods(pods)
	f.settle()
	return nil
}

func (f *Fleet) setPods(pods []Pod) {
	var next []*replica
	for _, p := range pods {
		p.Args = slices.Clone(p.Args)
		args := p.Args
		if args == nil {
			args = f.args
		}
		i := slices.IndexFunc(f.replicas, func(r *replica) bool {
			return r.pod.Name == p.Name && r.pod.IP == p.IP && slices.Equal(r.args, args) &&
				r.dialect == cmp.Or(p.Dialect, f.opts.Dialect) && r.pod.Role == p.Role
		})
		if i < 0 {
			next = append(next, f.newReplica(p, args))
			continue
		}
		f.replicas[i].pod = p
		next = append(next, f.replicas[i])
	}
	for _, r := range f.replicas {
		if !slices.Contains(next, r) {
			f.drop(r)
		}
	}
	f.replicas = next
}

// gone is called by an engine for each request that ended there. A client that leaves makes Envoy close its connection
// to the engine, which speaks HTTP/1.1. The API server has answered 200 as soon as it streams.
func (f *Fleet) gone(rep *replica, e *engine, r *request, how ending) {
	if r.generated > 0 {
		rep.answered++
	}
	if how != prefilled {
		r.repay()
	}
	switch how {
	case prefilled:
		f.handoffs = append(f.handoffs, handoff{e.now, r})
	case finished:
		f.gateway.completed++
		o := Outcome{
			Arrived: r.call.arrived, Ended: e.now + e.late, Result: Answered, Tries: r.call.tries,
			FirstToken: r.firstToken - r.call.arrived + e.spec.Frontend + r.late,
		}
		if r.generated > 1 {
			o.PerToken = (r.lastToken - r.firstToken) / time.Duration(r.generated-1)
		}
		f.observe(o)
	case gaveUp:
		f.gateway.destroyed++
		f.failed(r.call, GaveUp, e.now)
	case lost:
		f.gateway.lost++
		f.failed(r.call, Lost, f.now)
	}
}

// SetThrottle sets how many requests may be in flight in the whole fleet (Envoy's circuitBreaker.maxParallelRequests);
// 0 is no limit.
func (f *Fleet) SetThrottle(n int) error {
	if n < 0 {
		return fmt.Errorf("throttle is %d, must not be negative", n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gateway.throttle = n
	f.settle()
	return nil
}

// SetRateLimit sets how many requests per second may pass (Envoy's rateLimit.local); 0 is no limit.
func (f *Fleet) SetRateLimit(perSecond float64) error {
	if !(perSecond >= 0) {
		return fmt.Errorf("rate limit is %g, must not be negative", perSecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gateway.perSec = perSecond
	f.settle()
	return nil
}

// SetArgs sets the engine arguments of every replica that has none of its own. A change restarts those replicas: their
// requests are lost, counters begin at 0, the prefix cache is cold. With SetPods it does so at once; else pod by pod,
// each when the one before is ready, as a Deployment does it (see Options.NoSurge). On arguments with which vLLM would
// not start nothing changes.
func (f *Fleet) SetArgs(args []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.scenario.Engine.withArgs(args); err != nil {
		return fmt.Errorf("set arguments: %w", err)
	}
	f.args = slices.Clone(args)
	if f.managed {
		f.reconcile()
	} else {
		pods := make([]Pod, len(f.replicas))
		for i, r := range f.replicas {
			pods[i] = r.pod
		}
		f.setPods(pods)
	}
	f.settle()
	return nil
}

// SetWorse makes changes hurt: from now on, while the replicas, the limits or the arguments differ from what they are
// now, every step takes three times as long and the limits hold nothing back. Going back heals. Turned on again it
// starts from what is then.
func (f *Fleet) SetWorse(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.baseline = nil
	if on {
		f.setBaseline()
	}
	f.settle()
}

func (f *Fleet) setBaseline() {
	s := f.settings()
	f.baseline = &s
}

// errNoReplica is the answer for a replica that is not there.
var errNoReplica = errors.New("no such replica")
