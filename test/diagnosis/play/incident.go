package play

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// Incident is one incident that is played.
type Incident struct {
	// Name is unique among all played incidents.
	Name string `yaml:"name"`
	// Story says what happens, for people.
	Story string `yaml:"story"`
	// Truth is the label: one of diagnosis.Labels.
	Truth string `yaml:"truth"`
	// Accept are other labels that are as good, each with the reason.
	Accept map[string]string `yaml:"accept,omitempty"`
	// Harmful are the deeds that would make it worse, each with the reason.
	Harmful []Harmful `yaml:"harmful"`
	// Version is that of vLLM, "0.24.0": it decides what is exported. Dialect is how Prometheus spells it: one of
	// Dialects; empty: native.
	Version string `yaml:"version"`
	Dialect string `yaml:"dialect,omitempty"`
	// WithoutKubernetes says that the bot has no Kubernetes configured.
	WithoutKubernetes bool `yaml:"without_kubernetes,omitempty"`
	// Gateway says that the Envoy in front is scraped, too.
	Gateway bool `yaml:"gateway,omitempty"`
	// Seed decides what is left to chance.
	Seed int64 `yaml:"seed,omitempty"`
	// SLO is what the pool promises.
	SLO SLO `yaml:"slo"`
	// Fleet is what serves, Load is what clients ask of it.
	Fleet Fleet `yaml:"fleet"`
	Load  Load  `yaml:"load"`
	// Past is the calm time before the timeline, with no lever; empty: 80m.
	Past strictyaml.Duration `yaml:"past,omitempty"`
	// Timeline is what happens, at times from the end of the past on, in rising order.
	Timeline []Event `yaml:"timeline,omitempty"`
	// Ask is the time at which the bot is asked, from the end of the past on.
	Ask strictyaml.Duration `yaml:"ask"`
	// NoRules says that the shipped alert rules are not loaded. Without any alert the bot is asked about the pool by its
	// name.
	NoRules bool `yaml:"no_rules,omitempty"`
	// Alerts are those of somebody else's rules.
	Alerts []Alert `yaml:"alerts,omitempty"`

	place strictyaml.Value
}

// Harmful is a deed that would make it worse.
type Harmful struct {
	// Do is one of diagnosis.Deeds.
	Do  string `yaml:"do"`
	Why string `yaml:"why"`
	// Planned says that it would be wrong as a plan for later, too, and not only now.
	Planned bool `yaml:"planned,omitempty"`
}

// SLO is the pool's profile, with targets of its own where it has any.
type SLO struct {
	Profile string              `yaml:"profile"`
	TTFT    strictyaml.Duration `yaml:"ttft,omitempty"`
	TPOT    strictyaml.Duration `yaml:"tpot,omitempty"`
	E2E     strictyaml.Duration `yaml:"e2e,omitempty"`
}

// Fleet is what serves at the start of the past, where all pods are ready.
type Fleet struct {
	// Engine is the model with its hardware: llama-70b (two H100) or llama-8b (one H100).
	Engine string `yaml:"engine"`
	// KVTokens is the size of each KV cache; empty: the engine's usual one.
	KVTokens int `yaml:"kv_tokens,omitempty"`
	// Replicas are pods of one Deployment: pod-0, pod-1, ...
	Replicas int `yaml:"replicas,omitempty"`
	// Prefill and Decode are pods of two Deployments instead, which share the work: prefill-0, ..., decode-0, ... The
	// pool's own workload is then that of the decode pods.
	Prefill int `yaml:"prefill,omitempty"`
	Decode  int `yaml:"decode,omitempty"`
	// Ranks are the data-parallel engines of each pod; empty: 1.
	Ranks int `yaml:"ranks,omitempty"`
	// Args are further arguments of `vllm serve`.
	Args []string `yaml:"args,omitempty"`
	// StartUp is how long a new pod takes until it is ready; empty: 150s.
	StartUp strictyaml.Duration `yaml:"start_up,omitempty"`
	// NoSpareGPU says that a rollout ends a pod before it starts the next.
	NoSpareGPU bool `yaml:"no_spare_gpu,omitempty"`
	// Parallel is how many requests the gateway lets in at once; empty: 512.
	Parallel int `yaml:"parallel,omitempty"`
	// Canary is a second Deployment behind the same name: canary-0, ...
	Canary *Canary `yaml:"canary,omitempty"`
}

