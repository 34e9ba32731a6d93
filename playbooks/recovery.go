package playbooks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// recovery is what the recovery rules say together.
type recovery struct {
	answers []healthyAnswer
	// targets are those of the pool that were measured and that no rule above is about.
	targets []incident.Condition
	// lost names the diagnosis of a plan that the catalog does not have any more: nothing can then say that it is over.
	lost string
}

// healthyAnswer is one condition of recovery: healthy when the main rule is true, or the other.
type healthyAnswer struct {
	main  answer
	other *answer
}

// recovery asks the recovery rules of the playbooks that answer the alerts by name, and of the playbook behind a
// diagnosis that asks for a change: treating preemption because of slow first tokens is not over while it goes on.
// Every playbook is asked only where none of these is known: a pool that always has some errors would else never be rid
// of a mitigation, because an alert came with it that nobody knows.
//
// And every target that the pool sets itself and that can be told is met: nothing is fixed for users who still wait
// longer than they are promised. A profile's doesn't count: a pool that nobody has set targets for may always miss it.
func (c *Catalog) recovery(sel selection, chosen *verdict, plannedFor string, f facts, slo incident.SLO) recovery {
	var out recovery
	asked := slices.Clone(sel.named)
	add := func(d *diagnosis) {
		if d.acts() && !slices.Contains(asked, d.owner) {
			asked = append(asked, d.owner)
		}
	}
	if chosen != nil {
		add(chosen.diagnosis)
	}
	if plannedFor != "" {
		i := slices.IndexFunc(c.diagnoses, func(d *diagnosis) bool { return d.name == plannedFor })
		if i < 0 {
			out.lost = plannedFor
		} else {
			add(c.diagnoses[i])
		}
	}
	if len(asked) == 0 {
		asked = sel.answering
	}
	for _, p := range asked {
		for _, h := range p.healthy {
			a := healthyAnswer{main: h.rule.ask(f)}
			if h.or != nil {
				other := h.or.ask(f)
				a.other = &other
			}
			out.answers = append(out.answers, a)
		}
	}
	judged := out.signals()
	targets, _ := c.againstTargets(f)
	for _, t := range targets {
		told := t.Truth != incident.Undecided && !slices.Contains(judged, t.Signal)
		if told && c.setsItself(slo, c.targets[t.Signal]) {
			out.targets = append(out.targets, t)
		}
	}
	return out
}

// truth is "or" by Kleene's rules.
func (h healthyAnswer) truth() incident.Truth {
	switch {
	case h.main.truth == incident.True || h.other != nil && h.other.truth == incident.True:
		return incident.True
	case h.main.truth == incident.Undecided || h.other != nil && h.other.truth == incident.Undecided:
		return incident.Undecided
	default:
		return incident.False
	}
}

// truth is "and" by Kleene's rules. Without any rule it is undecided: nothing was asked.
func (r recovery) truth() incident.Truth {
	out := incident.True
	if len(r.answers) == 0 || r.lost != "" {
		out = incident.Undecided
	}
	for _, h := range r.answers {
		switch h.truth() {
		case incident.False:
			return incident.False
		case incident.Undecided:
			out = incident.Undecided
		case incident.True:
		}
	}
	if slices.ContainsFunc(r.targets, func(t incident.Condition) bool { return t.Truth == incident.False }) {
		return incident.False
	}
	return out
}

// signals are those that must be back within their thresholds.
func (r recovery) signals() []string {
	var out []string
	for _, h := range r.answers {
		for _, name := range h.main.rule.signals {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	for _, t := range r.targets {
		out = append(out, t.Signal)
	}
	return out
}

// conditions are the main rules' conditions. One that does not matter because the other rule holds is shown as true.
func (r recovery) conditions() []incident.Condition {
	var out []incident.Condition
	for _, h := range r.answers {
		excused := h.main.truth != incident.True && h.truth() == incident.True
		for _, c := range h.main.evidence() {
			if excused {
				c.Truth = incident.True
				c.Text += " (or " + h.other.rule.text + ")"
			}
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return append(out, r.targets...)
}

// notes say why recovery cannot be told. That it is not there yet is no news.
func (r recovery) notes() []string {
	if r.truth() != incident.Undecided {
		return nil
	}
	var out []string
	if r.lost != "" {
		out = append(out,
			"Cannot confirm recovery: the diagnosis "+incident.CauseWords(r.lost)+" is no longer in the catalog.")
	}
	var open []string
	for _, h := range r.answers {
		if why := h.main.why(); h.truth() == incident.Undecided && !slices.Contains(open, why) {
			open = append(open, why)
		}
	}
	if len(open) > 0 {
		const most = 3
		text := strings.Join(open[:min(len(open), most)], "; ")
		if len(open) > most {
			text += fmt.Sprintf("; and %d more", len(open)-most)
		}
		out = append(out, "Cannot confirm recovery: "+text+".")
	}
	return out
}
