package config

import "github.com/vllm-medic/vllm-medic/internal/strictyaml"

type policyFile struct {
	// How long an object (a Deployment, an autoscaler, a traffic policy) is left alone after a step on it. Default 10m.
	CoolDown *strictyaml.Duration `yaml:"cool_down,omitempty"`
	// How many steps a pool may get in an hour. Default 4.
	HourlyBudget *int `yaml:"hourly_budget,omitempty" jsonschema:"minimum=1,default=4"`
	// How many steps a pool may get in a day. Default 12.
	DailyBudget *int `yaml:"daily_budget,omitempty" jsonschema:"minimum=1,default=12"`
	// Kinds of steps that mode auto runs without asking: replicas or throttle. What restarts pods always asks, and so does
	// a step with a caution.
	Automatic []string `yaml:"automatic,omitempty" jsonschema:"enum=replicas,enum=throttle"`
	// Take a step back without asking when it made things worse or changed nothing.
	AutomaticUndo bool `yaml:"automatic_undo,omitempty"`
}

type timingFile struct {
	// How often the bot looks without being woken. Default 1s.
	Sweep strictyaml.Duration `yaml:"sweep,omitempty"`
	// How long a claim on an incident lasts; another replica may take it over afterwards. Default 2m.
	Lease strictyaml.Duration `yaml:"lease,omitempty"`
	// How long the first alerts of an incident are gathered. Default 5s: Alertmanager has grouped already.
	GroupWait strictyaml.Duration `yaml:"group_wait,omitempty"`
	// How often a plan that waits for people is looked at again. Default 1m.
	Refresh strictyaml.Duration `yaml:"refresh,omitempty"`
	// How often a quiet incident is looked at again. Default 1m.
	Watch strictyaml.Duration `yaml:"watch,omitempty"`
	// How long people are asked when approvers says nothing; then the answer is no. Default 30m.
	Expire strictyaml.Duration `yaml:"expire,omitempty"`
	// The pause after a failed look at the outside. Default 5s.
	Retry strictyaml.Duration `yaml:"retry,omitempty"`
	// How long an approved step waits for a check that cannot be made; then it is refused. Default 2m.
	GiveUp strictyaml.Duration `yaml:"give_up,omitempty"`
	// How often a rollout is looked at. Default 5s.
	RolloutPoll strictyaml.Duration `yaml:"rollout_poll,omitempty"`
	// When a rollout counts as failed. Default 30m: a large model takes minutes to start.
	RolloutLimit strictyaml.Duration `yaml:"rollout_limit,omitempty"`
	// How long to wait after the rollout before the signals are read again: their window. Default 5m.
	Settle strictyaml.Duration `yaml:"settle,omitempty"`
	// How often the signals are read then. Default 30s.
	VerifyEvery strictyaml.Duration `yaml:"verify_every,omitempty"`
	// How long they are read before the verdict stands. Default 5m.
	VerifyFor strictyaml.Duration `yaml:"verify_for,omitempty"`
	// How long the signals must be healthy before an incident is closed. Default 5m.
	Hold strictyaml.Duration `yaml:"hold,omitempty"`
	// When an incident about which nothing can be learned, and of which no alert fires, is closed. Default 24h.
	Stale strictyaml.Duration `yaml:"stale,omitempty"`
}

type approversFile struct {
	// Ids of Slack users, such as U0123.
	Users []string `yaml:"users,omitempty"`
	// Ids of Slack user groups, such as S0456.
	Groups []string `yaml:"groups,omitempty"`
	// How many different people must approve. Default 1.
	Count int `yaml:"count,omitempty" jsonschema:"minimum=0,default=1"`
	// How long they are asked; then the answer is no. Default: timing.expire.
	Expire strictyaml.Duration `yaml:"expire,omitempty"`
}

