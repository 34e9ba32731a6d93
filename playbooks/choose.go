package playbooks

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// holding are the verdicts that are true, nearest to the root cause first, and what the alerts lead to.
type holding struct {
	list []verdict
	sel  selection
}

// choose picks among the diagnoses that hold. They come by rank, and the first is taken unless another has the better
// claim: the rank says which of two is nearer to the root cause when one brings about the other, and nothing about two
// that have nothing to do with each other.
func choose(verdicts []verdict, sel selection) *verdict {
	h := holding{list: thatHold(verdicts), sel: sel}
	// What a true diagnosis explains is never chosen before it, also where that one must stand back itself.
	for _, ok := range []func(*diagnosis) bool{
		func(d *diagnosis) bool { return !h.beaten(d) && !h.explained(d) },
		func(d *diagnosis) bool { return !h.beaten(d) },
		func(*diagnosis) bool { return true },
	} {
		if i := slices.IndexFunc(h.list, func(v verdict) bool { return ok(v.diagnosis) }); i >= 0 {
			return &h.list[i]
		}
	}
	return nil
}

func thatHold(verdicts []verdict) []verdict {
	return slices.DeleteFunc(slices.Clone(verdicts), func(v verdict) bool { return v.answer.truth != incident.True })
}

// beaten says that another diagnosis that holds has the better claim: "wait, nothing is to be done" never stands before
// a trouble that it does not bring about, and what only a person can do about something that the alerts are not about
// does not stand before what they are about, nor before the wait for that.
func (h holding) beaten(d *diagnosis) bool {
	return slices.ContainsFunc(h.list, func(rival verdict) bool {
		e := rival.diagnosis
		if e == d || !e.acts() || h.explains(d, e) {
			return false
		}
		return !d.acts() && (e.turns() || h.related(e)) || !d.turns() && !h.related(d) && h.sel.reached[e]
	})
}

// related says that the alerts lead to a diagnosis, or to something that it explains.
func (h holding) related(d *diagnosis) bool {
	return h.sel.reached[d] ||
		slices.ContainsFunc(h.list, func(v verdict) bool { return h.sel.reached[v.diagnosis] && h.explains(d, v.diagnosis) })
}

func (h holding) explained(d *diagnosis) bool {
	return slices.ContainsFunc(h.list, func(v verdict) bool { return v.diagnosis != d && h.explains(v.diagnosis, d) })
}

// explains says that a cause brings about a symptom, by itself or through something else that holds. Ranks rise from
// cause to symptom, so it ends.
func (h holding) explains(cause, symptom *diagnosis) bool {
	if slices.Contains(cause.explains, symptom.name) {
		return true
	}
	return slices.ContainsFunc(h.list, func(v verdict) bool {
		return slices.Contains(cause.explains, v.diagnosis.name) && h.explains(v.diagnosis, symptom)
	})
}

// besides says that a diagnosis holds as well as the chosen one, and that neither that nor another explains it.
func (h holding) besides(d, chosen *diagnosis) bool {
	return d != chosen && !h.explained(d) && slices.ContainsFunc(h.list, func(v verdict) bool { return v.diagnosis == d })
}

// turns says that a step of the diagnosis turns a knob, as opposed to what a person does.
func (d *diagnosis) turns() bool {
	return slices.ContainsFunc(d.steps, func(s step) bool { return s.request.Kind != incident.StepManual })
}

func others(verdicts []verdict, chosen *verdict) []incident.Other {
	h := holding{list: thatHold(verdicts)}
	var out []incident.Other
	of := ""
	if chosen != nil {
		of = incident.CauseWords(chosen.diagnosis.name)
	}
	for _, v := range verdicts {
		if chosen != nil && v.diagnosis == chosen.diagnosis {
			continue
		}
		o := incident.Other{Name: v.diagnosis.name, Verdict: v.answer.truth, Why: v.answer.why()}
		if o.Verdict == incident.Undecided {
			o.Missing = v.answer.missing()
		}
		if v.answer.truth == incident.True {
			switch {
			case h.explains(chosen.diagnosis, v.diagnosis):
				o.Symptom = true
				o.Why = "symptom of " + of + " (" + o.Why + ")"
			case h.explains(v.diagnosis, chosen.diagnosis):
				o.Why = "also true and maybe the cause of " + of + ", but needs no action (" + o.Why + ")"
			default:
				o.Why = "also true, independent of " + of + " (" + o.Why + ")"
			}
		}
		out = append(out, o)
	}
	return out
}

// besides names what holds independently of a chosen diagnosis that turns no knob now, and would turn one. Its plan is
// left to the person, who must see it. What could not be proposed, or would make the chosen one worse, does not help.
func besides(verdicts []verdict, chosen *verdict, sel selection, f facts) []string {
	own, _ := proposed(chosen.diagnosis, sel, f, nil)
	if slices.ContainsFunc(own, func(s incident.StepRequest) bool { return s.Kind != incident.StepManual }) {
		return nil
	}
	h := holding{list: thatHold(verdicts)}
	worse := slices.Concat(chosen.diagnosis.never, chosen.diagnosis.owner.never)
	var out []string
	for _, v := range h.list {
		d := v.diagnosis
		if !d.turns() || !h.besides(d, chosen.diagnosis) {
			continue
		}
		steps, _ := proposed(d, sel, f, nil)
		var words []string
		for _, s := range steps {
			if s.Kind != incident.StepManual && !slices.ContainsFunc(worse, func(n never) bool { return n.forbids(s) }) {
				words = append(words, stepWords(s))
			}
		}
		if len(words) > 0 {
			out = append(out, "Also true, independently: "+incident.CauseWords(d.name)+". For that, consider "+
				strings.Join(words, ", ")+".")
		}
	}
	return out
}
