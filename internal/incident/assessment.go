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

// Measured is what the health of a pool follows from: what was read, and what it means.
type Measured struct {
	Readings map[string]Reading
	// Absent says why Prometheus has no metrics of the pool now; empty when it has some, or could not be asked.
	Absent string
	// Targets are the pool's targets, each true when it is met, and Excess as in Assessment.
	Targets []Condition
	Excess  float64
	// Limits are the conditions of the playbooks' other limits, and Healthy whether they are kept. A look that asks for
	// targets alone has none.
	Limits  []Condition
	Healthy Truth
	// Acts says that a cause was found that asks for a change or for a person.
	Acts bool
}

// Assess says how a pool is. What was not measured is never OK.
func Assess(m Measured) Assessment {
	out := Assessment{Targets: append([]Condition{}, m.Targets...), Excess: m.Excess}
	missed, open := that(m.Targets, False), that(m.Targets, Undecided)
	failed := m.firstError(slices.Concat(open, that(m.Limits, Undecided)))
	switch {
	case m.Acts:
		out.Health = HealthProblem
	case m.Absent != "":
		out.Health, out.Why = HealthNoData, m.Absent
	case len(missed) > 0:
		out.Health, out.Because = HealthOverTarget, missed
	case m.Healthy == False:
		out.Health, out.Because = HealthOverLimit, that(m.Limits, False)
	case failed != "":
		out.Health, out.Why = HealthUnread, failed
	case m.quiet(open):
		out.Health = HealthNoTraffic
	case len(open) > 0 || len(m.Targets) == 0:
		out.Health, out.Because = HealthPartial, open
	default:
		out.Health = HealthOK
	}
	return out
}

// quiet says that nothing runs or waits, and that no target was measured because nothing was.
func (m Measured) quiet(open []Condition) bool {
	for _, name := range []string{SignalRunning, SignalWaiting} {
		r := m.Readings[name]
		if !r.HasValue() || r.Bound != Exact || *r.Value != 0 {
			return false
		}
	}
	return len(open) == len(m.Targets)
}

// firstError is why one of these conditions is undecided: the error of its reading. It is empty when the answer was
// that there is no data.
func (m Measured) firstError(open []Condition) string {
	for _, c := range open {
		if r := m.Readings[c.Signal]; r.Error != "" {
			return r.Error
		}
	}
	return ""
}

func that(all []Condition, t Truth) []Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c Condition) bool { return c.Truth != t })
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
