package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Unit is the unit of a signal's value.
type Unit string

// The units.
const (
	UnitSeconds   Unit = "seconds"
	UnitRatio     Unit = "ratio" // 0 to 1
	UnitCount     Unit = "count"
	UnitPerSecond Unit = "per_second"
	UnitTokens    Unit = "tokens"
	UnitBytes     Unit = "bytes"
)

// Direction says which way a signal is bad.
type Direction string

// The directions.
const (
	HigherIsWorse Direction = "higher_is_worse"
	LowerIsWorse  Direction = "lower_is_worse"
	Neutral       Direction = "neutral"
)

// Signal is a named PromQL expression in canonical vLLM V1 names.
type Signal struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Short is what messages and charts call it: "TTFT p95". Empty: the title.
	Short string `json:"short,omitempty"`
	// Query is PromQL without the pool's matchers; they are put in on the syntax tree. It must give one series. Empty for
	// a signal that is not read from Prometheus.
	Query     string    `json:"query,omitempty"`
	Unit      Unit      `json:"unit"`
	Direction Direction `json:"direction"`
	// Floor is the lowest value that a histogram can tell: at or below it the reading is "≤ Floor". 0: none.
	Floor float64 `json:"floor,omitempty"`
	// Ceiling is the highest value that a histogram can tell: at or above it the reading is "≥ Ceiling". 0: none.
	Ceiling float64 `json:"ceiling,omitempty"`
	// Pods is PromQL that gives the same quantity for each pod, one series each with the label pod (or instance); or for
	// each data-parallel rank of each pod, with the label engine as well. Empty: no breakdown.
	Pods string `json:"pods,omitempty"`
	// Baseline asks how the value compares with the pool's own past.
	Baseline bool `json:"baseline,omitempty"`
	// Product makes the value the product of the numbers in these labels of the series, the smallest of several series;
	// the samples' own values do not matter. For vllm:cache_config_info, which carries numbers in labels.
	Product []string `json:"product,omitempty"`
	// Optional says that many pools do not have it (speculative decoding, a GPU exporter): no data is nothing that a
	// person must know.
	Optional bool `json:"optional,omitempty"`
}

// Label is what a message or a chart calls the signal.
func (s Signal) Label() string { return cmp.Or(s.Short, s.Title, s.Name) }

// Bound says how a reading's value limits the truth.
type Bound string

// The bounds.
const (
	Exact   Bound = ""
	AtMost  Bound = "at_most"
	AtLeast Bound = "at_least"
)

// Reading is a signal's value at a time; or a bound, no data, or an error. Value is nil in the last two cases, never
// zero in their place.
type Reading struct {
	Signal    string    `json:"signal"`
	Title     string    `json:"title,omitempty"`
	Short     string    `json:"short,omitempty"`
	Value     *float64  `json:"value"`
	Bound     Bound     `json:"bound,omitempty"`
	Unit      Unit      `json:"unit,omitempty"`
	Direction Direction `json:"direction,omitempty"`
	// Threshold is what the chosen rule compared the value with; nil when no rule did.
	Threshold     *float64  `json:"threshold,omitempty"`
	ThresholdFrom Origin    `json:"thresholdFrom,omitempty"`
	Query         string    `json:"query,omitempty"`
	At            time.Time `json:"at"`
	// Error says why there is no value. "no data" is not an error: then Value is nil and Error is empty.
	Error string `json:"error,omitempty"`
	// Optional says that missing data is no warning: see Signal.
	Optional bool `json:"optional,omitempty"`
	// Routes is how many routes of the gateway lead into the pool's namespace where it is not known which one is the
	// pool's, so that the gateway's numbers are nobody's; 0 where that is known, or the gateway was not asked.
	Routes int `json:"routes,omitempty"`
	// Warning is what Prometheus warned about in its answer, for people.
	Warning string `json:"warning,omitempty"`
	// Series is the recent past of the value, oldest first, for the chart.
	Series []Point `json:"series,omitempty"`
	// Pods are the values of single pods, the highest first.
	Pods []PodValue `json:"pods,omitempty"`
	// Baseline is how the value compares with the pool's own past; nil when it was not asked or there is no past.
	Baseline *Baseline `json:"baseline,omitempty"`
}

