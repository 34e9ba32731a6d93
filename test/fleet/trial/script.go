package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// Script is what happens to a fleet.
type Script struct {
	Name string
	// Summary says what happens, and what is worth doing about it.
	Summary string
	Load    fleet.Load
	Engine  fleet.Engine
	// Args are the engine arguments at the start, Replicas their number. A hand may go up to MaxReplicas.
	Args                  []string
	Replicas, MaxReplicas int
	// For is how long it is measured, in whole minutes.
	For time.Duration
	// Turns happen at their times, which rise.
	Turns []Turn
}

// Turn is one thing that happens.
type Turn struct {
	At time.Duration
	Do func(*fleet.Fleet) error
}

// levers is a turn that sets the levers.
func levers(at time.Duration, l fleet.Levers) Turn {
	return Turn{At: at, Do: func(f *fleet.Fleet) error { return f.SetLevers(l) }}
}

// Load is what most scripts begin with: three replicas of a 70B model on two GPUs each, half busy, with prompts that
// share beginnings.
func chat() fleet.Load {
	return fleet.Load{
		Rate: 1.3, Random: true, Prompt: 1200, Generation: 250, Tail: .5, CachedShare: .4, Prefixes: 10,
		FirstTokenPatience: 30 * time.Second, Patience: 5 * time.Minute, Retries: 1, RetryAfter: 2 * time.Second,
	}
}

func script(name, summary string, turns ...Turn) Script {
	return Script{
		Name: name, Summary: summary, Load: chat(), Engine: fleet.Llama70B(), Replicas: 3, MaxReplicas: 8,
		For: 45 * time.Minute, Turns: turns,
	}
}

// begin is when something happens in a script; before it everything is as usual.
const begin = 5 * time.Minute

// Loads are the five load scenarios that guides for vLLM play.
func Loads() []Script {
	low := script("low-load", "a quiet night: nothing is worth doing")
	low.Load.Rate = .1
	saturation := script("saturation", "slightly more than the replicas can do, all the time: more replicas help")
	saturation.Load.Rate = 3.1
	prompts := script("long-prompts", "few requests with prompts of 5,000 tokens: reading them takes most of the time")
	prompts.Load.Rate, prompts.Load.Prompt, prompts.Load.CachedShare, prompts.Load.Tail = .6, 5000, 0, .2
	prompts.Load.Generation = 150
	outputs := script("long-outputs", "answers of 2,000 tokens fill the KV cache: requests are preempted")
	outputs.Load.Rate, outputs.Load.Prompt, outputs.Load.Generation, outputs.Load.CachedShare = 1.5, 600, 2000, 0
	outputs.Load.Patience = 15 * time.Minute
	burst := script("burst", "four times as many requests in 2 of each 10 minutes: more replicas come too late for one")
	burst.Load.Burst = fleet.Burst{Every: 10 * time.Minute, For: 2 * time.Minute, Factor: 4}
	return []Script{low, saturation, prompts, outputs, burst}
}

