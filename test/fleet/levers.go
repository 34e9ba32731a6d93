package fleet

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
)

// Levers are what can go wrong while a fleet runs, on top of its scenario. The zero value changes nothing.
type Levers struct {
	// Traffic, Prompt and Output multiply the arrivals and the tokens of new requests; 0 is 1.
	Traffic float64 `json:"traffic,omitempty" yaml:"traffic,omitempty"`
	Prompt  float64 `json:"prompt,omitempty" yaml:"prompt,omitempty"`
	Output  float64 `json:"output,omitempty" yaml:"output,omitempty"`
	// PrefixMiss is the part of the new requests, 0 to 1, whose prompts begin as no other does: a template with a time
	// stamp in front, or a router that no longer knows where what is cached.
	PrefixMiss float64 `json:"prefix_miss,omitempty" yaml:"prefix_miss,omitempty"`
	// GiveUpAfter is how long new clients wait for the first token; 0 leaves it to the load.
	GiveUpAfter Duration `json:"give_up_after,omitzero" yaml:"give_up_after,omitempty"`
	// AnswerWithin is how long new clients wait for the whole answer; 0 leaves it to the load.
	AnswerWithin Duration `json:"answer_within,omitzero" yaml:"answer_within,omitempty"`
	// Pods are what is wrong with single pods, by their names, also with those that come later, or with single
	// data-parallel ranks of a pod: "llama-70b-0/1". A rank that has its own entry has nothing of its pod's.
	Pods map[string]PodLever `json:"pods,omitempty" yaml:"pods,omitempty"`
	// AllPods is what is wrong with each pod that Pods does not name.
	AllPods PodLever `json:"all_pods,omitzero" yaml:"all_pods,omitempty"`
}

// PodLever is what is wrong with the engines of a pod. The zero value is nothing.
type PodLever struct {
	// Slow makes steps take so many times as long, as on a GPU that is throttled for its heat; 0 is 1.
	Slow float64 `json:"slow,omitempty" yaml:"slow,omitempty"`
	// KVHeld is the part of the KV cache, 0 to 1, that is held for transfers that nobody fetches, and so is in use.
	KVHeld float64 `json:"kv_held,omitempty" yaml:"kv_held,omitempty"`
	// Fault stops the engines.
	Fault Fault `json:"fault,omitempty" yaml:"fault,omitempty"`
	// Share is how many requests the router gives each of the engines for one that it gives another, as when sessions
	// stick to it; 0 is 1.
	Share float64 `json:"share,omitempty" yaml:"share,omitempty"`
	// Frontend makes the API server take so many times as much CPU time for everything, as under a CPU limit; 0 is 1. It
	// changes nothing where the engine's cost has no CPU time; see Cost.PerRequestCPU.
	Frontend float64 `json:"frontend,omitempty" yaml:"frontend,omitempty"`
	// Transfer makes it take so many times as long to fetch KV blocks, for decode pods of a disaggregated fleet; 0 is 1.
	Transfer float64 `json:"transfer,omitempty" yaml:"transfer,omitempty"`
}

// maxFactor is how far a lever goes: beyond it nothing new is shown, and the model gets slow.
const maxFactor = 100

// maxHeld leaves some of a KV cache: with none, nothing would ever run.
const maxHeld = .98

// Validate finds what no fleet could do.
func (l Levers) Validate() error {
	for name, factor := range map[string]float64{"traffic": l.Traffic, "prompt": l.Prompt, "output": l.Output} {
		if !(factor >= 0 && factor <= maxFactor) {
			return fmt.Errorf("%s is %g, must be between 0 and %d", name, factor, maxFactor)
		}
	}
	if !(l.PrefixMiss >= 0 && l.PrefixMiss <= 1) {
		return fmt.Errorf("prefix_miss is %g, must be between 0 and 1", l.PrefixMiss)
	}
	if l.GiveUpAfter < 0 {
		return errors.New("give_up_after must not be negative")
	}
	if l.AnswerWithin < 0 {
		return errors.New("answer_within must not be negative")
	}
	for name, p := range l.Pods {
		if err := p.validate(); err != nil {
			return fmt.Errorf("pod %s: %w", name, err)
		}
	}
	return l.AllPods.validate()
}

