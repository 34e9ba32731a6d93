package fleet

import (
	"errors"
	"fmt"
	"time"
)

// Scenario is one thing that can be going on.
type Scenario struct {
	Name string `json:"name"`
	// Summary says what the metrics then show.
	Summary string `json:"summary"`
	Load    Load   `json:"load"`
	Engine  Engine `json:"engine"`
	// Fault breaks all engines FaultAfter the begin of the scenario.
	Fault      Fault         `json:"fault"`
	FaultAfter time.Duration `json:"fault_after"`
}

// Scenarios returns all scenarios that have a name.
func Scenarios() []Scenario {
	return []Scenario{
		healthy(), idle(), highTTFT(), queueBacklog(), swapping(), cacheFull(), abortSpike(), longPrefill(),
		healthyFullBatch(),
		broken("stalled", "requests pile up, nothing finishes, no token comes, histograms are silent", Stalled),
		broken("wedged", "the engines do not step: requests are running for ever and no series changes", Wedged),
	}
}

// ScenarioNamed returns the scenario of that name.
func ScenarioNamed(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, fmt.Errorf("scenario %q is not one of %q", name, names)
}

// gpu is the engine of most scenarios: about seven requests a second of 1000 prompt and 250 answer tokens, with 64 of
// them at a time.
func gpu() Engine {
	return Engine{
		KVTokens: 100_000, MaxNumSeqs: 64, MaxNumBatchedTokens: 8192,
		Cost: Cost{
			Step: 20 * time.Millisecond, PerSequence: 100 * time.Microsecond, PerPromptToken: 50 * time.Microsecond,
		},
	}
}

func healthy() Scenario {
	return Scenario{
		Name: "healthy", Summary: "no queue, first tokens in well under half a second, a cache that is less than half full",
		Load: Load{
			Rate: 2.5, Prompt: 1000, Generation: 250, Spread: .5, CachedShare: .2,
			FirstTokenPatience: 30 * time.Second, Patience: 2 * time.Minute,
		},
		Engine: gpu(),
	}
}

func idle() Scenario {
	s := healthy()
	s.Name, s.Summary = "idle", "one request in some minutes"
	s.Load.Rate = 1. / 240
	return s
}

func highTTFT() Scenario {
	s := healthy()
	s.Name, s.Summary = "high-ttft",
		"more requests than slots: a long queue and late first tokens, cache not full, no preemption"
	s.Load.Rate = 9
	return s
}

func queueBacklog() Scenario {
	s := healthy()
	s.Name, s.Summary = "queue-backlog", "patient clients and slightly more requests than slots: the queue grows and grows"
	s.Load.Rate = 7.8
	s.Load.FirstTokenPatience, s.Load.Patience = 5*time.Minute, 10*time.Minute
	return s
}

func swapping() Scenario {
	s := healthy()
	s.Name, s.Summary = "swapping", "long answers fill the cache: preemption all the time, slow tokens, a queue"
	s.Load.Prompt, s.Load.Generation, s.Load.CachedShare, s.Load.Rate = 500, 1500, 0, 2
	s.Load.FirstTokenPatience, s.Load.Patience = time.Minute, 10*time.Minute
	s.Engine.MaxNumSeqs = 256
	return s
}

func cacheFull() Scenario {
	s := healthy()
	s.Name, s.Summary = "cache-full", "the cache decides who may run: more than 95% full, a growing queue, no preemption"
	s.Load.Prompt, s.Load.Generation, s.Load.CachedShare, s.Load.Rate = 750, 150, 0, 17
	s.Load.Spread = .2
	s.Load.FirstTokenPatience, s.Load.Patience = 20*time.Second, 10*time.Minute
	s.Engine.KVTokens, s.Engine.MaxNumSeqs, s.Engine.Watermark = 200_000, 512, .008
	return s
}

func abortSpike() Scenario {
	s := healthy()
	s.Name, s.Summary = "abort-spike",
		"a queue, and most clients give up before their answer is complete; vLLM counts none of them"
	s.Load.Rate = 10
	s.Load.FirstTokenPatience, s.Load.Patience = 0, 12*time.Second
	return s
}

func longPrefill() Scenario {
	s := healthy()
	s.Name, s.Summary = "long-prefill", "huge prompts: late first tokens without a queue"
	s.Load.Prompt, s.Load.Generation, s.Load.Spread, s.Load.CachedShare, s.Load.Rate = 64_000, 100, .1, 0, .12
	s.Engine.KVTokens = 200_000
	return s
}

func healthyFullBatch() Scenario {
	s := healthy()
	s.Name, s.Summary = "healthy-full-batch",
		"a cache that is nearly full and well used: no queue, no preemption, good latencies"
	s.Load.Prompt, s.Load.Generation, s.Load.Spread, s.Load.CachedShare, s.Load.Rate = 400, 600, 0, 0, 5.98
	s.Load.FirstTokenPatience, s.Load.Patience = time.Minute, 10*time.Minute
	s.Engine.MaxNumSeqs = 256
	return s
}

func broken(name, summary string, fault Fault) Scenario {
	s := healthy()
	s.Name, s.Summary, s.Fault, s.FaultAfter = name, summary, fault, 20*time.Second
	s.Load.FirstTokenPatience, s.Load.Patience = time.Hour, time.Hour
	return s
}

// Validate finds what could not be simulated.
func (s Scenario) Validate() error {
	l, e := s.Load, s.Engine
	if err := l.validate(); err != nil {
		return err
	}
	longest := int(float64(l.Prompt+l.Generation) * (1 + l.Spread))
	switch {
	case s.FaultAfter < 0:
		return errors.New("fault_after must not be negative")
	case e.Step <= 0 || e.PerSequence < 0 || e.PerPromptToken < 0 || e.PerMillionPairs < 0 || e.PerThousandContext < 0:
		return errors.New("a step must last more than nothing")
	case e.Frontend < 0 || e.PerRequestCPU < 0 || e.PerPromptTokenCPU < 0 || e.PerTokenCPU < 0:
		return errors.New("what the frontend takes must not be negative")
	case e.TransferLatency < 0 || e.PerTransferredToken < 0:
		return errors.New("what a transfer takes must not be negative")
	case e.MaxNumSeqs < 1, e.Watermark < 0 || e.Watermark >= 1:
		return errors.New("max_num_seqs must be at least 1 and watermark in [0, 1)")
	case e.MaxNumBatchedTokens < e.MaxNumSeqs:
		return errTooFewTokens(e)
	case longest > s.longest():
		return fmt.Errorf("a request of %d tokens is more than half of the cache of %d", longest, e.KVTokens)
	}
	return nil
}

// longest is the most tokens of a request, --max-model-len.
func (s Scenario) longest() int { return min(maxModelLen, s.Engine.KVTokens/2) }
