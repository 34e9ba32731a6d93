package config

import (
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

type policyFile struct {
	// The minimum time between two steps on the same object (a Deployment, an autoscaler, a traffic policy). Default
	// 10m.
	CoolDown *strictyaml.Duration `yaml:"cool_down,omitempty"`
	// The maximum number of steps per pool and hour. Default 4.
	HourlyBudget *int `yaml:"hourly_budget,omitempty" jsonschema:"minimum=1,default=4"`
	// The maximum number of steps per pool and day. Default 12.
	DailyBudget *int `yaml:"daily_budget,omitempty" jsonschema:"minimum=1,default=12"`
	// Kinds of steps that mode auto runs without approval: replicas or throttle. A step that restarts pods or has a
	// caution always needs approval.
	Automatic []string `yaml:"automatic,omitempty" jsonschema:"enum=replicas,enum=throttle"`
	// Roll a step back without approval if it made things worse or had no effect.
	AutomaticUndo bool `yaml:"automatic_undo,omitempty"`
}

type timingFile struct {
	// The polling interval if nothing wakes the bot. Default 1s.
	Sweep strictyaml.Duration `yaml:"sweep,omitempty"`
	// How long a claim on an incident lasts; after that another replica can take it over. Default 2m.
	Lease strictyaml.Duration `yaml:"lease,omitempty"`
	// How long a new incident waits for more alerts. Default 5s: Alertmanager has grouped them already.
	GroupWait strictyaml.Duration `yaml:"group_wait,omitempty"`
	// Alerts that fire or resolve within this time are one line of the thread. Default 1m.
	Gather strictyaml.Duration `yaml:"gather,omitempty"`
	// How often a plan that waits for approval is re-checked. Default 1m.
	Refresh strictyaml.Duration `yaml:"refresh,omitempty"`
	// How often an idle incident is re-checked. Default 1m.
	Watch strictyaml.Duration `yaml:"watch,omitempty"`
	// How long an approval request stays open if approvers sets no expire; after that nothing is changed. Default 30m.
	Expire strictyaml.Duration `yaml:"expire,omitempty"`
	// The delay before a retry after an external system did not respond. Default 5s.
	Retry strictyaml.Duration `yaml:"retry,omitempty"`
	// How long an approved step waits for a check that can't be made; after that it is blocked. Default 2m.
	GiveUp strictyaml.Duration `yaml:"give_up,omitempty"`
	// The polling interval during a rollout. Default 5s.
	RolloutPoll strictyaml.Duration `yaml:"rollout_poll,omitempty"`
	// A rollout that takes longer counts as failed. Default 30m: a large model takes minutes to start.
	RolloutLimit strictyaml.Duration `yaml:"rollout_limit,omitempty"`
	// How long to wait after the rollout before the signals are read: their window. Default 5m.
	Settle strictyaml.Duration `yaml:"settle,omitempty"`
	// The interval between readings during verification. Default 30s.
	VerifyEvery strictyaml.Duration `yaml:"verify_every,omitempty"`
	// How long verification lasts; after that the verdict is final. Default 5m.
	VerifyFor strictyaml.Duration `yaml:"verify_for,omitempty"`
	// How long the signals must be healthy before an incident closes. Default 5m.
	Hold strictyaml.Duration `yaml:"hold,omitempty"`
	// An alert that fires again within this time after an incident closed reopens it; later it opens a new one. Default
	// 30m, at most 168h.
	Reopen strictyaml.Duration `yaml:"reopen,omitempty"`
	// An incident closes after this long without data and firing alerts, or healthy without a notification about its
	// firing alerts. Default 24h.
	Stale strictyaml.Duration `yaml:"stale,omitempty"`
}

type approversFile struct {
	// IDs of Slack users, such as U0123.
	Users []string `yaml:"users,omitempty"`
	// IDs of Slack user groups, such as S0456.
	Groups []string `yaml:"groups,omitempty"`
	// How many approvers must approve. Default 1.
	Count int `yaml:"count,omitempty" jsonschema:"minimum=0,default=1"`
	// Two different people must be behind a step: its approvers, and whoever asked for it again. Without such a person
	// that means at least two approvals. Default false.
	FourEyes bool `yaml:"four_eyes,omitempty"`
	// An approval must come with a reason: Slack asks for it in a form, the command line takes --reason. Default false.
	RequireReason bool `yaml:"require_reason,omitempty"`
	// Slack offers a form to choose a smaller change before approving, for steps that have values in between. Default
	// false: one click approves.
	Narrow bool `yaml:"narrow,omitempty"`
	// How long the approval request stays open; after that nothing is changed. Default: timing.expire.
	Expire strictyaml.Duration `yaml:"expire,omitempty"`
	// How long before the request expires the approvers are reminded, in the thread. 0s: never. Default 5m; a request that
	// is open for less than that has no reminder.
	Remind *strictyaml.Duration `yaml:"remind,omitempty"`
	// People who are also asked if nobody has decided after a time. They can't approve before that.
	Escalate []escalationFile `yaml:"escalate,omitempty"`
}

type escalationFile struct {
	// How long after the request they are asked. Must be before the request expires.
	After strictyaml.Duration `yaml:"after"`
	// IDs of Slack users, such as U0123.
	Users []string `yaml:"users,omitempty"`
	// IDs of Slack user groups, such as S0456.
	Groups []string `yaml:"groups,omitempty"`
}

type poolFile struct {
	// The pool's name, unique in this file.
	Name string `yaml:"name"`
	// An alert with all of these labels belongs to this pool. If several pools match, the one with the most labels
	// wins; a tie is an error.
	Match map[string]string `yaml:"match,omitempty"`
	// Label matchers added to every query, so that only this model is read.
	Matchers map[string]string `yaml:"matchers"`
	// The Kubernetes object that runs the model. Without it the bot can't change replicas and engine arguments.
	Workload *workloadFile `yaml:"workload,omitempty"`
	// The autoscaler that scales the workload, in the workload's namespace. The bot raises the minimum of no other, and
	// needs no permission to change others. Without it, replicas of a workload that has an autoscaler aren't changed.
	Autoscaler *autoscalerFile `yaml:"autoscaler,omitempty"`
	// The HTTPRoute that routes to this pool. The gateway's metrics are then read for it alone; without it they count
	// only if the namespace has a single route. A throttle whose policy targets other routes is blocked.
	HTTPRoute *httpRouteFile `yaml:"http_route,omitempty"`
	// The latency targets: a built-in profile (agentic, batch, chat, completion, rag) or your own targets. Default
	// chat.
	SLO sloFile `yaml:"slo,omitempty"`
	// The ID of the Slack channel for this pool. Default: slack.channel.
	Channel string `yaml:"channel,omitempty"`
	// How far the bot may go with this pool. Default: mode.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=observe,enum=dry-run,enum=approve,enum=auto"`
	// Who can approve for this pool; each kind listed here replaces the global entry.
	Approvers map[string]approversFile `yaml:"approvers,omitempty"`
	// The settings that the bot may change, with their bounds. Anything not listed here is never changed.
	Knobs knobsFile `yaml:"knobs,omitempty"`
}

type workloadFile struct {
	// The API version, such as apps/v1.
	APIVersion string `yaml:"apiVersion"`
	// The kind, such as Deployment. Replicas can be changed on any kind with a scale subresource.
	Kind string `yaml:"kind"`
	// Its namespace.
	Namespace string `yaml:"namespace"`
	// Its name.
	Name string `yaml:"name"`
	// The container that runs vLLM. Required for engine arguments.
	Container string `yaml:"container,omitempty"`
}

type autoscalerFile struct {
	// The kind of autoscaler.
	Kind string `yaml:"kind" jsonschema:"enum=ScaledObject,enum=PodAutoscaler,enum=HorizontalPodAutoscaler"`
	// Its name.
	Name string `yaml:"name"`
}

type httpRouteFile struct {
	// Its namespace. Default: the workload's, else the one in matchers.
	Namespace string `yaml:"namespace,omitempty"`
	// Its name.
	Name string `yaml:"name"`
}

type knobsFile struct {
	// The number of replicas. If the pool's autoscaler controls it, the autoscaler's minimum is changed instead.
	Replicas  *intKnobFile      `yaml:"replicas,omitempty"`
	Arguments argumentKnobsFile `yaml:",inline"`
	// A limit on admitted requests. A mitigation: it is undone after recovery.
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

// argumentKnobsFile has a key for each engine argument of incident's table.
type argumentKnobsFile map[incident.StepKind]*argumentKnobFile

// Keys are those that the bot can set.
func (argumentKnobsFile) Keys() []string { return incident.ArgumentKnobs{}.Keys() }

type argumentKnobFile struct {
	// Never below this.
	Min int64 `yaml:"min" jsonschema:"minimum=1"`
	// Never above this.
	Max int64 `yaml:"max" jsonschema:"minimum=1"`
	// The largest change in one step. Default: what the playbook says.
	MaxStep int64 `yaml:"max_step,omitempty" jsonschema:"minimum=0"`
	// What the engine uses if the flag is not set: the value that vLLM logs at startup. If neither is set, the step is
	// blocked.
	Default *int64 `yaml:"default,omitempty"`
	// Whether the engine splits prompts into chunks if --enable-chunked-prefill is not set: vLLM logs "Chunked prefill
	// is enabled" at startup. Without it a step may be blocked, because the minimum that vLLM starts with is unknown.
	ChunkedPrefill *bool `yaml:"chunked_prefill,omitempty"`
}

type throttleFile struct {
	// What limits the requests. Only envoy-gateway is supported so far: a BackendTrafficPolicy.
	Kind string `yaml:"kind" jsonschema:"enum=envoy-gateway"`
	// The namespace of the BackendTrafficPolicy.
	Namespace string `yaml:"namespace"`
	// Its name. It must exist: the bot doesn't create it.
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
