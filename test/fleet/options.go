package fleet

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Dialect is how the metrics are spelled and which of them exist: the name of one of internal/vllm's spellings.
type Dialect string

// The dialects.
const (
	// V1 is what vLLM exports today.
	V1 Dialect = "vllm"
	// V1Middle is 0.9.2 to 0.10.1: time_per_output_token_seconds.
	V1Middle Dialect = "vllm-0.10"
	// V1Early is the V1 engine of 0.8.4 to 0.9.1: also gpu_cache_usage_perc and gpu_prefix_cache_*.
	V1Early Dialect = "vllm-0.9"
	// V0 is the old engine of 0.6.4 to 0.8.2: no engine label, swapped requests, latency buckets that end early.
	V0 Dialect = "vllm-v0"
	// Underscore is V1 as it arrives through OpenTelemetry collectors that replace the colon: vllm_num_requests_running.
	Underscore Dialect = "underscore"
)

// Dialects lists all dialects. Those of Ray, KServe and NVIDIA NIM differ in labels that come from elsewhere.
func Dialects() []Dialect { return []Dialect{V1, V1Middle, V1Early, V0, Underscore} }

// spelling is the dialect in vLLM's own terms.
func (d Dialect) spelling() vllm.Spelling {
	all := vllm.Spellings()
	return all[max(0, slices.IndexFunc(all, func(s vllm.Spelling) bool { return s.Name == string(d) }))]
}

func (d Dialect) validate(ranks int) error {
	switch {
	case !slices.Contains(Dialects(), d):
		return fmt.Errorf("dialect %q is not one of %q", d, Dialects())
	case d == V0 && ranks > 1:
		return fmt.Errorf("ranks are %d, but the V0 engine has one", ranks)
	}
	return nil
}

// Options describe a fleet. The zero value is usable.
type Options struct {
	// Model is the model_name label; "llama-70b" when empty.
	Model string
	// Namespace is the Kubernetes namespace that scrape targets carry; "llm" when empty.
	Namespace string
	// Job is the job label that scrape targets carry; "vllm" when empty.
	Job string
	// Dialect is V1 when empty.
	Dialect Dialect
	// Scenario is the name of the scenario at the start; "healthy" when empty.
	Scenario string
	// Replicas at the start; 2 when 0.
	Replicas int
	// Pods, when there are any, are the replicas at the start instead, as with SetPods; all of them are ready.
	Pods []Pod
	// Seed decides everything that is left to chance: two fleets with the same options, turned in the same way at the
	// same simulated times, are the same.
	Seed uint64
	// StartUp is how long a new or crashed replica takes until it is ready, give or take a tenth: loading the weights,
	// capturing graphs. 0 makes it ready at once. Recompile comes on top for the first replica with a token budget that
	// no replica had before, which is part of the key of vLLM's compile cache.
	StartUp, Recompile time.Duration
	// NoSurge says that there is no spare GPU: a rollout ends a replica before it starts the next.
	NoSurge bool
	// GPUs is how many of them a replica has, ready or not; 1 when 0.
	GPUs int
	// Observe, when set, is told of each call of a client that has ended; of those that end at about the same time, which
	// is told first is not said. It must not call the fleet.
	Observe func(Outcome)
	// FirstToken, when set, is told of each first token at once, long before the answer ends: at is its simulated time,
	// and waited how long its client has waited for it since the first try. Of what is tried again, or read by an engine
	// of its own, the same client may be told twice. It must not call the fleet.
	FirstToken func(at, waited time.Duration)
	// Ranks is the number of data-parallel engines behind each replica's port, each with its own engine label; 1 when 0.
	// V0 has only one.
	Ranks int
	// Rotate lets the router take turns where several engines have as few requests; else the first of them gets the
	// next one, so that in a quiet hour the first pod does most of the work.
	Rotate bool
	// Args are the engine arguments of every replica, as for `vllm serve`.
	Args []string
	// CountsAborts counts clients that disconnect in request_success_total{finished_reason="abort"}, as vLLM's
	// experimental Rust frontend does. The Python frontend does not (vllm-project/vllm#31503).
	CountsAborts bool
	// Speed is how many simulated seconds pass in a second of Run; 1 when 0.
	Speed float64
	// TargetsFile, when set, is kept up to date with the scrape targets in Prometheus's file_sd format.
	TargetsFile string
	// Epoch is the wall-clock time of simulated time 0, seen in the _created series; 2026-01-01 when zero.
	Epoch time.Time
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func (o Options) withDefaults() Options {
	if o.Model == "" {
		o.Model = "llama-70b"
	}
	if o.Namespace == "" {
		o.Namespace = "llm"
	}
	if o.Job == "" {
		o.Job = "vllm"
	}
	if o.Dialect == "" {
		o.Dialect = V1
	}
	if o.Scenario == "" {
		o.Scenario = "healthy"
	}
	if o.Replicas == 0 {
		o.Replicas = 2
	}
	if o.Ranks == 0 {
		o.Ranks = 1
	}
	if o.GPUs == 0 {
		o.GPUs = 1
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	if o.Epoch.IsZero() {
		o.Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return o
}

func (o Options) validate() error {
	if err := o.Dialect.validate(o.Ranks); err != nil {
		return err
	}
	switch {
	case o.Replicas < 0:
		return fmt.Errorf("replicas are %d, must not be negative", o.Replicas)
	case o.Ranks < 1:
		return fmt.Errorf("ranks are %d, must be at least 1", o.Ranks)
	case o.GPUs < 0:
		return fmt.Errorf("GPUs are %d, must be at least 1", o.GPUs)
	case o.StartUp < 0, o.Recompile < 0:
		return fmt.Errorf("start-up is %s and recompiling %s, must not be negative", o.StartUp, o.Recompile)
	case o.Speed < 0:
		return fmt.Errorf("speed is %g, must be above 0", o.Speed)
	case !dnsLabel.MatchString(o.Namespace):
		return fmt.Errorf("namespace %q is not a Kubernetes name", o.Namespace)
	}
	return nil
}