// Label is what a message or a chart calls the reading. Stored readings of older versions have a title alone.
func (r Reading) Label() string { return cmp.Or(r.Short, r.Title, r.Signal) }

// MaxPodValues bounds the pods of one reading: of more, only the worst are kept.
const MaxPodValues = 256

// PodValue is one pod's part in a reading, or that of one of its ranks.
type PodValue struct {
	// Pod is the label pod, else instance.
	Pod string `json:"pod"`
	// Rank is the label engine where the value is that of a data-parallel rank; empty for the whole pod.
	Rank  string  `json:"rank,omitempty"`
	Value float64 `json:"value"`
}

// Name is what people call it: "llama-0", or "llama-0 rank 2".
func (v PodValue) Name() string {
	if v.Rank == "" {
		return v.Pod
	}
	return v.Pod + " rank " + v.Rank
}

// Baseline is a signal's own past. It is evidence and never a cause by itself.
type Baseline struct {
	// Mean and Deviation are those of the signal over the time before, in its unit.
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
	// Score is (value - Mean) / Deviation; nil when the signal did not move at all.
	Score *float64 `json:"score,omitempty"`
	// Yesterday is the mean of the same hour one day earlier; nil when Prometheus has none.
	Yesterday *float64 `json:"yesterday,omitempty"`
}

// Point is one sample of a reading's past.
type Point struct {
	At    time.Time `json:"at"`
	Value float64   `json:"value"`
}

// HasValue says whether there is a value or a bound.
func (r Reading) HasValue() bool { return r.Value != nil && r.Error == "" }

// Evidence is everything that was read at one time.
type Evidence struct {
	At time.Time `json:"at"`
	// SampledAt is the time of the pool's newest sample, on which the readings rest at the latest; zero: not known.
	SampledAt time.Time          `json:"sampledAt,omitzero"`
	Readings  map[string]Reading `json:"readings"`
	// Dialect is the spelling of vLLM's metrics that was used; empty when none was found.
	Dialect string `json:"dialect,omitempty"`
	// Absent says why Prometheus has no vLLM metric of this pool; empty when it has some, or could not be asked.
	Absent  string  `json:"absent,omitempty"`
	Cluster Cluster `json:"cluster"`
	// Versions are the versions of vLLM that serve in the pool, each with its pods, where it has several; nil where it has
	// one, or that is not known of each pod.
	Versions []ServedVersion `json:"versions,omitempty"`
	// PodRoles are the roles of pods in a disaggregated pool, as far as Kubernetes tells them; see Roles.
	PodRoles []PodRole `json:"podRoles,omitempty"`
	// DeadAlerts are alerts of the incident whose rule asks for a metric that this pool's vLLM does not have. Nil: it was
	// not looked at.
	DeadAlerts []DeadAlert `json:"deadAlerts,omitempty"`
	// Unexamined are alerts of the incident about whose rule that is not known.
	Unexamined []UnexaminedAlert `json:"unexamined,omitempty"`
	// Recorded is set where the readings are recorded ones; nil: they are of this moment.
	Recorded *Recorded `json:"-"`
}

// ServedVersion is one of the versions of vLLM in a pool.
type ServedVersion struct {
	// Version is that of the image ("0.24.0"); where only names of metrics tell, what they leave possible ("0.20 or
	// later").
	Version string `json:"version"`
	// Pods are the names of its pods, in order, as the readings have them.
	Pods []string `json:"pods"`
}

// Recorded is what belongs to recorded readings.
type Recorded struct {
	// SLO are the targets that they were recorded under, which are to be used instead of the pool's.
	SLO SLO
	// Now is the cluster as it is: what guardrails are asked about is never recorded.
	Now Cluster
}

// ClusterNow is the cluster as it is, also when the readings are recorded.
func (e Evidence) ClusterNow() Cluster {
	if e.Recorded != nil {
		return e.Recorded.Now
	}
	return e.Cluster
}

// Scope says what to collect beyond the present values.
type Scope struct {
	// Alerts are those of the incident: whether their rules can see the pool at all is part of the evidence.
	Alerts []Alert
	// Scenario names the recording to read instead of the present; empty: the present.
	Scenario string
	// Usual adds how signals compare with the pool's own past. It costs a query for each; checks around a change omit it.
	Usual bool
}

