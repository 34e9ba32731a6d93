package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// pods makes the simulated cluster and the simulated fleet one: what the cluster runs is a replica of the fleet. It
// implements workloads.Fleet.
type pods struct {
	fleet *fleet.Fleet
	now   func() time.Time
	// say tells people what the fleet does not take.
	say func(string, ...any)

	mu      sync.Mutex
	started int
	// warm says that replicas are ready at once, as before anybody looks.
	warm   bool
	runs   map[workloads.ID]*podRun
	failed error
}

// podRun is one run of a pod's container.
type podRun struct {
	pod     fleet.Pod
	number  int
	readyAt time.Time
	serving bool
}

func newPods(f *fleet.Fleet, now func() time.Time, say func(string, ...any)) *pods {
	return &pods{fleet: f, now: now, say: say, warm: true, runs: map[workloads.ID]*podRun{}}
}

// Started implements workloads.Fleet.
func (p *pods) Started(r workloads.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	run := &podRun{number: p.started, readyAt: p.now()}
	if !p.warm {
		run.readyAt = run.readyAt.Add(startUp)
	}
	run.pod = fleet.Pod{
		Name: r.Pod.Name, IP: fmt.Sprintf("10.244.%d.%d", run.number/254, run.number%254+1),
		Args: append([]string{}, r.Pod.Spec.Containers[0].Args...),
	}
	p.runs[r.ID()] = run
}

// Ready implements workloads.Fleet.
func (p *pods) Ready(id workloads.ID, ready bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[id]; r != nil {
		r.serving = ready
		p.apply()
	}
}

// Ending implements workloads.Fleet.
func (p *pods) Ending(id workloads.ID, _ time.Time) { p.Ended(id) }

// Ended implements workloads.Fleet.
func (p *pods) Ended(id workloads.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, id)
	p.apply()
}

// State implements workloads.Fleet. What was asked to end ends at once.
func (p *pods) State(id workloads.ID) workloads.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[id]
	if r == nil {
		return workloads.State{Ended: &workloads.End{Reason: "Completed"}}
	}
	return workloads.State{Ready: !p.now().Before(r.readyAt)}
}

// apply gives the fleet the pods that serve.
func (p *pods) apply() {
	var serving []*podRun
	for _, r := range p.runs {
		if r.serving {
			serving = append(serving, r)
		}
	}
	slices.SortFunc(serving, func(a, b *podRun) int { return cmp.Compare(a.number, b.number) })
	all := make([]fleet.Pod, len(serving))
	for i, r := range serving {
		all[i] = r.pod
	}
	if err := p.fleet.SetPods(all); err != nil {
		p.failed = fmt.Errorf("run the pods: %w", err)
		p.say("Error: the simulated engines can't run the pods as they are: %v.", err)
	}
}

// cold makes replicas that start from now on load the model first.
func (p *pods) cold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warm = false
}

// err is what the fleet did not take.
func (p *pods) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}
