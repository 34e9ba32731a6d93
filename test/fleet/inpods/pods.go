package inpods

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// Pods makes a simulated cluster and a simulated fleet one: the fleet runs what the cluster runs, and the cluster sees
// what the fleet makes of it. It implements workloads.Fleet. The fleet has its own names for the pods, because scripts
// break them by name; whoever scrapes gives the series the names of the cluster.
type Pods struct {
	fleet *fleet.Fleet
	of    Describe
	runs  map[workloads.ID]*podRun
	count map[string]int
	total int
	errs  []error
	names map[string]string // of the cluster, by the fleet's
}

// Describe says what the fleet has to know of a pod of the cluster: its arguments, its version. Its name is what the
// fleet's names for pods like it begin with; they are numbered from 0.
type Describe func(*corev1.Pod) fleet.Pod

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

// New returns the pods of a cluster that has none yet. f may be nil; then Begin gives the fleet.
func New(f *fleet.Fleet, of Describe) *Pods {
	return &Pods{
		fleet: f, of: of, runs: map[workloads.ID]*podRun{}, count: map[string]int{}, names: map[string]string{},
	}
}

// Begin gives the fleet, which runs All from its start.
func (p *Pods) Begin(f *fleet.Fleet) { p.fleet = f }

// Started implements workloads.Fleet.
func (p *Pods) Started(r workloads.Run) {
	for id, old := range p.runs {
		if id.Pod == r.Pod.UID { // the container has started again, in the same pod
			delete(p.runs, id)
			old.known = false
			p.runs[r.ID()] = old
			return
		}
	}
	run := &podRun{name: r.Pod.Name, pod: p.of(r.Pod), number: p.total}
	base := run.pod.Name
	run.pod.Name = fmt.Sprintf("%s-%d", base, p.count[base])
	run.pod.IP = fmt.Sprintf("10.244.%d.%d", 1+p.total/250, 1+p.total%250)
	p.count[base]++
	p.total++
	p.names[run.pod.Name] = r.Pod.Name
	p.runs[r.ID()] = run
	p.apply()
}

// Name is what the cluster calls a pod that the fleet calls so; empty for none that there was.
func (p *Pods) Name(inFleet string) string { return p.names[inFleet] }

// Names are the cluster's names of all pods that there were, by the fleet's. It must not be changed.
func (p *Pods) Names() map[string]string { return p.names }

// Ready implements workloads.Fleet. The fleet's gateway sends requests to what is ready by itself.
func (p *Pods) Ready(workloads.ID, bool) {}

// Ending implements workloads.Fleet. What is asked to end ends at once.
func (p *Pods) Ending(id workloads.ID, _ time.Time) { p.Ended(id) }

// Ended implements workloads.Fleet.
func (p *Pods) Ended(id workloads.ID) {
	if r := p.runs[id]; r != nil && !r.crashed(p.fleet) {
		delete(p.runs, id)
		p.apply()
	}
}

// State implements workloads.Fleet.
func (p *Pods) State(id workloads.ID) workloads.State {
	run := p.runs[id]
	if p.fleet == nil {
		return workloads.State{}
	}
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

// Settled says that the cluster has been told how every pod is.
func (p *Pods) Settled() bool {
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

// All are the pods as the fleet should have them, in the order in which they were started.
func (p *Pods) All() []fleet.Pod {
	var all []*podRun
	for _, r := range p.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *podRun) int { return cmp.Compare(a.number, b.number) })
	out := make([]fleet.Pod, len(all))
	for i, r := range all {
		out[i] = r.pod
	}
	return out
}

func (p *Pods) apply() {
	if p.fleet == nil {
		return
	}
	if err := p.fleet.SetPods(p.All()); err != nil {
		p.errs = append(p.errs, fmt.Errorf("run the pods: %w", err))
	}
}

// Err is what the fleet refused.
func (p *Pods) Err() error { return errors.Join(p.errs...) }
