package incident

import (
	"cmp"
	"fmt"
)

// RefusedError says that a step cannot be proposed or run, for a reason that a person can act on. Hint is the next step
// for that person, for example a manifest to apply; it may be long.
type RefusedError struct {
	// Reason is the reason where a guardrail or a knob gave it. Where the incident itself refuses, Said is, and present
	// has the words.
	Reason string
	Said   Note
	Hint   string
	Cause  RefusalCause
	// Worked is the arithmetic that ended in the refusal; nil where it was not about numbers.
	Worked *Worked
}

// RefusalCause says what kind of reason a refusal has, where that decides what is said of it.
type RefusalCause string

// The causes. Any other refusal stands until somebody changes the workload or the configuration.
const (
	CauseOther RefusalCause = ""
	// CauseNow is about the present value: it is at its bound, or the workload sleeps. The knob itself can be turned.
	CauseNow RefusalCause = "now"
	// CauseRight is a right that the bot lacks.
	CauseRight RefusalCause = "right"
)

// Error is the reason, or the kind of Said.
func (e *RefusedError) Error() string { return cmp.Or(e.Reason, "refused: "+string(e.Said.Kind)) }

// DriftError says that a target is no longer what the human saw.
type DriftError struct {
	Target    Target
	Want, Got Value
	// Why is set when it is not the value that differs: the object was replaced, its owner changed.
	Why string
}

// Error names the target and both values.
func (e *DriftError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("%s changed since the proposal: %s", e.Target, e.Why)
	}
	return fmt.Sprintf("%s changed since the proposal: it was %s and is %s now", e.Target, e.Want, e.Got)
}

// Reason is the error as facts.
func (e *DriftError) Reason() Reason {
	return Reason{Kind: ReasonDrift, Target: e.Target, Was: e.Want, Value: e.Got, Text: e.Why}
}

// Mark is what the API server says of a field just before a write. The claim of the write keeps it: by it a later read
// can tell whether the field was written since, also where the object cannot carry the id of the write.
type Mark struct {
	// Version is the object's resource version.
	Version string `json:"version,omitempty"`
	// Generation counts the changes of the object's desired state; zero where the API server does not count them.
	Generation int64 `json:"generation,omitempty"`
	// Writers are the clients that have set the field, each with its time; empty when the API server names none.
	Writers string `json:"writers,omitempty"`
}

// Observation is what a look at a target shows after a write whose answer is not known.
type Observation struct {
	// Value is what the field holds now, and Version the object's resource version.
	Value   Value
	Version string
	// Ours says that the value is the wanted one and was written under the given write id, or by the bot's field manager
	// where the object cannot carry the id.
	Ours bool
	// Made says whether the write took effect, whatever the field holds now. Undecided: it cannot be told, so it must not
	// be made again.
	Made Truth
	// Reversal says who set the field to what it holds now, when that is not the wanted value; nil when it is, or cannot
	// be read.
	Reversal *Reversal
	Note     string
}

// RolloutState is how far a rollout is.
type RolloutState string

// The states of a rollout.
const (
	RolloutRunning RolloutState = "running"
	RolloutDone    RolloutState = "done"
	RolloutFailed  RolloutState = "failed"
)

// Rollout is how far the workload has followed a change.
type Rollout struct {
	State RolloutState
	Note  string
	// Reversal is set when there is nothing to follow any more: the field holds another value now.
	Reversal *Reversal
}