// DeadAlert is an alert whose rule cannot see the pool's vLLM: it fires on somebody else's series of that name.
type DeadAlert struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr,omitempty"`
	// Missing are the metrics of the rule that this pool does not have.
	Missing []string `json:"missing"`
	// Instead is the query that would work; empty when there is none.
	Instead string `json:"instead,omitempty"`
	// Why says what became of the metric.
	Why string `json:"why"`
}

// UnexaminedAlert is an alert whose rule concerns vLLM and was not examined.
type UnexaminedAlert struct {
	Alert string `json:"alert"`
	// Why ends the sentence "its expression is".
	Why string `json:"why"`
}

// Cluster is what the Kubernetes API said about a pool. Error says why it could not be asked; the rest is then zero and
// means nothing.
type Cluster struct {
	Error string `json:"error,omitempty"`
	// NotConfigured says that there is no Kubernetes to ask, as opposed to one that did not answer; NoWorkload, that there
	// is one and the pool names no workload in it. NotConfigured is set then, too.
	NotConfigured bool `json:"notConfigured,omitempty"`
	NoWorkload    bool `json:"noWorkload,omitempty"`
	// Podless says why nobody can tell which pods there are, as of a kind without a selector; that is no failure.
	Podless       string      `json:"podless,omitempty"`
	Workload      WorkloadRef `json:"workload,omitzero"`
	Replicas      *int64      `json:"replicas,omitempty"`
	ReadyReplicas *int64      `json:"readyReplicas,omitempty"`
	// RolloutRunning says that a rollout of the workload has not finished.
	RolloutRunning bool `json:"rolloutRunning,omitempty"`
	// Autoscaler is "HorizontalPodAutoscaler llm/x" or "ScaledObject llm/x" when one owns the replicas.
	Autoscaler string   `json:"autoscaler,omitempty"`
	Pods       []Pod    `json:"pods,omitempty"`
	Events     []string `json:"events,omitempty"`
	// Changes are what changed lately around the pool, newest first.
	Changes []RecentChange `json:"changes,omitempty"`
	// Crashes are the newest ends of containers, newest first.
	Crashes []Crash `json:"crashes,omitempty"`
	// Args are the numbers among the engine's arguments that rules read ("max_num_seqs"), as given or as the configuration
	// says where none is. An argument that is not there, or that cannot be read with certainty, is not in it.
	Args map[string]float64 `json:"args,omitempty"`
	// Unread says what of Autoscaler, Events, Changes and Crashes could not be read; it does not speak against the rest.
	// "unread" in JSON holds its sentences.
	Unread []Unread `json:"notRead,omitempty"`
}

// ReadyText says how many replicas are ready: "2 of 3 ready", and "3 ready, 2 wanted" while some have to end. Empty
// when that is not known.
func (c Cluster) ReadyText() string {
	switch {
	case c.Replicas == nil || c.ReadyReplicas == nil:
		return ""
	case *c.ReadyReplicas > *c.Replicas:
		return fmt.Sprintf("%d ready, %d wanted", *c.ReadyReplicas, *c.Replicas)
	}
	return fmt.Sprintf("%d of %d ready", *c.ReadyReplicas, *c.Replicas)
}

// ChangeKind says what changed.
type ChangeKind string

// The kinds of changes.
const (
	ChangeRollout ChangeKind = "rollout" // a new revision of the workload: image, arguments, or the template
	ChangeScale   ChangeKind = "scale"
	ChangeRestart ChangeKind = "restart" // a container ended and was started again
	ChangeNode    ChangeKind = "node"
)

// RecentChange is something that happened around a pool lately. Text holds no argument's value that could be a secret.
type RecentChange struct {
	At     time.Time  `json:"at"`
	Kind   ChangeKind `json:"kind"`
	Object string     `json:"object"`
	Text   string     `json:"text"`
	// To is the new number of replicas of a scaling; nil when it is not said.
	To *int64 `json:"to,omitempty"`
	// Own says that it is a step of the bot itself.
	Own bool `json:"own,omitempty"`
}

// Crash is the last end of a container.
type Crash struct {
	Pod       string    `json:"pod"`
	Container string    `json:"container"`
	At        time.Time `json:"at,omitzero"`
	// Reason is the kubelet's: "OOMKilled", "Error", "Completed".
	Reason   string `json:"reason,omitempty"`
	ExitCode int64  `json:"exitCode"`
	// OutOfMemory is what the last lines of its log say about memory: "gpu" for a CUDA out of memory, "" for nothing.
	OutOfMemory string `json:"outOfMemory,omitempty"`
	// Log are its last lines, bounded, without control characters and secrets.
	Log []string `json:"log,omitempty"`
}

