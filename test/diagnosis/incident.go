package diagnosis

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Incident is one labelled incident of the corpus.
type Incident struct {
	// Name is unique in the corpus; it also seeds the generator.
	Name string `yaml:"name"`
	// Truth is the diagnosis that is right: one of Truths.
	Truth string `yaml:"truth"`
	// Accept are other first answers that an experienced engineer would give, each with the reason.
	Accept map[string]string `yaml:"accept,omitempty"`
	// Story says what happened.
	Story string `yaml:"story"`
	// Source is where the knowledge comes from, such as "facts 5 row 2" or "S4 pathology 3".
	Source string `yaml:"source"`
	// Dialect is how Prometheus spells the metrics: one of Dialects.
	Dialect string `yaml:"dialect"`
	// Generation is the vLLM version, such as "0.10.2".
	Generation string `yaml:"generation"`
	// Engine is "V0" or "V1"; empty: V0 before 0.8, V1 from there.
	Engine string `yaml:"engine,omitempty"`
	// Pods are the names of the pods behind the pool's name; ranks the data-parallel engines of each.
	Pods  []string `yaml:"pods"`
	Ranks int      `yaml:"ranks,omitempty"`
	// SLO is the name of the pool's profile.
	SLO string `yaml:"slo"`
	// Matchers are those of the pool; empty: namespace and model_name.
	Matchers map[string]string `yaml:"matchers,omitempty"`
	// Args are engine arguments that stand in the pod's template: max_num_seqs, max_num_batched_tokens, ...
	Args map[string]float64 `yaml:"args,omitempty"`
	// GPU says that a DCGM exporter is scraped, Gateway that an Envoy in front is.
	GPU     bool `yaml:"gpu,omitempty"`
	Gateway bool `yaml:"gateway,omitempty"`
	// Recorded says that Prometheus evaluates the gateway's recording rule of deploy/prometheus; HTTPRoute is the pool's
	// http_route, empty: not set.
	Recorded  bool   `yaml:"recorded,omitempty"`
	HTTPRoute string `yaml:"http_route,omitempty"`
	// GPULabels is "exported" when the scrape of the DCGM exporter does not honour its labels, so that they are
	// exported_pod and so on.
	GPULabels string `yaml:"gpu_labels,omitempty"`
	// Draft is the number of draft tokens of speculative decoding; 0: off.
	Draft int `yaml:"draft,omitempty"`
	// CountsAborts is for the Rust frontend: clients that go away are counted as finished_reason="abort".
	CountsAborts bool `yaml:"counts_aborts,omitempty"`
	// Role is "prefill" or "decode" for halves of a split model.
	Role string `yaml:"role,omitempty"`
	// NIXL says that the KV connector is NIXL, so that its metrics exist.
	NIXL bool `yaml:"nixl,omitempty"`
	// LoRA is the number of adapters that fit; 0: none are served.
	LoRA int `yaml:"lora,omitempty"`
	// PrefixCaching is false when it is switched off.
	PrefixCaching *bool `yaml:"prefix_caching,omitempty"`
	// Scrape is the interval; empty: 15s.
	Scrape seconds `yaml:"scrape,omitempty"`
	// At is the time of the investigation; empty: a working day at 10:30 UTC.
	At time.Time `yaml:"at,omitempty"`
	// Alerts are those that Alertmanager sent. Without any the pool is looked at by name.
	Alerts []Alert `yaml:"alerts"`
	// Strays are series of somebody else that Prometheus has too.
	Strays []Stray `yaml:"strays,omitempty"`
	// Workload is "Deployment", also when empty, or "StatefulSet", whose rollouts keep the pods' names.
	Workload string `yaml:"workload,omitempty"`
	// Cluster is what Kubernetes knows.
	Cluster Cluster `yaml:"cluster,omitempty"`
	// Phases follow each other; the investigation is at the end of the last.
	Phases []Phase `yaml:"phases"`

	place strictyaml.Value
}

// Alert is an alert that was sent.
type Alert struct {
	Name string `yaml:"name"`
	// Ago is how long before the investigation it began to fire.
	Ago seconds `yaml:"ago,omitempty"`
	// Pod is the pod that it names; empty: the first. Labels replaces the labels beside alertname and severity.
	Pod    string            `yaml:"pod,omitempty"`
	Labels map[string]string `yaml:"labels,omitempty"`
	// Expr is the rule's expression, which travels in the alert's link.
	Expr string `yaml:"expr,omitempty"`
	// Resolved says that Alertmanager has said that it is over.
	Resolved bool `yaml:"resolved,omitempty"`
}

// Stray is a series of somebody else.
type Stray struct {
	// Metric is its name, Labels are its labels.
	Metric string            `yaml:"metric"`
	Labels map[string]string `yaml:"labels"`
	// Value is its value; with PerSecond it grows from there.
	Value     float64 `yaml:"value"`
	PerSecond float64 `yaml:"per_second,omitempty"`
}

// Cluster is what Kubernetes knows beside the healthy picture: every pod ready, never restarted, a day old.
type Cluster struct {
	// Away says that no Kubernetes is configured.
	Away bool `yaml:"away,omitempty"`
	// Pods are those that differ from that picture.
	Pods map[string]PodFacts `yaml:"pods,omitempty"`
	// Rollout is the time since the newest revision was made, with its image; zero: days ago.
	Rollout      seconds `yaml:"rollout,omitempty"`
	RolloutImage string  `yaml:"rollout_image,omitempty"`
}