// Canary is a Deployment beside the usual one.
type Canary struct {
	Replicas int `yaml:"replicas"`
	// Version is that of its vLLM, Args are all of its further arguments.
	Version string   `yaml:"version"`
	Args    []string `yaml:"args,omitempty"`
}

// Load is what clients ask for. Its fields are those of the simulator's.
type Load struct {
	// Rate is requests per second for each pod that there is at the start.
	Rate       float64 `yaml:"rate"`
	Prompt     int     `yaml:"prompt"`
	Generation int     `yaml:"generation"`
	Tail       float64 `yaml:"tail,omitempty"`
	// CachedShare of each prompt is a beginning that other prompts share, one of so many Prefixes.
	CachedShare        float64             `yaml:"cached_share,omitempty"`
	Prefixes           int                 `yaml:"prefixes,omitempty"`
	FirstTokenPatience strictyaml.Duration `yaml:"first_token_patience,omitempty"`
	Patience           strictyaml.Duration `yaml:"patience,omitempty"`
	Retries            int                 `yaml:"retries,omitempty"`
	RetryAfter         strictyaml.Duration `yaml:"retry_after,omitempty"`
	Burst              *Burst              `yaml:"burst,omitempty"`
}

// Burst multiplies the arrivals by Factor during the last For of each Every.
type Burst struct {
	Every  strictyaml.Duration `yaml:"every"`
	For    strictyaml.Duration `yaml:"for"`
	Factor float64             `yaml:"factor"`
}

// Event is what happens at one time: one or several of its fields.
type Event struct {
	At strictyaml.Duration `yaml:"at"`
	// Levers are all levers from now on: those that are not named are let go.
	Levers *fleet.Levers `yaml:"levers,omitempty"`
	// Of is the Deployment that Scale and Rollout change, by the name of its pods: pod, canary, prefill or decode; empty:
	// the pool's own.
	Of string `yaml:"of,omitempty"`
	// Scale is the number of replicas of the Deployment.
	Scale *int `yaml:"scale,omitempty"`
	// Rollout changes the Deployment's pods one by one.
	Rollout *Rollout `yaml:"rollout,omitempty"`
	// Crash ends the engines of pods, whose containers start again; Delete deletes pods, which are replaced.
	Crash  []string `yaml:"crash,omitempty"`
	Delete []string `yaml:"delete,omitempty"`
	// DropPrefixCaches empties all prefix caches once.
	DropPrefixCaches bool `yaml:"drop_prefix_caches,omitempty"`
	// Log are the last lines of the log of what crashes.
	Log []string `yaml:"log,omitempty"`
}

// Rollout is a new template of the Deployment. What is empty stays.
type Rollout struct {
	Version string   `yaml:"version,omitempty"`
	Args    []string `yaml:"args,omitempty"`
}

// Alert is an alert of somebody else's rule that fires when the bot is asked.
type Alert struct {
	Name string `yaml:"name"`
	// Ago is how long before the question it began to fire; empty: 3m.
	Ago strictyaml.Duration `yaml:"ago,omitempty"`
	// Pod is the pod that it names; empty: none. Labels replaces all labels beside alertname and severity.
	Pod    string            `yaml:"pod,omitempty"`
	Labels map[string]string `yaml:"labels,omitempty"`
	// Expr is the rule's expression.
	Expr string `yaml:"expr,omitempty"`
}

// What a file may leave out.
const (
	usualPast    = 80 * time.Minute
	usualStartUp = 150 * time.Second
	usualLimit   = 512
	usualAgo     = 3 * time.Minute
)

// leastPast is what the evidence compares with: the hour before the last five minutes, in rates over five more.
const leastPast = 70 * time.Minute
