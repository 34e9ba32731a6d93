package efficacy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// pods makes the simulated cluster and the simulated fleet one: the fleet runs what the cluster runs, and the cluster
// sees what the fleet makes of it. It implements workloads.Fleet. The fleet's own names stay, because scripts break
// pods by them; whoever scrapes gives the series the names of the cluster.
type pods struct {
	fleet *fleet.Fleet
	runs  map[workloads.ID]*podRun
	// free are the replicas that the fleet began with, which the first pods of the cluster are.
	free  []fleet.Pod
	next  int
	errs  []error
	names map[string]string // of the cluster, by the fleet's
}

// podRun is one run of a pod's container.
type podRun struct {
	name   string // in the cluster
	pod    fleet.Pod
	number int
	// ready is when the fleet said that it would be, to tell a crash by.
	ready fleet.Duration
	known bool
	// told is whether the cluster was told that it is ready.
	told bool
}

func newPods(f *fleet.Fleet) *pods {
	p := &pods{fleet: f, runs: map[workloads.ID]*podRun{}, names: map[string]string{}}
	for _, r := range f.State().Replicas {
		p.free = append(p.free, fleet.Pod{Name: r.Name, IP: r.IP})
	}
	p.next = len(p.free)
	return p
}

// Started implements workloads.Fleet.
func (p *pods) Started(r workloads.Run) {
	for id, old := range p.runs {
		if id.Pod == r.Pod.UID { // the container has started again, in the same pod
			delete(p.runs, id)
			old.known = false
			p.runs[r.ID()] = old
			return
		}
	}
	run := &podRun{name: r.Pod.Name}
	if len(p.free) > 0 {
		run.pod, p.free = p.free[0], p.free[1:]
	} else {
		run.pod = fleet.Pod{
			Name: fmt.Sprintf("%s-%d", modelName, p.next), IP: fmt.Sprintf("10.244.%d.%d", 1+p.next/250, 1+p.next%250),
		}
		p.next++
	}
	run.pod.Args = append([]string{}, r.Pod.Spec.Containers[0].Args...)
	run.number = len(p.names)
	p.names[run.pod.Name] = r.Pod.Name
	p.runs[r.ID()] = run
	p.apply()
}

// Ready implements workloads.Fleet. The fleet's gateway sends requests to what is ready by itself.
func (p *pods) Ready(workloads.ID, bool) {}

// Ending implements workloads.Fleet. What is asked to end ends at once.
func (p *pods) Ending(id workloads.ID, _ time.Time) { p.Ended(id) }

// Ended implements workloads.Fleet.
func (p *pods) Ended(id workloads.ID) {
	if r := p.runs[id]; r != nil && !r.crashed(p.fleet) {
		delete(p.runs, id)
		p.apply()
	}
}

// State implements workloads.Fleet.
func (p *pods) State(id workloads.ID) workloads.State {
	run := p.runs[id]
	if run == nil {
		return workloads.State{Ended: &workloads.End{Reason: "Completed"}}
	}
	r, ok := run.in(p.fleet)
	switch {
	case !ok:
		return workloads.State{}
	case !run.known:
		run.known, run.ready = true, r.ReadyAt
	case run.ready != r.ReadyAt:
		return workloads.State{Ended: &workloads.End{Code: 1, Reason: "Error"}}
	}
	run.told = r.Ready
	return workloads.State{Ready: r.Ready}
}

// settled says that the cluster has been told how every pod is.
func (p *pods) settled() bool {
	for _, run := range p.runs {
		if r, ok := run.in(p.fleet); !ok || !run.known || run.ready != r.ReadyAt || run.told != r.Ready {
			return false
		}
	}
	return true
}

func (r *podRun) in(f *fleet.Fleet) (fleet.ReplicaState, bool) {
	all := f.State().Replicas
	i := slices.IndexFunc(all, func(s fleet.ReplicaState) bool { return s.Name == r.pod.Name })
	if i < 0 {
		return fleet.ReplicaState{}, false
	}
	return all[i], true
}

// crashed says that the fleet has started the container again, which the cluster has yet to do.
func (r *podRun) crashed(f *fleet.Fleet) bool {
	s, ok := r.in(f)
	return ok && r.known && s.ReadyAt != r.ready
}

// apply gives the fleet its pods.
func (p *pods) apply() {
	var all []*podRun
	for _, r := range p.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *podRun) int { return cmp.Compare(a.number, b.number) })
	out := make([]fleet.Pod, len(all))
	for i, r := range all {
		out[i] = r.pod
	}
	if err := p.fleet.SetPods(out); err != nil {
		p.errs = append(p.errs, fmt.Errorf("run the pods: %w", err))
	}
}

func (p *pods) err() error { return errors.Join(p.errs...) }
