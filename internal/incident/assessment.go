package incident

import "slices"

// Health says in one word how a pool is, by what was measured and nothing else: what was not measured is never OK.
type Health string

// The words, the worst first.
const (
	// HealthProblem: a cause was found that asks for a change or for a person.
	HealthProblem Health = "problem"
	// HealthNoData: Prometheus has no metrics of the pool now.
	HealthNoData Health = "no_data"
	// HealthUnread: what decides could not be read, or not told from another pool's.
	HealthUnread Health = "unread"
	// HealthOverTarget: a target is exceeded, and no cause was found that asks for anything.
	HealthOverTarget Health = "over_target"
	// HealthOverLimit: every target that can be measured is met, but some other limit of the playbooks is not.
	HealthOverLimit Health = "over_limit"
	// HealthPartial: nothing that was measured is wrong, and some target was not measured.
	HealthPartial Health = "partial"
	// HealthNoTraffic: no request runs or waits, and none was measured lately.
	HealthNoTraffic Health = "no_traffic"
	// HealthOK: every target is met, and no other limit is known to be exceeded.
	HealthOK Health = "ok"
)

// Healths are all words, the worst first.
func Healths() []Health {
	return []Health{
		HealthProblem, HealthNoData, HealthUnread, HealthOverTarget, HealthOverLimit, HealthPartial, HealthNoTraffic,
		HealthOK,
	}
}

// Worse says whether h is a worse word than other.
func (h Health) Worse(other Health) bool {
	return slices.Index(Healths(), h) < slices.Index(Healths(), other)
}

// Wrong says that somebody has to look: something is bad, or it is not known that nothing is. A word that is not known
// is wrong.
func (h Health) Wrong() bool {
	return !slices.Contains([]Health{HealthPartial, HealthNoTraffic, HealthOK}, h)
}

// Assessment is the health of a pool with what it rests on.
type Assessment struct {
	Health Health `json:"health"`
	// Targets are the targets of the pool's SLO, each as a condition that is true when it is met.
	Targets []Condition `json:"targets"`
	// Excess is the largest ratio of a measured value to its target: 1.5 is half as much again. 0: nothing was measured.
	Excess float64 `json:"excess,omitempty"`
	// Because are the conditions that decided: those that are not met, or, where nothing is bad and not everything is
	// known, those that are undecided. Empty where the diagnosis decided, or there was nothing to measure.
	Because []Condition `json:"because,omitempty"`
	// Why says what could not be read, or why nothing is known; empty elsewhere.
	Why string `json:"why,omitempty"`
	// Note is what a person should know besides: why there is no diagnosis, what cannot be ruled out.
	Note string `json:"note,omitempty"`
}
