package play

import (
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// scenario is what the simulator needs of the engines and the clients.
func (inc *Incident) scenario() (fleet.Scenario, error) {
	l := inc.Load
	s := fleet.Scenario{Name: inc.Name, Summary: inc.Truth, Load: fleet.Load{
		Rate: l.Rate, Random: true, Prompt: l.Prompt, Generation: l.Generation, Tail: l.Tail, CachedShare: l.CachedShare,
		Prefixes: l.Prefixes, FirstTokenPatience: time.Duration(l.FirstTokenPatience), Patience: time.Duration(l.Patience),
		Retries: l.Retries, RetryAfter: time.Duration(l.RetryAfter),
	}}
	if b := l.Burst; b != nil {
		s.Load.Burst = fleet.Burst{Every: time.Duration(b.Every), For: time.Duration(b.For), Factor: b.Factor}
	}
	switch inc.Fleet.Engine {
	case "llama-70b":
		s.Engine = fleet.Llama70B().WithFrontend()
	case "llama-8b":
		s.Engine = fleet.Llama8B().WithFrontend()
	default:
		return s, fmt.Errorf("engine %q is not llama-70b or llama-8b", inc.Fleet.Engine)
	}
	if inc.Fleet.KVTokens > 0 {
		s.Engine.KVTokens = inc.Fleet.KVTokens
	}
	return s, s.Validate()
}

// options are those of the fleet, with the pods at the start.
func (inc *Incident) options(pods []fleet.Pod) (fleet.Options, error) {
	v, err := readVersion(inc.Version)
	if err != nil {
		return fleet.Options{}, nil //nolint:nilerr // reported where the version is
	}
	dialect, err := v.dialect()
	if err != nil {
		return fleet.Options{}, nil //nolint:nilerr // likewise
	}
	if dialect == fleet.V0 && inc.Fleet.Ranks > 1 {
		return fleet.Options{}, fmt.Errorf("the V0 engine has one rank, and not %d", inc.Fleet.Ranks)
	}
	gpus := 1
	if inc.Fleet.Engine == "llama-70b" {
		gpus = 2
	}
	return fleet.Options{
		Model: modelName, Namespace: namespace, Dialect: dialect, Ranks: inc.Fleet.Ranks, GPUs: gpus,
		StartUp: time.Duration(inc.Fleet.StartUp), NoSurge: inc.Fleet.NoSpareGPU, Rotate: true, Seed: uint64(inc.Seed),
		Pods: pods,
	}, nil
}
