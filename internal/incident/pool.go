package incident

import (
	"fmt"
	"time"
)

// Pool is one served model on one Kubernetes workload. Its name is unique in a configuration.
type Pool struct {
	Name string `json:"name"`
	// Match are alert labels that lead here: an alert belongs to the pool when it carries all of them with these values.
	Match map[string]string `json:"match,omitempty"`
	// Matchers are put into every query for this pool, by label name.
	Matchers map[string]string `json:"matchers,omitempty"`
	Workload WorkloadRef       `json:"workload"`
	// Autoscaler is what scales the workload and is in its namespace; zero where none is named, and then none is changed.
	Autoscaler AutoscalerRef `json:"autoscaler,omitzero"`
	// HTTPRoute is the route at the gateway that leads here; zero where none is named.
	HTTPRoute RouteRef `json:"http_route,omitzero"`
	SLO       SLO      `json:"slo"`
	Channel   string   `json:"channel,omitempty"`
	Mode      Mode     `json:"mode"`
	Knobs     Knobs    `json:"knobs"`
	// Approvers by step kind; the empty kind is the default. A kind without an entry uses the default.
	Approvers map[StepKind]Approvers `json:"approvers,omitempty"`
}

// ApproversFor returns who may approve steps of this kind. The zero Approvers allows nobody.
func (p Pool) ApproversFor(kind StepKind) Approvers {
	if a, ok := p.Approvers[kind]; ok {
		return a
	}
	return p.Approvers[""]
}

// FieldManager is the name under which the bot writes to Kubernetes; the API server keeps it beside each field that the
// bot has set.
const FieldManager = "vllm-medic"

// WorkloadRef names one Kubernetes workload. Container is the container whose arguments are vLLM's.
type WorkloadRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Container  string `json:"container,omitempty"`
}

// IsZero says that no workload is named, so that nothing can be changed.
func (w WorkloadRef) IsZero() bool { return w.Name == "" }

// String is "Deployment llm/llama-70b".
func (w WorkloadRef) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// AutoscalerRef names the autoscaler of a pool's workload.
type AutoscalerRef struct {
	// Kind is one of AutoscalerKinds.
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// IsZero says that none is named.
func (a AutoscalerRef) IsZero() bool { return a == AutoscalerRef{} }

// String is "ScaledObject llama-70b", or nothing for the zero AutoscalerRef.
func (a AutoscalerRef) String() string {
	if a.IsZero() {
		return ""
	}
	return a.Kind + " " + a.Name
}

// Setting is the line of a pool that names it: "autoscaler: {kind: ScaledObject, name: llama-70b}".
func (a AutoscalerRef) Setting() string {
	return fmt.Sprintf("autoscaler: {kind: %s, name: %s}", a.Kind, a.Name)
}

// AutoscalerKinds are the kinds of autoscalers whose minimum the bot raises. actions/replicas adjusts them.
func AutoscalerKinds() []string {
	return []string{"ScaledObject", "PodAutoscaler", "HorizontalPodAutoscaler"}
}

// RouteRef names one HTTPRoute of the Gateway API.
type RouteRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// IsZero says that no route is named.
func (r RouteRef) IsZero() bool { return r == RouteRef{} }

// String is "llm/llama-70b", or nothing for the zero RouteRef.
func (r RouteRef) String() string {
	if r.IsZero() {
		return ""
	}
	return r.Namespace + "/" + r.Name
}

// SLO holds a pool's targets. Zero means "no target", never "target zero".
type SLO struct {
	Profile string `json:"profile,omitempty"`
	// TTFT is the 95th percentile of time to first token, in seconds.
	TTFT float64 `json:"ttft,omitempty"`
	// TPOT is the 95th percentile of time per output token (inter-token latency), in seconds.
	TPOT float64 `json:"tpot,omitempty"`
	// QueueTime is the 95th percentile of time in the queue, in seconds.
	QueueTime float64 `json:"queue_time,omitempty"`
	// E2E is the 95th percentile of end-to-end latency, in seconds.
	E2E float64 `json:"e2e,omitempty"`
}

// Knobs are the settings of a pool that may be turned, with their bounds. A knob that is not there may not be turned.
type Knobs struct {
	Replicas *IntKnob `json:"replicas,omitempty"`
	// Arguments are fields of their own in files: strictyaml.Keyed.
	Arguments ArgumentKnobs `json:"-"`
	Throttle  *ThrottleKnob `json:"throttle,omitempty"`
}

// IntKnob bounds a whole number. MaxStep bounds how far one step may go (0: no bound of its own).
type IntKnob struct {
	Min     int64 `json:"min"`
	Max     int64 `json:"max"`
	MaxStep int64 `json:"max_step,omitempty"`
}

// ThrottleKnob bounds one field of one object in front of the pool.
type ThrottleKnob struct {
	// Kind is the mechanism: "envoy-gateway".
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Field is "maxParallelRequests" (concurrent requests) or "requests" (rateLimit.local, requests per its unit).
	Field string `json:"field"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"`
	// RevertAfter is how long the pool must be healthy before the bot reverts the throttle.
	RevertAfter time.Duration `json:"revert_after,omitempty"`
}