// Faults are scripts in which something breaks after a few calm minutes.
func Faults() []Script {
	return []Script{
		script("surge", "three times the traffic, and it stays: more replicas help",
			levers(begin, fleet.Levers{Traffic: 3})),
		script("spike", "four times the traffic for five minutes: it is over before a replica has started",
			levers(begin, fleet.Levers{Traffic: 4}), levers(begin+5*time.Minute, fleet.Levers{})),
		creep(),
		script("prompts-grow", "prompts become three times as long, as with a new version of an agent",
			levers(begin, fleet.Levers{Prompt: 3, Traffic: 1.2})),
		script("outputs-grow", "answers become ten times as long",
			levers(begin, fleet.Levers{Output: 10})),
		script("prefix-lost", "a template gets a time stamp in front: no prompt begins as another, and more is to be read",
			levers(begin, fleet.Levers{PrefixMiss: 1, Traffic: 1.6})),
		script("caches-dropped", "all prefix caches are emptied once: they fill again without help",
			Turn{begin, func(f *fleet.Fleet) error { f.DropPrefixCaches(); return nil }}),
		script("sick-gpu", "one of three GPUs becomes six times slower: replacing that pod helps",
			levers(begin, onePod(fleet.PodLever{Slow: 6}))),
		script("pod-hangs", "one pod no longer steps and is ready all the same: replacing it helps",
			levers(begin, onePod(fleet.PodLever{Fault: fleet.Wedged}))),
		script("pod-stalls", "one pod steps, and no request gets on: replacing it helps",
			levers(begin, onePod(fleet.PodLever{Fault: fleet.Stalled}))),
		script("crash", "one pod crashes once: it comes back without help",
			Turn{begin, crashFirst}),
		crashLoop(),
		script("impatient", "twice as many clients come, and give up after 1.5 s",
			levers(begin, fleet.Levers{GiveUpAfter: fleet.Duration(1500 * time.Millisecond), Traffic: 2.4})),
		retryStorm(),
		script("kv-squeeze", "nine tenths of every KV cache are held for transfers that nobody fetches",
			levers(begin, fleet.Levers{AllPods: fleet.PodLever{KVHeld: .9}, Traffic: 1.6})),
		smallBudget(),
		manySequences(),
	}
}

// Scripts are all of them.
func Scripts() []Script { return append(Loads(), Faults()...) }

func onePod(p fleet.PodLever) fleet.Levers {
	return fleet.Levers{Pods: map[string]fleet.PodLever{firstPod: p}}
}

// firstPod is one of the pods that a fleet begins with.
const firstPod = modelName + "-0"

const modelName = "llama-70b"

// crashFirst crashes the first pod, if nobody has replaced it.
func crashFirst(f *fleet.Fleet) error {
	if err := f.Crash(firstPod); !errors.Is(err, fleet.ErrNoPod) {
		return err
	}
	return nil
}

// crashLoop: a pod that dies soon after it has started.
func crashLoop() Script {
	s := script("crash-loop", "one pod crashes again and again, a minute after it is ready",
		levers(begin-time.Minute, fleet.Levers{Traffic: 1.3}))
	for at := begin; at < 45*time.Minute; at += StartUp + 75*time.Second {
		s.Turns = append(s.Turns, Turn{at, crashFirst})
	}
	return s
}

// creep: a rollout to more users.
func creep() Script {
	s := script("creep", "traffic grows by a twelfth each minute to three times as much")
	for i := range 25 {
		s.Turns = append(s.Turns, levers(begin+time.Duration(i)*time.Minute, fleet.Levers{Traffic: 1 + float64(i)/12}))
	}
	return s
}

// retryStorm: what clients send again is more than what they send.
func retryStorm() Script {
	s := script("retry-storm", "after three minutes with four times the traffic, clients that come back keep it high",
		levers(begin, fleet.Levers{Traffic: 4}), levers(begin+3*time.Minute, fleet.Levers{Traffic: 2.2}))
	s.Load.Retries, s.Load.RetryAfter, s.Load.FirstTokenPatience = 8, 500*time.Millisecond, 4*time.Second
	return s
}

// smallBudget: somebody copied an argument from a guide.
func smallBudget() Script {
	s := script("small-budget", "a token budget of 384 reads prompts in many small steps: a larger one helps",
		levers(begin, fleet.Levers{Prompt: 3}))
	s.Args = []string{"--max-num-batched-tokens=384", "--max-num-seqs=128"}
	return s
}

// manySequences: more requests run than the cache holds.
func manySequences() Script {
	s := script("many-sequences", "a thousand requests may run, and the cache holds a fifth of them: preemption",
		levers(begin, fleet.Levers{Output: 5, Traffic: 1.3}))
	s.Args = []string{"--max-num-seqs=1024"}
	return s
}

// Find returns the script of that name.
func Find(name string) (Script, error) {
	names := make([]string, 0, len(Scripts()))
	for _, s := range Scripts() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Script{}, fmt.Errorf("script %q is not one of %q", name, names)
}