// Part is a part of a cluster that is read for itself.
type Part string

// The parts.
const (
	PartRollouts    Part = "rollouts"
	PartScaling     Part = "scaling"
	PartKedaScaling Part = "keda_scaling"
	PartAutoscaler  Part = "autoscaler"
	PartNodes       Part = "nodes"
	PartCrashes     Part = "crashes"
	PartCrashLog    Part = "crash_log"
	PartReady       Part = "ready"
	PartWarnings    Part = "warnings"
)

// partTitles are what the parts hold, in words. Incidents of older versions have nothing else.
var partTitles = map[Part]string{
	PartRollouts:    "recent rollouts",
	PartScaling:     "recent scaling",
	PartKedaScaling: "recent scaling by the autoscaler",
	PartAutoscaler:  "the autoscaler and its recent scaling",
	PartNodes:       "events of the nodes",
	PartCrashes:     "crashes, and events of the nodes",
	PartCrashLog:    "the log of a crashed container",
	PartReady:       "how many replicas are ready",
	PartWarnings:    "recent warnings",
}

// Title is what a part holds, in words. A part that a newer version has read is called by its name.
func (p Part) Title() string { return cmp.Or(partTitles[p], string(p)) }

// Unread is a part of a cluster that could not be read, with one of the reasons.
type Unread struct {
	Part Part `json:"part"`
	// Why is one reason on one line, without a full stop; empty when it is not known.
	Why string `json:"why,omitempty"`
}

// String is "recent rollouts: list replicasets in llm is not allowed".
func (u Unread) String() string {
	if u.Why == "" {
		return u.Part.Title()
	}
	return u.Part.Title() + ": " + u.Why
}

// NotRead says why a part could not be read, with the first reason; ok is false when it was read.
func (c Cluster) NotRead(p Part) (u Unread, ok bool) {
	n := slices.IndexFunc(c.Unread, func(u Unread) bool { return u.Part == p })
	if n < 0 {
		return Unread{}, false
	}
	return c.Unread[n], true
}

// Pod is one pod of a workload. Those that ended for good, and that their owner replaces, are none.
type Pod struct {
	Name string `json:"name"`
	// Node is the node that it runs on; empty while none has it.
	Node     string    `json:"node,omitempty"`
	Ready    bool      `json:"ready"`
	Restarts int64     `json:"restarts"`
	Started  time.Time `json:"started,omitzero"`
	// ServedAfter is how long it took from its start until it was ready; 0 where that isn't known, because it isn't ready
	// or its engine has been restarted since.
	ServedAfter time.Duration `json:"servedAfter,omitempty"`
	// GPUs is how many devices its engine has; 0 where it asks for none, or for a share of one.
	GPUs int64 `json:"gpus,omitempty"`
	// Unscheduled is since when no node takes the pod; zero when it has one, or was not refused yet.
	Unscheduled time.Time `json:"unscheduled,omitzero"`
	// Unschedulable is why no node takes it, as the scheduler says it: "Unschedulable 0/3 nodes are available: ...".
	Unschedulable string `json:"unschedulable,omitempty"`
	// Phase is Kubernetes' own: "Pending", "Running".
	Phase string `json:"phase,omitempty"`
	// Waiting is what the engine's container waits for, or an init container before it: "ImagePullBackOff".
	Waiting string `json:"waiting,omitempty"`
	// CrashLooping says that the engine's container, or an init container that keeps it from starting, starts again and
	// again. What a container beside the engine does is only in Reason.
	CrashLooping bool `json:"crashLooping,omitempty"`
	// Terminating says that the pod is on its way out.
	Terminating bool `json:"terminating,omitempty"`
	// Version is vLLM's, by the tag of the engine's image; empty where that does not tell.
	Version string `json:"version,omitempty"`
	// Role is its part in disaggregated serving, by its labels or arguments; empty where these don't tell.
	Role Role `json:"role,omitempty"`
	// Reason is all of this and how containers ended, in one line for people. Nothing is read out of it.
	Reason string `json:"reason,omitempty"`
}
