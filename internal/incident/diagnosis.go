package incident

import (
	"slices"
	"strings"
)

// Diagnosis is a named cause, the rule that chose it, and its evidence.
type Diagnosis struct {
	Playbook string `json:"playbook"`
	Name     string `json:"name"`
	Summary  string `json:"summary"`
	Rule     string `json:"rule"`
	// Headline says in a line what is wrong, with the readings of the moment: "no tokens for 6 min (1 of 1 pods
	// stalled)". Empty where the playbook has no such line, or where one of its values isn't known.
	Headline string `json:"headline,omitempty"`
	// Level is LevelWarning where the cause is no trouble of the pool itself, so that nothing of it is critical; else
	// empty.
	Level string `json:"level,omitempty"`
	// Affected are the pods that it is about, the worst first; Compared is how these differ from the others.
	Affected []AffectedPod `json:"affected,omitempty"`
	Compared []Compared    `json:"compared,omitempty"`
	// Evidence are the conditions of the rule with the values seen.
	Evidence []Condition `json:"evidence"`
	// Healthy names the signals that must be back within their thresholds before the incident counts as recovered.
	Healthy []string `json:"healthy,omitempty"`
	// Doubts are the diagnoses that the evidence does not tell from this one, nearest to the root cause first. No step
	// would make one of them worse.
	Doubts []Doubt `json:"doubts,omitempty"`
	// Never are the changes that would make this worse. "never" in JSON holds their sentences.
	Never []Never `json:"against,omitempty"`
	// Unusual are observations that support or qualify the diagnosis and choose nothing: departures from the pool's own
	// past, signals that move together, recent changes.
	Unusual []string `json:"unusual,omitempty"`
	// Unmatched names the alerts that no playbook is for, so that all playbooks were evaluated.
	Unmatched []string `json:"unmatched,omitempty"`
	// Skipped are steps of the playbook that are not proposed, each with why: "raising max_num_seqs: KV cache 97%, above
	// 90%". A manual step that the readings give no reason for is not among them.
	Skipped []string `json:"skipped,omitempty"`
	// Doc is the path of the runbook page, for example "docs/playbooks/high-ttft.md".
	Doc string `json:"doc,omitempty"`
}

// LevelWarning is the Level of a diagnosis that is about something else than the pool, such as an alert rule.
const LevelWarning = "warning"

// AffectedPod is a pod that a diagnosis is about.
type AffectedPod struct {
	Pod string `json:"pod"`
	// Rank is the data-parallel rank where it is about that one alone, else empty.
	Rank string `json:"rank,omitempty"`
	// Container is the container that ended, where that is what the diagnosis is about.
	Container string `json:"container,omitempty"`
	// Node is the node that it runs on; empty where that is not known.
	Node string `json:"node,omitempty"`
}

// Name is what people call it: "llama-0", or "llama-0 rank 2".
func (p AffectedPod) Name() string { return PodValue{Pod: p.Pod, Rank: p.Rank}.Name() }

// PodWords is "pod f", "pods f and g", "4 pods"; empty for none.
func PodWords(all []AffectedPod) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "pod " + all[0].Name()
	case 2:
		return "pods " + all[0].Name() + " and " + all[1].Name()
	}
	return FormatValue(float64(len(all)), UnitCount) + " pods"
}

// Compared is one quantity of the affected pods beside the others: "TTFT p95", "75.1 s", "0.3 s". Each value is the
// highest of its side.
type Compared struct {
	Label  string `json:"label"`
	Seen   string `json:"seen"`
	Others string `json:"others"`
}

// Cause is what is kept of a diagnosis when the evidence is not: its names, what it says and where its runbook is.
type Cause struct {
	Playbook string `json:"playbook,omitempty"`
	Name     string `json:"name"`
	Summary  string `json:"summary,omitempty"`
	Doc      string `json:"doc,omitempty"`
}

// Cause is the diagnosis without its evidence.
func (d Diagnosis) Cause() Cause {
	return Cause{Playbook: d.Playbook, Name: d.Name, Summary: d.Summary, Doc: d.Doc}
}

// Never is a change that would make it worse.
type Never struct {
	// Change is "raise", "lower", "change" or NeverRestart, and Knob what must not be changed so: "max_num_seqs", "pods".
	Change string `json:"change"`
	Knob   string `json:"knob"`
	// Why is one sentence.
	Why string `json:"why,omitempty"`
}

// NeverRestart is the Change of what must not restart.
const NeverRestart = "restart"

// What is "raise max_num_seqs".
func (n Never) What() string { return strings.TrimSpace(n.Change + " " + n.Knob) }

// String is "raise max_num_seqs: more requests at once lead to preemption".
func (n Never) String() string {
	if n.Why == "" {
		return n.What()
	}
	return n.What() + ": " + n.Why
}

