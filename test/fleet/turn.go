package fleet

import (
	"errors"
	"fmt"
	"slices"
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
	if err := s.validate(); err != nil {
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
	f.scenario = s
	f.demand, f.since, f.sent = s.Load.Rate*float64(len(f.replicas)), f.now, 0
	if worse {
		f.setBaseline()
	}
	f.settle()
	return nil
}

// SetReplicas sets the number of replicas, named after the model. Replicas that stay go on; a dropped one loses its
// requests.
func (f *Fleet) SetReplicas(n int) error {
	if n < 0 {
		return fmt.Errorf("replicas are %d, must not be negative", n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setPods(f.numbered(n))
	f.settle()
	return nil
}

// SetPods sets the replicas by name, as the ready pods of a real workload. A pod that was there with the same address
// and arguments goes on, any other starts cold. Nothing changes on an error.
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
	}
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
			return r.pod.Name == p.Name && r.pod.IP == p.IP && slices.Equal(r.args, args)
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

func (f *Fleet) newReplica(p Pod, args []string) *replica {
	r := &replica{pod: p, args: args, born: f.now}
	for range f.opts.Ranks {
		e := &engine{now: f.now, born: f.now, tally: newTally(bucketsOf(f.opts.Dialect)), counts: f.opts.CountsAborts}
		e.configure(f.spec(args))
		e.gone = func(req *request, finished bool) { f.gone(r, req, finished) }
		r.ranks = append(r.ranks, e)
	}
	return r
}

// drop counts the requests that a replica takes with it.
func (f *Fleet) drop(r *replica) {
	for _, e := range r.ranks {
		f.gateway.lost += uint64(e.inFlight())
	}
}

// gone is called by an engine for each request that ended. A client that leaves makes Envoy close its connection to the
// engine, which speaks HTTP/1.1. The API server has answered 200 as soon as it streams.
func (f *Fleet) gone(r *replica, req *request, finished bool) {
	if finished {
		f.gateway.completed++
	} else {
		f.gateway.destroyed++
	}
	if req.generated > 0 {
		r.answered++
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

// SetArgs sets the engine arguments of every replica that has none of its own. A change restarts those replicas at
// once: requests are lost, counters begin at 0, the prefix cache is cold. On arguments with which vLLM would not start
// nothing changes.
func (f *Fleet) SetArgs(args []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.scenario.Engine.withArgs(args); err != nil {
		return fmt.Errorf("set arguments: %w", err)
	}
	f.args = slices.Clone(args)
	pods := make([]Pod, len(f.replicas))
	for i, r := range f.replicas {
		pods[i] = r.pod
	}
	f.setPods(pods)
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
