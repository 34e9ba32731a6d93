package incident

import (
	"math"
	"slices"
	"time"
)

// noticeable is the share by which a signal must move before it counts as better or worse. A tenth is above the noise
// of a rate over five minutes of ordinary traffic; the share is taken of the larger of the old value and the threshold,
// so that tiny values do not count.
const noticeable = 0.10

// Finding is what the readings around a change show, and with that why the verdict is what it is.
type Finding string

// The findings.
const (
	// FoundHealthy: the playbook calls the readings after the change healthy.
	FoundHealthy Finding = "healthy"
	// FoundSilent: it does, but a signal that had a value before has none now; without traffic nothing is proven.
	FoundSilent Finding = "silent"
	// FoundNoData: no signal has a value on both sides.
	FoundNoData Finding = "no_data"
	// FoundWorse and FoundBetter: some signals moved, all of them in one direction.
	FoundWorse  Finding = "worse"
	FoundBetter Finding = "better"
	// FoundMixed: some got better and some worse.
	FoundMixed Finding = "mixed"
	// FoundNotEnough: the pool does more than before, and still lacks what the step added.
	FoundNotEnough Finding = "not_enough"
	// FoundUnchanged: every signal has values and none moved noticeably; FoundUnseen: none of those that have values did.
	FoundUnchanged Finding = "unchanged"
	FoundUnseen    Finding = "unseen"
)

// NoEffect is why a change can have no effect on the readings.
type NoEffect string

// The reasons.
const (
	NoEffectDryRun     NoEffect = "dry_run"
	NoEffectNoRollout  NoEffect = "rollout_failed"
	NoEffectNotApplied NoEffect = "not_in_effect"
)

// Comparison is what the readings before and after a change show. internal/present has the words.
type Comparison struct {
	Finding Finding `json:"finding"`
	// Moves are the signals: those that got worse, then better, then those that stayed, then those without values.
	Moves []Move `json:"moves,omitempty"`
	// Rejected is what the gateway turned away, before and after a throttle: its price, which decides nothing. Nil for
	// other changes, and in what older versions stored.
	Rejected *Move `json:"rejected,omitempty"`
	// NoEffect is empty where the change may have had an effect.
	NoEffect NoEffect `json:"noEffect,omitempty"`
	// Unconfirmed says that it could not be checked whether the change is still in place.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// Movement says which way a signal moved.
type Movement string

// The movements. MovedUnknown: it has no value on one side at least, and its readings say why.
const (
	MovedUnknown Movement = "unknown"
	MovedNot     Movement = "same"
	MovedBetter  Movement = "better"
	MovedWorse   Movement = "worse"
)

// Move is how one signal moved over a change. The readings are without their series, pods and past.
type Move struct {
	Signal string   `json:"signal"`
	Moved  Movement `json:"moved"`
	Before Reading  `json:"before"`
	After  Reading  `json:"after"`
}

// Verification is the signals read again after the change has settled.
type Verification struct {
	Verdict Verdict `json:"verdict"`
	// Comparison says why, Why the same in words, as in Incident. Of verifications of older versions there is nothing but
	// Why.
	Comparison *Comparison        `json:"comparison,omitempty"`
	Why        string             `json:"why"`
	Before     map[string]Reading `json:"before"`
	After      map[string]Reading `json:"after"`
	At         time.Time          `json:"at"`
	// SampledAt is the time of the newest sample among the readings; zero: not known.
	SampledAt time.Time `json:"sampledAt,omitzero"`
}

// Repeats says whether the readings rest on no newer sample than those of an earlier verification: then the two are
// one, and do not confirm each other.
func (v Verification) Repeats(earlier *Verification) bool {
	return earlier != nil && !v.SampledAt.IsZero() && !v.SampledAt.After(earlier.SampledAt)
}

// VerdictOf compares the readings before and after a change. healthy is what the playbook says of the readings after. A
// signal without a value on either side never counts as better or worse.
func VerdictOf(before, after map[string]Reading, signals []string, healthy Truth) (Verdict, Comparison) {
	moves := map[Movement][]Move{}
	silent := false
	for _, name := range signals {
		b, a := before[name], after[name]
		m := moved(b, a)
		moves[m] = append(moves[m], Move{Signal: name, Moved: m, Before: b.alone(), After: a.alone()})
		silent = silent || b.HasValue() && !a.HasValue()
	}
	verdict, found := find(len(moves[MovedBetter]), len(moves[MovedWorse]), len(moves[MovedNot]), len(moves[MovedUnknown]))
	switch {
	case healthy == True && silent:
		verdict, found = VerdictInconclusive, FoundSilent
	case healthy == True:
		verdict, found = VerdictRecovered, FoundHealthy
	}
	return verdict, Comparison{
		Finding: found,
		Moves:   slices.Concat(moves[MovedWorse], moves[MovedBetter], moves[MovedNot], moves[MovedUnknown]),
	}
}

// RejectedOver is what the gateway turned away, over a change; nil where it isn't a throttle.
func RejectedOver(k StepKind, before, after map[string]Reading) *Move {
	if k != StepThrottle {
		return nil
	}
	b, a := before[SignalRejected], after[SignalRejected]
	return &Move{Signal: SignalRejected, Moved: moved(b, a), Before: b.alone(), After: a.alone()}
}

// NotEnough says whether what looks like no help is too little of it: a step has added capacity, the pool does
// noticeably more work than before, and the diagnosis still asks for such a step (wanted). The readings from before are
// no measure of it then: load that rises makes them worse whatever is done, and taking the capacity back would add to
// that.
func NotEnough(k StepKind, v Verdict, before, after map[string]Reading, wanted bool) bool {
	knob, _ := k.Knob()
	if !knob.Adds || !wanted || v == VerdictRecovered || v == VerdictImproved {
		return false
	}
	more := false
	for _, name := range []string{SignalGenerated, SignalPromptTokens} {
		b, a := before[name], after[name]
		if !b.HasValue() || !a.HasValue() {
			continue
		}
		a.Direction, a.Threshold = LowerIsWorse, nil
		switch moved(b, a) {
		case MovedBetter:
			more = true
		case MovedWorse:
			return false
		case MovedNot, MovedUnknown:
		}
	}
	return more
}

// find weighs how many signals moved which way.
func find(better, worse, same, unknown int) (Verdict, Finding) {
	switch {
	case better+worse+same == 0:
		return VerdictInconclusive, FoundNoData
	case better > 0 && worse > 0:
		return VerdictInconclusive, FoundMixed
	case worse > 0:
		return VerdictWorse, FoundWorse
	case better > 0:
		return VerdictImproved, FoundBetter
	case unknown > 0:
		return VerdictInconclusive, FoundUnseen
	}
	return VerdictUnchanged, FoundUnchanged
}

// alone is the reading without what is drawn of it.
func (r Reading) alone() Reading {
	r.Query, r.Series, r.Pods, r.Baseline = "", nil, nil, nil
	return r
}

func moved(b, a Reading) Movement {
	if !b.HasValue() || !a.HasValue() {
		return MovedUnknown
	}
	scale := math.Abs(*b.Value)
	if a.Threshold != nil {
		scale = math.Max(scale, math.Abs(*a.Threshold))
	}
	delta := *a.Value - *b.Value
	if a.Direction == LowerIsWorse {
		delta = -delta
	}
	switch {
	case a.Direction == Neutral || math.Abs(delta) <= noticeable*scale:
		return MovedNot
	case delta > 0:
		return MovedWorse
	default:
		return MovedBetter
	}
}
