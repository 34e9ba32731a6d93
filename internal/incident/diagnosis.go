package incident

// Diagnosis is a named cause, the rule that chose it, and its evidence.
type Diagnosis struct {
	Playbook string `json:"playbook"`
	Name     string `json:"name"`
	Summary  string `json:"summary"`
	Rule     string `json:"rule"`
	// Evidence are the conditions of the rule with the values seen.
	Evidence []Condition `json:"evidence"`
	// Healthy names the signals that must be back within their thresholds before the incident counts as recovered.
	Healthy []string `json:"healthy,omitempty"`
	// Never are the changes that would make this worse, in words.
	Never []string `json:"never,omitempty"`
	// Unusual are observations that support or qualify the diagnosis and choose nothing: departures from the pool's own past, signals that
	// move together, recent changes.
	Unusual []string `json:"unusual,omitempty"`
	// Doc is the path of the runbook page, for example "docs/playbooks/high-ttft.md".
	Doc string `json:"doc,omitempty"`
}

// Truth is three-valued: a rule over a missing reading is undecided.
type Truth string

// The truth values.
const (
	True      Truth = "true"
	False     Truth = "false"
	Undecided Truth = "undecided"
)

// Condition is one part of a rule with the value seen.
type Condition struct {
	// Text is the condition as written in the playbook.
	Text   string `json:"text"`
	Truth  Truth  `json:"truth"`
	Signal string `json:"signal,omitempty"`
	// Seen is the value as a person reads it: "7.2 s", "at most 0.3 s", "no data".
	Seen string `json:"seen,omitempty"`
	// Threshold is the other side as a person reads it.
	Threshold string `json:"threshold,omitempty"`
}

// Other is a diagnosis that was looked at and not chosen.
type Other struct {
	Name    string `json:"name"`
	Verdict Truth  `json:"verdict"`
	Why     string `json:"why"`
}
