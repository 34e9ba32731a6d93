package incident

// The signals that Go asks for by name; all others are the catalog's own business. A catalog without one of them is
// read, and what rests on it is not known then. A test holds that the built-in catalog has every one, and another that
// Go names no other.
const (
	// SignalWaiting is how many requests wait; while some do, no step may take capacity away.
	SignalWaiting = "waiting"
	// SignalRunning is how many requests run; where none runs or waits there is no traffic.
	SignalRunning = "running"
	// What the price of a throttle is told from: requests that arrive and that finish, per second.
	SignalArrivals = "request_rate"
	SignalFinished = "finished_rate"
	// SignalAbandoned is the share of requests that were begun and whose clients left; they finish nowhere.
	SignalAbandoned = "unfinished_ratio"
	// SignalRejected is the share of requests that the gateway's limit turned away.
	SignalRejected = "gateway_rejected_ratio"
	// SignalLoadNow is the load now by its average over the window; where it has gone, no step against load is made.
	SignalLoadNow   = "load_now"
	SignalEngineAge = "engine_age"
	// The newest samples of what steps are against: where none of them shows a trouble, no step is made.
	SignalWaitingLately     = "waiting_lately"
	SignalTTFTLately        = "ttft_p95_lately"
	SignalTPOTLately        = "tpot_p95_lately"
	SignalPreemptionsLately = "preemption_rate_lately"
	SignalKVUsageMax        = "kv_usage_max"

	SignalTTFT         = "ttft_p95"
	SignalTPOT         = "tpot_p95"
	SignalE2E          = "e2e_p95"
	SignalKVUsage      = "kv_usage"
	SignalPreemptions  = "preemption_rate"
	SignalPromptTokens = "prompt_tokens_rate" //nolint:gosec // the tokens of a prompt
	SignalPromptLength = "prompt_len_p95"
	SignalGenerated    = "generation_tokens_rate"
	// SignalPrefillPods counts the pods that only read prompts, by what they generate; SignalLabeledPrefill, by a label
	// of their series. Pods of different roles aren't compared.
	SignalPrefillPods    = "prefill_pods"
	SignalLabeledPrefill = "prefill_pods_labeled"
)

// LastingLoad is the least part of the window's load that must still be there: below it, the load has gone. Half is our
// starting value: at a steady load the latest samples are near the average, and a burst that has ended is far below it.
const LastingLoad = 0.5

// NamedSignals are the signals that Go asks for by name, with their units.
func NamedSignals() map[string]Unit {
	return map[string]Unit{
		SignalWaiting: UnitCount, SignalRunning: UnitCount, SignalLoadNow: UnitRatio, SignalEngineAge: UnitSeconds,
		SignalTTFT: UnitSeconds, SignalTPOT: UnitSeconds, SignalE2E: UnitSeconds,
		SignalKVUsage: UnitRatio, SignalPreemptions: UnitPerSecond, SignalPromptTokens: UnitPerSecond,
		SignalPromptLength: UnitTokens, SignalGenerated: UnitPerSecond,
		SignalPrefillPods: UnitCount, SignalLabeledPrefill: UnitCount,
		SignalWaitingLately: UnitCount, SignalTTFTLately: UnitSeconds, SignalTPOTLately: UnitSeconds,
		SignalPreemptionsLately: UnitPerSecond, SignalKVUsageMax: UnitRatio,
	}
}