// PodFacts are those of one pod.
type PodFacts struct {
	Age seconds `yaml:"age,omitempty"`
	// Gone says that the pod does not exist any more: a rollout replaced it.
	Gone     bool `yaml:"gone,omitempty"`
	NotReady bool `yaml:"not_ready,omitempty"`
	Restarts int  `yaml:"restarts,omitempty"`
	// Crash is how long ago its container ended, with the kubelet's reason, exit code and the end of its log.
	Crash    seconds  `yaml:"crash,omitempty"`
	Reason   string   `yaml:"reason,omitempty"`
	ExitCode int      `yaml:"exit_code,omitempty"`
	Log      []string `yaml:"log,omitempty"`
	// Waiting is the reason why the container does not run, such as CrashLoopBackOff.
	Waiting string `yaml:"waiting,omitempty"`
	// Version is that of the pod's image; empty: the incident's. Its metrics are the incident's in any case.
	Version string `yaml:"version,omitempty"`
}

// Phase is a stretch of time. What it does not name stays as it was at the end of the phase before.
type Phase struct {
	For     seconds `yaml:"for"`
	Physics `yaml:",inline"`
	// Only is what is different for single pods ("b") or engines ("b/1").
	Only map[string]Physics `yaml:"only,omitempty"`
}

// Physics is what an engine does. Everything is for one engine.
type Physics struct {
	// Rate is requests that arrive in a second. Prompt and Gen are tokens of a request.
	Rate   *quantity `yaml:"rate,omitempty"`
	Prompt *spread   `yaml:"prompt,omitempty"`
	Gen    *spread   `yaml:"gen,omitempty"`
	// Hit is the part of prompt tokens that the prefix cache has.
	Hit *quantity `yaml:"hit,omitempty"`
	// Overhead is the part of the time to first token before the queue: tokenising, the frontend.
	Overhead *spread `yaml:"overhead,omitempty"`
	// Queue is the time from queued to scheduled; where Slots is full, requests wait longer. Prefill and ITL follow.
	Queue   *spread `yaml:"queue,omitempty"`
	Prefill *spread `yaml:"prefill,omitempty"`
	ITL     *spread `yaml:"itl,omitempty"`
	// Slots is how many requests can run: max_num_seqs, or what fits into the cache.
	Slots *quantity `yaml:"slots,omitempty"`
	// KV is the part of the cache in use; where nothing runs it is 0.
	KV *quantity `yaml:"kv,omitempty"`
	// Preempt is preemptions in a second; a preempted request waits for PreemptWait, recomputation included.
	Preempt     *quantity `yaml:"preempt,omitempty"`
	PreemptWait *spread   `yaml:"preempt_wait,omitempty"`
	// Leave is the part of clients that go away when the answer is not complete after Patience.
	Leave    *quantity `yaml:"leave,omitempty"`
	Patience *spread   `yaml:"patience,omitempty"`
	// Fail is requests in a second that are answered with 5xx. ErrorShare and LengthShare are parts of the finished
	// requests.
	Fail        *quantity `yaml:"fail,omitempty"`
	ErrorShare  *quantity `yaml:"error_share,omitempty"`
	LengthShare *quantity `yaml:"length_share,omitempty"`
	// Deferred is the part of the waiting requests that waits for a LoRA slot or a KV transfer.
	Deferred *quantity `yaml:"deferred,omitempty"`
	// Xfer is the duration of a KV transfer, one a request; XferFailed and Expired are counted in a second.
	Xfer       *spread   `yaml:"xfer,omitempty"`
	XferFailed *quantity `yaml:"xfer_failed,omitempty"`
	Expired    *quantity `yaml:"expired,omitempty"`
	// External is the part of prompt tokens that a KV connector supplies.
	External *quantity `yaml:"external,omitempty"`
	// Acceptance is the part of draft tokens that is accepted.
	Acceptance *quantity `yaml:"acceptance,omitempty"`
	// GPUUtil and GPUMem are parts of 1; RSS is the host memory of the container in GiB.
	GPUUtil *quantity `yaml:"gpu_util,omitempty"`
	GPUMem  *quantity `yaml:"gpu_mem,omitempty"`
	RSS     *quantity `yaml:"rss,omitempty"`
	// Stall is "frozen" (the engine does not step: gauges stay, counters are flat) or "piling" (it steps, but nothing gets
	// on) or "none".
	Stall *string `yaml:"stall,omitempty"`
	// Target is "up"; "down" (the process is dead), "lost" (it lives and the scrape fails), "gone" (no longer discovered),
	// "silent" (Prometheus itself takes no samples).
	Target *string `yaml:"target,omitempty"`
	// Restart says that the process begins anew with the phase.
	Restart *bool `yaml:"restart,omitempty"`
}

// seconds is a time with a unit.
type seconds float64

// FromYAML reads a duration.
func (s *seconds) FromYAML(v strictyaml.Value) error {
	var d strictyaml.Duration
	if err := d.FromYAML(v); err != nil {
		return err
	}
	*s = seconds(time.Duration(d).Seconds())
	return nil
}

func (s seconds) duration() time.Duration { return time.Duration(float64(s) * float64(time.Second)) }
