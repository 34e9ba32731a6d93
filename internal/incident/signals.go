package incident

// The signals that Go asks for by name; all others are the catalog's own business. A catalog without one of them is
// read, and what rests on it is not known then. A test holds that the built-in catalog has every one, and another that
// Go names no other.
const (
	// SignalWaiting is how many requests wait; while some do, no step may take capacity away.
	SignalWaiting = "waiting"
	// SignalRunning is how many requests run; where none runs or waits there is no traffic.
	SignalRunning      = "running"
	SignalEngineAge    = "engine_age"
	SignalTTFT         = "ttft_p95"
	SignalTPOT         = "tpot_p95"
	SignalKVUsage      = "kv_usage"
	SignalPreemptions  = "preemption_rate"
	SignalPromptTokens = "prompt_tokens_rate" //nolint:gosec // the tokens of a prompt
	SignalPromptLength = "prompt_len_p95"
	SignalGenerated    = "generation_tokens_rate"
)

// NamedSignals are the signals that Go asks for by name, with their units.
func NamedSignals() map[string]Unit {
	return map[string]Unit{
		SignalWaiting: UnitCount, SignalRunning: UnitCount, SignalEngineAge: UnitSeconds,
		SignalTTFT: UnitSeconds, SignalTPOT: UnitSeconds,
		SignalKVUsage: UnitRatio, SignalPreemptions: UnitPerSecond, SignalPromptTokens: UnitPerSecond,
		SignalPromptLength: UnitTokens, SignalGenerated: UnitPerSecond,
	}
}