type poolFile struct {
	// The pool's name, unique in this file.
	Name string `yaml:"name"`
	// An alert that carries all of these labels belongs here; of several pools the one with the most labels wins, and a
	// tie is a mistake.
	Match map[string]string `yaml:"match,omitempty"`
	// Labels that are put into every query, so that only this model is read.
	Matchers map[string]string `yaml:"matchers"`
	// The Kubernetes object that runs the model. Without it replicas and engine arguments cannot be changed.
	Workload *workloadFile `yaml:"workload,omitempty"`
	// The HTTPRoute at the gateway that leads to this pool. The gateway's metrics are then read for it alone; without it
	// they count only where the namespace has one route. A throttle whose policy is for other routes is refused.
	HTTPRoute *httpRouteFile `yaml:"http_route,omitempty"`
	// What is fast enough: the name of a built-in profile (agentic, batch, chat, completion, rag) or targets of one's own.
	// Default chat.
	SLO sloFile `yaml:"slo,omitempty"`
	// The id of the Slack channel for this pool. Default: slack.channel.
	Channel string `yaml:"channel,omitempty"`
	// How far the bot may go with this pool. Default: mode.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=observe,enum=dry-run,enum=approve,enum=auto"`
	// Who may approve for this pool; each kind that is named here replaces the one above.
	Approvers map[string]approversFile `yaml:"approvers,omitempty"`
	// The settings that may be turned, with their bounds. What is not named is never touched.
	Knobs knobsFile `yaml:"knobs,omitempty"`
}

type workloadFile struct {
	// Such as apps/v1.
	APIVersion string `yaml:"apiVersion"`
	// Such as Deployment; any kind with a scale subresource can have its replicas changed.
	Kind string `yaml:"kind"`
	// Its namespace.
	Namespace string `yaml:"namespace"`
	// Its name.
	Name string `yaml:"name"`
	// The container whose arguments are vLLM's. It is needed for max_num_batched_tokens.
	Container string `yaml:"container,omitempty"`
}

type httpRouteFile struct {
	// Its namespace. Default: the workload's, else the one in matchers.
	Namespace string `yaml:"namespace,omitempty"`
	// Its name.
	Name string `yaml:"name"`
}

type knobsFile struct {
	// The number of replicas. Where an HPA or a KEDA ScaledObject owns it, its minimum is turned instead.
	Replicas *intKnobFile `yaml:"replicas,omitempty"`
	// vLLM's --max-num-batched-tokens. A change restarts the pods.
	MaxNumBatchedTokens *tokensKnobFile `yaml:"max_num_batched_tokens,omitempty"`
	// A limit on the requests that are let in. A mitigation: it is undone after recovery.
	Throttle *throttleFile `yaml:"throttle,omitempty"`
}

type intKnobFile struct {
	// Never below this.
	Min int64 `yaml:"min" jsonschema:"minimum=1"`
	// Never above this.
	Max int64 `yaml:"max" jsonschema:"minimum=1"`
	// The largest change in one step. Default: what the playbook says.
	MaxStep int64 `yaml:"max_step,omitempty" jsonschema:"minimum=0"`
}

type tokensKnobFile struct {
	// Never below this.
	Min int64 `yaml:"min" jsonschema:"minimum=1"`
	// Never above this.
	Max int64 `yaml:"max" jsonschema:"minimum=1"`
	// The largest change in one step. Default: what the playbook says.
	MaxStep int64 `yaml:"max_step,omitempty" jsonschema:"minimum=0"`
	// What the engine uses when the flag is not given: the max_num_batched_tokens that vLLM logs at its start. Without it
	// a step is refused where the flag is not given.
	Default *int64 `yaml:"default,omitempty" jsonschema:"minimum=256,maximum=1048576"`
	// Whether the engine cuts prompts into chunks, where --enable-chunked-prefill is not given: vLLM logs "Chunked prefill
	// is enabled" at its start. Without it a step may be refused, because the least value that vLLM starts with is not
	// known.
	ChunkedPrefill *bool `yaml:"chunked_prefill,omitempty"`
}

type throttleFile struct {
	// What limits the requests. Only envoy-gateway is built so far: a BackendTrafficPolicy.
	Kind string `yaml:"kind" jsonschema:"enum=envoy-gateway"`
	// The namespace of the BackendTrafficPolicy.
	Namespace string `yaml:"namespace"`
	// Its name. It must exist: the bot creates nothing.
	Name string `yaml:"name"`
	// The field: maxParallelRequests (of circuitBreaker) or requests (of the local rate limit).
	Field string `yaml:"field" jsonschema:"enum=maxParallelRequests,enum=requests"`
	// Never below this.
	Min int64 `yaml:"min" jsonschema:"minimum=1"`
	// Never above this.
	Max int64 `yaml:"max" jsonschema:"minimum=1"`
	// How long the pool must be healthy before the limit is reverted. Default: what the playbook says.
	RevertAfter strictyaml.Duration `yaml:"revert_after,omitempty" was:"lift_after"`
}
