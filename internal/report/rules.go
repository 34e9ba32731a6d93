package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// leastNoise is in how many incidents a rule must have fired before anything is said of it.
const leastNoise = 3

// ruleCount is a Rule in the making.
type ruleCount struct {
	Rule

	with map[string]int
}

// addRules counts the incident for each rule that fired in it. Whether it was a dry run makes no difference to a rule.
func (b *Builder) addRules(e episode) {
	names := slices.DeleteFunc(e.inc.AlertNames(), func(name string) bool { return name == incident.TestAlertName })
	for _, name := range names {
		r := of(b.rules, name, func() *ruleCount { return &ruleCount{Rule{Name: name}, map[string]int{}} })
		r.Incidents++
		if len(names) == 1 && e.inc.AlertsLeftOut == 0 {
			r.Alone++
		}
		for _, other := range names {
			if other != name {
				r.with[other]++
			}
		}
		if e.inc.Open() {
			continue
		}
		r.Closed++
		if e.byItself() && e.recovered.Sub(e.inc.OpenedAt) <= Quickly {
			r.Quick++
		}
		if e.unexplained() {
			r.Unexplained++
		}
	}
}

// ruleList is every rule, with why it is noise, if it is.
func (b *Builder) ruleList() []Rule {
	out := []Rule{}
	for _, c := range b.rules {
		r := c.Rule
		for other, n := range c.with {
			if m := c.with[r.With]; n > m || n == m && (r.With == "" || other < r.With) {
				r.With = other
			}
		}
		r.Noise = r.noise(b.rules)
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y Rule) int {
		return cmp.Or(cmp.Compare(y.Incidents, x.Incidents), strings.Compare(x.Name, y.Name))
	})
	return out
}

// noise says what most of the incidents of a rule came to. Of a few incidents it says nothing, and of two rules that
// never fire without each other only the one that fires less, or comes later in the alphabet, is too many.
func (r Rule) noise(all map[string]*ruleCount) []Noise {
	out := []Noise{}
	if r.Closed >= leastNoise && 2*r.Quick > r.Closed {
		out = append(out, NoiseQuick)
	}
	if r.Closed >= leastNoise && 2*r.Unexplained > r.Closed {
		out = append(out, NoiseUnexplained)
	}
	if r.Incidents >= leastNoise && r.Alone == 0 && all[r.Name].with[r.With] == r.Incidents {
		with := all[r.With].Rule
		if with.Incidents > r.Incidents || with.Name < r.Name {
			out = append(out, NoiseNeverAlone)
		}
	}
	return out
}