func (p PodLever) validate() error {
	switch {
	case !(p.Slow >= 0 && p.Slow <= maxFactor):
		return fmt.Errorf("slow is %g, must be between 0 and %d", p.Slow, maxFactor)
	case !(p.KVHeld >= 0 && p.KVHeld <= maxHeld):
		return fmt.Errorf("kv_held is %g, must be between 0 and %g", p.KVHeld, maxHeld)
	case !(p.Frontend >= 0 && p.Frontend <= maxFactor):
		return fmt.Errorf("frontend is %g, must be between 0 and %d", p.Frontend, maxFactor)
	case !(p.Transfer >= 0 && p.Transfer <= 10*maxFactor): // a link that falls back from RDMA to TCP
		return fmt.Errorf("transfer is %g, must be between 0 and %d", p.Transfer, 10*maxFactor)
	case !(p.Share >= 0 && p.Share <= maxFactor):
		return fmt.Errorf("share is %g, must be between 0 and %d", p.Share, maxFactor)
	case p.Fault != NoFault && p.Fault != Stalled && p.Fault != Wedged:
		return fmt.Errorf("fault %q is not one of %q", p.Fault, []Fault{NoFault, Stalled, Wedged})
	}
	return nil
}

// factor is a lever's value, of which 0 means that it is not used.
func factor(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

// lengths are the mean tokens of new requests.
func (l Levers) lengths(load Load) (prompt, generation int) {
	return max(1, int(float64(load.Prompt)*factor(l.Prompt))), max(1, int(float64(load.Generation)*factor(l.Output)))
}

// engine is what is wrong with one rank of a pod.
func (l Levers) engine(pod string, rank int) PodLever {
	for _, name := range []string{pod + "/" + strconv.Itoa(rank), pod} {
		if p, ok := l.Pods[name]; ok {
			return p
		}
	}
	return l.AllPods
}

// SetLevers sets all levers. It may be called at any time; nothing changes on an error.
func (f *Fleet) SetLevers(l Levers) error {
	if err := l.Validate(); err != nil {
		return fmt.Errorf("set the levers: %w", err)
	}
	l.Pods = maps.Clone(l.Pods)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.levers = l
	f.settle()
	return nil
}

// Levers are those that are set now.
func (f *Fleet) Levers() Levers {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.levers
	l.Pods = maps.Clone(l.Pods)
	return l
}

// ErrNoPod is the answer for a pod that is not there.
var ErrNoPod = errors.New("there is no such pod")

// Crash ends the engines of a pod, as an error on the GPU does. The container starts again by itself: its requests are
// lost, its counters begin at 0, its cache is cold, and it is ready after Options.StartUp.
func (f *Fleet) Crash(pod string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, r := range f.replicas {
		if r.pod.Name == pod {
			f.drop(r)
			f.replicas[i] = f.newReplica(r.pod, r.args)
			f.settle()
			return nil
		}
	}
	return fmt.Errorf("crash pod %s: %w", pod, ErrNoPod)
}

// Delete ends a pod, which loses its requests. A fleet that manages its own pods starts another one in its place.
func (f *Fleet) Delete(pod string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.end(func(r *replica) bool { return r.pod.Name == pod }) {
		return fmt.Errorf("delete pod %s: %w", pod, ErrNoPod)
	}
	f.reconcile()
	f.settle()
	return nil
}

// DropPrefixCaches empties the prefix caches of all engines. What running requests hold stays theirs.
func (f *Fleet) DropPrefixCaches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.replicas {
		for _, e := range r.ranks {
			e.dropPrefixes()
		}
	}
}
