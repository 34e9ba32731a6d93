package incident

import "time"

// Unit is the unit of a signal's value.
type Unit string

// The units.
const (
	UnitSeconds   Unit = "seconds"
	UnitRatio     Unit = "ratio" // 0 to 1
	UnitCount     Unit = "count"
	UnitPerSecond Unit = "per_second"
	UnitTokens    Unit = "tokens"
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
	// Query is PromQL without the pool's matchers; they are put in on the syntax tree. It must give one series.
	Query     string    `json:"query"`
	Unit      Unit      `json:"unit"`
	Direction Direction `json:"direction"`
	// Floor is the lowest value that a histogram can tell: at or below it the reading is "at most Floor". 0: none.
	Floor float64 `json:"floor,omitempty"`
	// Ceiling is the highest value that a histogram can tell: at or above it the reading is "at least Ceiling". 0: none.
	Ceiling float64 `json:"ceiling,omitempty"`
}

// Bound says how a reading's value limits the truth.
type Bound string

// The bounds.
const (
	Exact   Bound = ""
	AtMost  Bound = "at_most"
	AtLeast Bound = "at_least"
)

// Reading is a signal's value at a time; or a bound, no data, or an error. Value is nil in the last two cases, never zero in their place.
type Reading struct {
	Signal    string    `json:"signal"`
	Title     string    `json:"title,omitempty"`
	Value     *float64  `json:"value"`
	Bound     Bound     `json:"bound,omitempty"`
	Unit      Unit      `json:"unit,omitempty"`
	Direction Direction `json:"direction,omitempty"`
	// Threshold is what the chosen rule compared the value with; nil when no rule did.
	Threshold *float64  `json:"threshold,omitempty"`
	Query     string    `json:"query,omitempty"`
	At        time.Time `json:"at"`
	// Error says why there is no value. "no data" is not an error: then Value is nil and Error is empty.
	Error string `json:"error,omitempty"`
	// Warning is what Prometheus warned about in its answer.
	Warning string `json:"warning,omitempty"`
	// Series is the recent past of the value, oldest first, for the chart.
	Series []Point `json:"series,omitempty"`
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
	At       time.Time          `json:"at"`
	Readings map[string]Reading `json:"readings"`
	// Dialect is the spelling of vLLM's metrics that was used; empty when none was found.
	Dialect string  `json:"dialect,omitempty"`
	Cluster Cluster `json:"cluster"`
}

// Cluster is what the Kubernetes API said about a pool. Error says why it could not be asked; the rest is then zero and means nothing.
type Cluster struct {
	Error         string      `json:"error,omitempty"`
	Workload      WorkloadRef `json:"workload,omitzero"`
	Replicas      *int64      `json:"replicas,omitempty"`
	ReadyReplicas *int64      `json:"readyReplicas,omitempty"`
	// RolloutRunning says that a rollout of the workload has not finished.
	RolloutRunning bool `json:"rolloutRunning,omitempty"`
	// Autoscaler is "HorizontalPodAutoscaler llm/x" or "ScaledObject llm/x" when one owns the replicas.
	Autoscaler string   `json:"autoscaler,omitempty"`
	Pods       []Pod    `json:"pods,omitempty"`
	Events     []string `json:"events,omitempty"`
}

// Pod is one pod of a workload.
type Pod struct {
	Name     string    `json:"name"`
	Ready    bool      `json:"ready"`
	Restarts int64     `json:"restarts"`
	Started  time.Time `json:"started,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}
