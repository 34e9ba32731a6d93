package fleet

import (
	"maps"
	"time"
)

// State is a fleet at one moment, for people and tests. It holds more than the metrics show.
type State struct {
	Scenario string `json:"scenario"`
	Summary  string `json:"summary"`
	// Elapsed is the simulated time since the start.
	Elapsed Duration `json:"elapsed"`
	// Demand is what clients ask for, in requests per second.
	Demand    float64 `json:"demand"`
	Throttle  int     `json:"throttle"`
	RateLimit float64 `json:"rate_limit"`
	Worse     bool    `json:"worse"`
	// Hurt says that SetWorse is on and the settings are not those from then.
	Hurt     bool           `json:"hurt"`
	Replicas []ReplicaState `json:"replicas"`
	// Calls are the clients that came; each may try several times. Admitted requests passed the gateway; Completed,
	// Cancelled (the client left) and Lost (the replica went) are how they ended.
	Calls     uint64 `json:"calls"`
	Admitted  uint64 `json:"admitted"`
	Completed uint64 `json:"completed"`
	Cancelled uint64 `json:"cancelled"`
	Lost      uint64 `json:"lost"`
	// Rejected requests were refused by the gateway.
	Rejected uint64 `json:"rejected"`
	// Retried requests were sent by clients that had failed before.
	Retried uint64 `json:"retried"`
	// GPUTime is how long GPUs were held, all together.
	GPUTime Duration `json:"gpu_time"`
	Levers  Levers   `json:"levers"`
	// TargetsError says why Options.TargetsFile is not up to date.
	TargetsError string `json:"targets_error,omitempty"`
}

// ReplicaState is one replica, all its engines together. Running and Waiting are what is really there, also when the
// exported gauges are frozen.
type ReplicaState struct {
	Pod
	// Ready says that it answers; ReadyAt is since when, or from when on.
	Ready   bool     `json:"ready"`
	ReadyAt Duration `json:"ready_at"`
	Running int      `json:"running"`
	Waiting int      `json:"waiting"`
	// KVUsage is that of the fullest engine, 0 to 1.
	KVUsage          float64           `json:"kv_usage"`
	Preemptions      uint64            `json:"preemptions"`
	PromptTokens     uint64            `json:"prompt_tokens"`
	GenerationTokens uint64            `json:"generation_tokens"`
	FirstTokens      uint64            `json:"first_tokens"`
	Finished         map[string]uint64 `json:"finished"`
	// MaxNumBatchedTokens and KVTokens are what the arguments and the scenario give each engine.
	MaxNumBatchedTokens int `json:"max_num_batched_tokens"`
	KVTokens            int `json:"kv_tokens"`
}

// Duration is a time.Duration that reads "1m30s" in JSON.
type Duration time.Duration

// MarshalText writes the duration as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// State returns what is going on now.
func (f *Fleet) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.gateway
	s := State{
		Scenario: f.scenario.Name, Summary: f.scenario.Summary, Elapsed: Duration(f.now), Demand: f.arrivals.demand,
		Throttle: g.throttle, RateLimit: g.perSec, Worse: f.baseline != nil, Hurt: f.hurt(),
		Calls: f.calls, Admitted: g.total, Completed: g.completed, Cancelled: g.destroyed, Lost: g.lost, Rejected: g.rejected,
		Retried: g.retried, GPUTime: Duration(f.gpuTime), Levers: f.levers,
	}
	s.Levers.Pods = maps.Clone(f.levers.Pods)
	if f.targetsErr != nil {
		s.TargetsError = f.targetsErr.Error()
	}
	for _, r := range f.replicas {
		s.Replicas = append(s.Replicas, r.state(f.now))
	}
	return s
}

func (r *replica) state(now time.Duration) ReplicaState {
	s := ReplicaState{Pod: r.pod, Ready: r.ready <= now, ReadyAt: Duration(r.ready), Finished: map[string]uint64{}}
	for _, e := range r.ranks {
		t := e.tally
		s.Running += len(e.running)
		s.Waiting += len(e.waiting) + len(e.receiving)
		s.KVUsage = max(s.KVUsage, e.usage())
		s.Preemptions += t.preemptions
		s.PromptTokens += t.prompt
		s.GenerationTokens += t.generated
		s.FirstTokens += t.ttft.count
		for reason := range maps.Keys(t.finished) {
			s.Finished[reason] += t.finished[reason]
		}
		s.MaxNumBatchedTokens, s.KVTokens = e.spec.MaxNumBatchedTokens, e.blocks*blockSize
	}
	return s
}