// CauseWords is the name of a diagnosis in a sentence: "abort spike".
func CauseWords(name string) string { return strings.NewReplacer("_", " ", "-", " ").Replace(name) }

// Truth is three-valued: a rule over a missing reading is undecided.
type Truth string

// The truth values.
const (
	True      Truth = "true"
	False     Truth = "false"
	Undecided Truth = "undecided"
)

// Relation says how a value has to lie to a threshold for a condition to hold.
type Relation string

// The relations.
const (
	RelationAbove   Relation = "above"
	RelationAtLeast Relation = "at_least"
	RelationBelow   Relation = "below"
	RelationAtMost  Relation = "at_most"
	// Without a threshold: there is a value, or there is none.
	RelationPresent Relation = "present"
	RelationAbsent  Relation = "absent"
)

// Condition is one part of a rule with the value seen.
type Condition struct {
	// Text is the condition as written in the playbook, for its author. Everybody else reads the other fields.
	Text   string `json:"text"`
	Truth  Truth  `json:"truth"`
	Signal string `json:"signal,omitempty"`
	// Label is what messages call what was compared: "TTFT p95", "half of TTFT p95". Conditions of older versions
	// have none.
	Label string `json:"label,omitempty"`
	// Seen is the value as a person reads it: "7.2 s", "≤ 300 ms", "32,768 tokens", "no data". SeenValue is the same for
	// programs; absent where there is no value, and in conditions of older versions.
	Seen      string `json:"seen,omitempty"`
	SeenValue Amount `json:"seenValue,omitzero"`
	// Relation is empty in conditions of older versions.
	Relation Relation `json:"relation,omitempty"`
	// Threshold is the other side as a person reads it, with its name where it was measured too, and ThresholdValue the
	// same for programs; absent where the condition compares with nothing, or with what has no value.
	Threshold      string `json:"threshold,omitempty"`
	ThresholdValue Amount `json:"thresholdValue,omitzero"`
	ThresholdFrom  Origin `json:"thresholdFrom,omitempty"`
}

// Amount is a number with its unit, for programs.
type Amount struct {
	Value float64 `json:"value"`
	// Bound says that the exact value is not known, as in Reading.
	Bound Bound `json:"bound,omitempty"`
	Unit  Unit  `json:"unit"`
}

// Doubt is a diagnosis that explains the evidence about as well as the chosen one, with what would tell the two apart.
type Doubt struct {
	Kind    DoubtKind `json:"kind"`
	Name    string    `json:"name"`
	Summary string    `json:"summary"`
	// Conditions are those that decide between the two: near their limits, or without a value. Of one that holds as well
	// they are those that speak for it.
	Conditions []Condition `json:"conditions,omitempty"`
}

// DoubtKind says why there is a doubt.
type DoubtKind string

// The kinds of doubts.
const (
	// DoubtNear: a reading within a tenth of its limit would have led to the other diagnosis.
	DoubtNear DoubtKind = "near"
	// DoubtMissing: a reading without a value may lead to the other diagnosis.
	DoubtMissing DoubtKind = "missing"
	// DoubtBoth: the other diagnosis holds as well, and neither brings about the other.
	DoubtBoth DoubtKind = "both"
)

// Other is a diagnosis that was considered and not chosen.
type Other struct {
	Name    string `json:"name"`
	Verdict Truth  `json:"verdict"`
	Why     string `json:"why"`
	// Missing are the signals whose readings are missing, where the verdict is open for them.
	Missing []string `json:"missing,omitempty"`
	// Symptom says that the chosen diagnosis explains this one, where both hold.
	Symptom bool `json:"symptom,omitempty"`
	// NotEvaluated says why a part of the cluster was not examined, where the verdict is open for that reason alone.
	NotEvaluated string `json:"notLookedAt,omitempty"`
}

// NotEvaluated are diagnoses that are open for the same reason: a part of the cluster was not examined.
type NotEvaluated struct {
	// Why is the reason, without a full stop.
	Why   string
	Names []string
}

// SplitNotEvaluated separates the diagnoses that are open only because a part of the cluster was not examined, grouped
// by the reason, so that it is shown once and not for each. others is not changed.
func SplitNotEvaluated(others []Other) (rest []Other, notEvaluated []NotEvaluated) {
	for _, o := range others {
		if o.NotEvaluated == "" {
			rest = append(rest, o)
			continue
		}
		i := slices.IndexFunc(notEvaluated, func(u NotEvaluated) bool { return u.Why == o.NotEvaluated })
		if i < 0 {
			i, notEvaluated = len(notEvaluated), append(notEvaluated, NotEvaluated{Why: o.NotEvaluated})
		}
		notEvaluated[i].Names = append(notEvaluated[i].Names, o.Name)
	}
	return rest, notEvaluated
}
