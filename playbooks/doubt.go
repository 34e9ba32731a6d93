package playbooks

import (
	"maps"
	"math"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// narrow is how near a reading may lie to a limit until an answer hangs on it: as a share of the limit. A tenth is our
// starting value; vLLM's buckets and five-minute rates are no finer.
const narrow = 0.1

// rival is a diagnosis that explains the evidence about as well as the chosen one.
type rival struct {
	diagnosis *diagnosis
	kind      incident.DoubtKind
	// signals are those of which each alone would make it the answer: a tenth smaller or larger, or if they had a value.
	// Of one that holds as well there are none.
	signals []string
	answer  answer
}

// rivals are the diagnoses that the evidence does not tell from the chosen one, nearest to the root cause first.
func (c *Catalog) rivals(verdicts []verdict, chosen *verdict, sel selection, f facts) []rival {
	if !chosen.diagnosis.tells() {
		return nil
	}
	near := c.byAHair(verdicts, chosen, sel, f)
	h := holding{list: thatHold(verdicts), sel: sel}
	var out []rival
	for i, v := range verdicts {
		d := v.diagnosis
		r := rival{diagnosis: d, answer: v.answer}
		switch {
		case d == chosen.diagnosis || !d.tells():
			continue
		case len(near[d]) > 0:
			r.kind, r.signals = incident.DoubtNear, near[d]
		case v.answer.truth == incident.Undecided && wouldWin(verdicts, i, sel):
			r.kind, r.signals = incident.DoubtMissing, v.answer.missing()
		case h.besides(d, chosen.diagnosis) && d.acts() && h.related(d) && (chosen.diagnosis.turns() || !d.turns()):
			r.kind = incident.DoubtBoth
		default:
			open, ok := v.inDoubt(f)
			if !ok || !wouldWin(verdicts, i, sel) {
				continue
			}
			r.kind, r.answer, r.signals = incident.DoubtMissing, open, open.lacks()
		}
		out = append(out, r)
	}
	return out
}

// byAHair finds what the answer would be if one reading that lies near a limit lay beyond it, with those readings. What
// the chosen diagnosis explains is no other cause.
func (c *Catalog) byAHair(verdicts []verdict, chosen *verdict, sel selection, f facts) map[*diagnosis][]string {
	h := holding{list: thatHold(verdicts), sel: sel}
	out := map[*diagnosis][]string{}
	for _, name := range c.nearLimits(verdicts) {
		for _, by := range []float64{1 - narrow, 1 + narrow} {
			moved := maps.Clone(f)
			moved[name] = f[name].nudged(by)
			v := choose(askAgain(verdicts, moved, name), sel)
			if v == nil || v.diagnosis == chosen.diagnosis || h.explains(chosen.diagnosis, v.diagnosis) ||
				slices.Contains(out[v.diagnosis], name) {
				continue
			}
			out[v.diagnosis] = append(out[v.diagnosis], name)
		}
	}
	return out
}

// inDoubt says that a diagnosis whose rule is false may be the cause all the same: what speaks for it holds, and with a
// value for what has no data its rule could be true.
func (v verdict) inDoubt(f facts) (answer, bool) {
	d := v.diagnosis
	if v.answer.truth != incident.False || d.inDoubt == nil {
		return answer{}, false
	}
	a := d.inDoubt.ask(f)
	lacks := a.lacks()
	if a.truth != incident.True || len(lacks) == 0 {
		return a, false
	}
	return a, d.when.ask(f.without(lacks)).truth == incident.Undecided
}

// wouldWin says that an open diagnosis would be the answer if its rule were true.
func wouldWin(verdicts []verdict, i int, sel selection) bool {
	with := slices.Clone(verdicts)
	with[i].answer.truth = incident.True
	return choose(with, sel).diagnosis == verdicts[i].diagnosis
}

// doubt is a rival as people are told of it: with the conditions that would tell it from the chosen diagnosis, or that
// speak for it where it holds as well.
func (c *Catalog) doubt(r rival, chosen *verdict) incident.Doubt {
	out := incident.Doubt{Kind: r.kind, Name: r.diagnosis.name, Summary: r.diagnosis.summary}
	bad, told := map[string]bool{}, map[string]bool{}
	for _, s := range r.answer.rule.conditions {
		bad[s.text] = s.kind == shapeCompare && c.badly(s)
	}
	for _, cond := range slices.Concat(r.answer.evidence(), chosen.answer.evidence()) {
		wanted := slices.Contains(r.signals, cond.Signal) && (r.kind == incident.DoubtMissing || cond.Threshold != "")
		if r.kind == incident.DoubtBoth {
			wanted = cond.Truth == incident.True && bad[cond.Text] && !chosen.rests(cond.Signal)
		}
		if wanted && !told[cond.Signal] {
			told[cond.Signal] = true
			out.Conditions = append(out.Conditions, cond)
		}
	}
	return out
}

// rests says that the rule of a verdict reads a signal.
func (v *verdict) rests(signal string) bool {
	return slices.Contains(v.diagnosis.when.signals, signal)
}

// tells says that a diagnosis is a cause, as opposed to the finding that nothing is wrong.
func (d *diagnosis) tells() bool { return d.acts() || len(d.explains) > 0 }

// nearLimits are the signals that lie near what a rule compares them with. How far a target is missed says how bad it
// is and not why.
func (c *Catalog) nearLimits(verdicts []verdict) []string {
	var out []string
	for _, v := range verdicts {
		for _, s := range v.answer.rule.conditions {
			name := s.left.signal
			if _, target := c.targets[name]; s.kind != shapeCompare || name == "" || target || slices.Contains(out, name) {
				continue
			}
			left, ok := v.answer.quantityOf(s.left).exact()
			few := left < 1/narrow && s.left.unit == incident.UnitCount // a pod more is another thing than a tenth of one
			right, known := v.answer.quantityOf(s.right).exact()
			if ok && known && !few && math.Abs(left-right) <= narrow*math.Abs(right) {
				out = append(out, name)
			}
		}
	}
	return out
}

// askAgain asks those rules that read a signal once more.
func askAgain(verdicts []verdict, f facts, name string) []verdict {
	out := slices.Clone(verdicts)
	for i, v := range out {
		if slices.Contains(v.diagnosis.when.signals, name) {
			out[i].answer = v.diagnosis.when.ask(f)
		}
	}
	return out
}

// nudged is the quantity if it were larger by a factor. Of a share that is nearly the whole, what is left of it is: 96%
// and 98% are far apart.
func (q quantity) nudged(by float64) quantity {
	if v, ok := q.exact(); ok && q.unit == incident.UnitRatio && v > 0.5 && v <= 1 {
		q.lo = 1 - (1-v)*by
		q.hi = q.lo
		return q
	}
	return q.times(by)
}

// forbiddingRival finds a rival that a step would make worse. What only a missing reading speaks for does not forbid:
// some versions of vLLM never have it, and whoever decides is told.
func forbiddingRival(rivals []rival, s incident.StepRequest) (rival, *never) {
	for _, r := range rivals {
		if r.kind == incident.DoubtMissing {
			continue
		}
		all := slices.Concat(r.diagnosis.never, r.diagnosis.owner.never)
		if i := slices.IndexFunc(all, func(n never) bool { return n.forbids(s) }); i >= 0 {
			return r, &all[i]
		}
	}
	return rival{}, nil
}
