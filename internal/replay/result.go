package replay

import (
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Outcome is what came of a replay.
type Outcome string

// The outcomes.
const (
	// NoLonger: there was a diagnosis, and there would be none.
	NoLonger Outcome = "no_longer_diagnosed"
	// OtherCause: there would be another diagnosis.
	OtherCause Outcome = "other_cause"
	// OtherPlan: the diagnosis would be the same, and the steps would not.
	OtherPlan Outcome = "other_plan"
	// OtherRecovery: whether the pool has recovered would be judged otherwise.
	OtherRecovery Outcome = "other_recovery"
	// NowDiagnosed: there was no diagnosis, and there would be one.
	NowDiagnosed Outcome = "now_diagnosed"
	// Undecided: it depends on what was not read then.
	Undecided Outcome = "undecided"
	// NotKept: an older version made the investigation and did not keep what it rested on.
	NotKept Outcome = "not_kept"
	Same    Outcome = "same"
)

// Outcomes lists all, the worst first.
func Outcomes() []Outcome {
	return []Outcome{NoLonger, OtherCause, OtherPlan, OtherRecovery, NowDiagnosed, Undecided, NotKept, Same}
}

// Differs says whether something would come out otherwise, so that the author of the playbooks must look at it.
func (o Outcome) Differs() bool {
	return slices.Index(Outcomes(), o) < slices.Index(Outcomes(), Undecided)
}

// Worst is the worst of the outcomes; Same when there are none.
func Worst(all []Outcome) Outcome {
	for _, o := range Outcomes() {
		if slices.Contains(all, o) {
			return o
		}
	}
	return Same
}

// Incident is the replay of one incident.
type Incident struct {
	ID       string    `json:"id"`
	Pool     string    `json:"pool"`
	OpenedAt time.Time `json:"openedAt"`
	// Outcome is the worst of the investigations.
	Outcome        Outcome         `json:"outcome"`
	Investigations []Investigation `json:"investigations"`
	// LeftOut counts investigations between the first and the newest that were not kept, because there were too many.
	LeftOut int64 `json:"leftOut,omitempty"`
	// Note says what limits the replay of this incident; empty for most.
	Note string `json:"note,omitempty"`
}

// Investigation is the replay of one investigation of an incident.
type Investigation struct {
	// Of is what it was for: a diagnosis, the check before the write of Step, or what became of it.
	Of      incident.EventKind `json:"of"`
	Step    string             `json:"step,omitempty"`
	At      time.Time          `json:"at"`
	Outcome Outcome            `json:"outcome"`
	Then    Answer             `json:"then"`
	// Now is nil where nothing was kept to replay.
	Now *Answer `json:"now"`
	// Causes are the diagnoses that made the difference, or leave it open.
	Causes []Cause `json:"causes,omitempty"`
	// Steps are the steps of both plans, those of then first.
	Steps []StepPair `json:"steps,omitempty"`
	// NotRead are the signals that the result would rest on and that were not read.
	NotRead []Unread `json:"notRead,omitempty"`
	// Recovery are the conditions of recovery of today, where they come out otherwise or are open.
	Recovery []incident.Condition `json:"recovery,omitempty"`
}

// Unread is a signal of which there is no reading.
type Unread struct {
	Signal string `json:"signal"`
	// Label is what people call it, and Why one of "not read then", "read with another query then" and "not kept".
	Label string `json:"label"`
	Why   string `json:"why"`
}

// Answer is what the playbooks say.
type Answer struct {
	// Diagnosis is empty when there is none.
	Diagnosis string         `json:"diagnosis"`
	Summary   string         `json:"summary,omitempty"`
	Healthy   incident.Truth `json:"healthy,omitempty"`
}

// Cause is one diagnosis, then and now.
type Cause struct {
	Name string `json:"name"`
	Then Side   `json:"then"`
	Now  Side   `json:"now"`
}

// Verdict is what the playbooks say of one diagnosis.
type Verdict string

// The verdicts beside the truth values of its rule.
const (
	Chosen       Verdict = "chosen"
	NotEvaluated Verdict = "not_evaluated"
	// Possible: it could have been chosen, had the signals been read that were not.
	Possible Verdict = "possible"
)

// Side is what was or would be said of a diagnosis.
type Side struct {
	Verdict Verdict `json:"verdict"`
	// Why says it in words, for a diagnosis that is not chosen; Conditions are those of one that is.
	Why        string               `json:"why,omitempty"`
	Conditions []incident.Condition `json:"conditions,omitempty"`
	// Missing are the signals that leave it open.
	Missing []string `json:"missing,omitempty"`
}

// StepPair is one kind of step in both plans; nil where a plan has none.
type StepPair struct {
	Kind incident.StepKind `json:"kind"`
	Then *Step             `json:"then"`
	Now  *Step             `json:"now"`
	// Outcome is Same, OtherPlan or Undecided.
	Outcome Outcome `json:"outcome"`
	// Reworded says that only the words of a manual step are others.
	Reworded bool `json:"reworded,omitempty"`
}

// Step is one step of a plan.
type Step struct {
	Title string `json:"title"`
	// From and To are absent where they are not known, and in a manual step.
	Target string         `json:"target,omitempty"`
	From   incident.Value `json:"from"`
	To     incident.Value `json:"to"`
	// Refused says why the step can't run.
	Refused string `json:"refused,omitempty"`
	// Open says why the step cannot be worked out.
	Open string `json:"open,omitempty"`
}

// Summary counts incidents by their outcomes.
type Summary struct {
	Incidents      int             `json:"incidents"`
	Investigations int             `json:"investigations"`
	Replayed       int             `json:"replayed"`
	Outcomes       map[Outcome]int `json:"outcomes"`
}

// Count counts.
func Count(all []Incident) Summary {
	out := Summary{Incidents: len(all), Outcomes: map[Outcome]int{}}
	for _, inc := range all {
		out.Outcomes[inc.Outcome]++
		out.Investigations += len(inc.Investigations)
		for _, one := range inc.Investigations {
			if one.Outcome != NotKept {
				out.Replayed++
			}
		}
	}
	return out
}
