package playbooks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Input is what Diagnose looks at.
type Input struct {
	// Alerts are the alerts of the incident, resolved ones included. Without any, every playbook is asked.
	Alerts   []incident.Alert
	Pool     incident.Pool
	Evidence incident.Evidence
	// PlannedFor is the name of the diagnosis that the incident's plan is for; empty when there is none. The trouble is
	// over only when the playbook of that diagnosis says so too, also when the diagnosis does not hold any more.
	PlannedFor string
}

// Result is what the readings say.
type Result struct {
	// Diagnosis is the one nearest to the root cause among those that hold and that have to do with the alerts; nil when
	// none holds. Note then says why.
	Diagnosis *incident.Diagnosis
	// Acts says that the diagnosis asks for a change or for a person; false also without one.
	Acts bool
	// Targets are the pool's targets with what was measured, each true when it is met. A pool without targets has none.
	Targets []incident.Condition
	// Excess is the largest ratio of a measured value to its target; 0 where nothing was measured.
	Excess float64
	// Others are the other diagnoses that were weighed, nearest to the root cause first.
	Others []incident.Other
	// Steps are the steps for the diagnosis in their order, before anything of the cluster is known.
	Steps []incident.StepRequest
	// Unusual are observations that support or qualify what is said and choose nothing.
	Unusual []string
	// Healthy says whether the trouble is over: true only when every recovery rule is true, false when one is false.
	Healthy incident.Truth
	// Recovery are the conditions of the recovery rules with the values seen.
	Recovery []incident.Condition
	// Note is what a person should know besides: nothing holds, readings are missing, a step was left out.
	Note string
	// Readings are the readings of the evidence, with the thresholds that rules or targets give them.
	Readings map[string]incident.Reading
}

// verdict is one diagnosis with what its rule said.
type verdict struct {
	diagnosis *diagnosis
	answer    answer
}

// Diagnose weighs every diagnosis that the alerts lead to. It never fails: what cannot be told is undecided, and said.
func (c *Catalog) Diagnose(in Input) Result {
	sel := c.selection(alertNames(in.Alerts), in.Pool.SLO)
	f := c.factsOf(in.Evidence, in.Pool.SLO)
	verdicts := make([]verdict, 0, len(sel.diagnoses))
	for _, d := range sel.diagnoses {
		verdicts = append(verdicts, verdict{diagnosis: d, answer: d.when.ask(f)})
	}
	chosen := choose(verdicts, sel)
	in.Evidence.Readings = c.withOwn(in, sel)
	rec := c.recovery(sel, chosen, in.PlannedFor, f, in.Pool.SLO)
	out := Result{
		Others:   c.markUnexamined(others(verdicts, chosen), verdicts, in.Evidence, f),
		Healthy:  rec.truth(),
		Recovery: rec.conditions(),
		Readings: c.thresholds(in, f, chosen, rec),
	}
	out.Targets, out.Excess = c.againstTargets(f)
	out.Unusual = c.unusual(in.Evidence)
	notes := deadNotes(in.Evidence)
	if in.Evidence.Absent != "" {
		notes = append([]string{"Nothing is known of this pool: " + sentence(in.Evidence.Absent)}, notes...)
	}
	if chosen == nil {
		out.Note = joinNotes(sel.notes(), append(notes, c.undiagnosed(verdicts, f)...), c.furthest(out.Readings),
			out.Unusual[:min(len(out.Unusual), mostChanges)], rec.notes())
		return out
	}
	rivals := c.rivals(verdicts, chosen, sel, f)
	d := chosen.diagnosis
	out.Diagnosis = &incident.Diagnosis{
		Playbook: d.owner.name, Name: d.name, Summary: d.summary, Rule: d.when.text, Doc: d.owner.doc,
		Evidence: c.namePods(chosen.answer.evidence(), out.Readings), Healthy: rec.signals(), Unusual: out.Unusual,
		Unmatched: sel.unmatched(),
	}
	for _, r := range rivals {
		out.Diagnosis.Doubts = append(out.Diagnosis.Doubts, c.doubt(r, chosen))
	}
	out.Diagnosis.Affected = c.affectedPods(chosen, in.Evidence, out.Readings)
	out.Diagnosis.Compared = c.comparedPods(d, in.Evidence, out.Diagnosis.Affected)
	out.Diagnosis.Level = d.level
	out.Diagnosis.Headline = found{
		catalog: c, evidence: in.Evidence, readings: out.Readings, affected: out.Diagnosis.Affected, compare: d.compare,
	}.headline(d.headline)
	out.Acts = d.acts()
	for _, n := range slices.Concat(d.never, d.owner.never) {
		fact := n.fact()
		if n.knob == knobRestart && len(out.Diagnosis.Affected) > 0 { // the advice says what to do with these
			fact.Knob = "the other pods"
		}
		out.Diagnosis.Never = append(out.Diagnosis.Never, fact)
	}
	var steps []incident.StepRequest
	steps, out.Diagnosis.Skipped = proposed(d, sel, f, rivals)
	known := namesFor(in.Pool, in.Evidence, out.Diagnosis.Affected)
	for i, s := range steps {
		steps[i].Advice = c.filled(s.Advice, out.Readings)
		steps[i].Commands = known.fillAll(s.Commands)
	}
	out.Steps = steps
	if !d.acts() {
		notes = append(notes, sel.nothingToDo()+sentence(d.noAction))
	}
	notes = append(notes, besides(verdicts, chosen, sel, f)...)
	notes = append(notes, deeper(verdicts, chosen)...)
	out.Note = joinNotes(notes, rec.notes())
	return out
}

// withOwn adds the readings that the catalog works out itself, as far as something asks for them.
func (c *Catalog) withOwn(in Input, sel selection) map[string]incident.Reading {
	out := maps.Clone(in.Evidence.Readings)
	if out == nil {
		out = map[string]incident.Reading{}
	}
	wanted := sel.signals()
	for name, r := range c.own(in.Evidence, in.Pool.SLO) {
		if wanted[name] {
			out[name] = r
		}
	}
	return out
}

// proposed are the steps of a diagnosis, without those whose own rule does not hold, those that an alert's playbook
// forbids, and those that would make it worse if one of the rivals were the cause: those are skipped, with the reasons.
func proposed(
	d *diagnosis, sel selection, f facts, rivals []rival,
) (steps []incident.StepRequest, skipped []string) {
	ownerAnswers := slices.Contains(sel.named, d.owner)
	for _, s := range d.steps {
		if s.condition != nil {
			if a := s.condition.ask(f); a.truth != incident.True {
				// Advice that the readings give no reason for is none of the answer: there is other advice for that case.
				if s.request.Kind != incident.StepManual || a.truth == incident.Undecided {
					skipped = append(skipped, stepWords(s.request)+": "+a.why())
				}
				continue
			}
		}
		if n := forbidding(sel, s.request, ownerAnswers); n != nil {
			skipped = append(skipped,
				stepWords(s.request)+": the alert's playbook says never to "+strings.TrimSuffix(n.fact().String(), "."))
			continue
		}
		if r, n := forbiddingRival(rivals, s.request); n != nil {
			skipped = append(skipped, stepWords(s.request)+": it could also be "+incident.CauseWords(r.diagnosis.name)+
				", and then never "+strings.TrimSuffix(n.fact().String(), "."))
			continue
		}
		steps = append(steps, s.sized(f))
	}
	return steps, skipped
}

// forbidding finds what an alert's playbook says never to do to the knob itself; that holds whichever playbook owns the
// step. A restart is what a step costs and not what it is for: where the owner of the diagnosis answers one of the
// alerts itself, it alone weighs that cost.
func forbidding(sel selection, s incident.StepRequest, ownerAnswers bool) *never {
	for _, p := range sel.named {
		for i := range p.never {
			if n := &p.never[i]; n.forbids(s) && (n.knob != knobRestart || !ownerAnswers) {
				return n
			}
		}
	}
	return nil
}

func stepWords(s incident.StepRequest) string {
	if s.Kind == incident.StepManual {
		return "a manual step"
	}
	if knob, ok := s.Kind.Knob(); ok {
		return knob.Doing(s)
	}
	return string(s.Kind)
}

// nothingToDo begins the sentence for a diagnosis without action. About an alert that no playbook knows, more must not
// be claimed than was looked at.
func (s selection) nothingToDo() string {
	if len(s.unknown) > 0 {
		return "No action needed, as far as vLLM's metrics show: "
	}
	return "No action needed: "
}

func (s selection) notes() []string {
	if len(s.unknown) == 0 {
		return nil
	}
	return []string{"No playbook matches " + strings.Join(s.unmatched(), ", ") + "; all playbooks were evaluated."}
}

// unmatched names the alerts that no playbook is for.
func (s selection) unmatched() []string {
	var names []string
	for _, n := range s.unknown {
		names = append(names, cmp.Or(n, "(without a name)"))
	}
	return names
}

// undiagnosed says why there is no diagnosis: none holds, or it cannot be told.
func (c *Catalog) undiagnosed(verdicts []verdict, f facts) []string {
	var open, names []string
	for _, v := range verdicts {
		missing := v.answer.missing()
		if v.answer.truth != incident.Undecided {
			doubt, ok := v.inDoubt(f)
			if !ok {
				continue
			}
			missing = doubt.lacks()
		}
		open = append(open, incident.CauseWords(v.diagnosis.name))
		for _, name := range missing {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	missing := c.byReason(names, f)
	switch {
	case len(open) == 0:
		return []string{"No known cause: no diagnosis matches."}
	case len(missing) == 0:
		return []string{"Cannot determine the cause: " + strings.Join(open, ", ") +
			" undecided because a reading is only a bound or a target is missing."}
	default:
		return []string{"Cannot determine the cause. Missing readings: " + strings.Join(missing, "; ") + ". Could be " +
			few(open) + "."}
	}
}

// byReason lists names with why they are missing, each reason once: with Prometheus away it is the same long one for
// all.
func (c *Catalog) byReason(names []string, f facts) []string {
	var out []string
	for n, name := range names {
		why := f[name].why
		alike := func(o string) bool { return f[o].why == why }
		if slices.ContainsFunc(names[:n], alike) {
			continue
		}
		same := []string{name}
		for _, o := range names[n+1:] {
			if alike(o) {
				same = append(same, o)
			}
		}
		out = append(out, few(c.labels(same))+" ("+why+")")
	}
	return out
}

// labels are what people call signals.
func (c *Catalog) labels(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, cmp.Or(c.byName[name].Label(), name))
	}
	return out
}

// few names the first of a long list: the readings themselves stand in the incident, each with its error.
func few(names []string) string {
	const most = 4
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// deeper names the diagnoses nearer to the root cause than the chosen one that cannot be ruled out.
func deeper(verdicts []verdict, chosen *verdict) []string {
	var out []string
	for _, v := range verdicts {
		if v.diagnosis == chosen.diagnosis {
			break
		}
		if v.answer.truth == incident.Undecided {
			out = append(out, "Can't rule out a deeper cause: "+incident.CauseWords(v.diagnosis.name)+" ("+v.answer.why()+").")
		}
	}
	return out
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func joinNotes(groups ...[]string) string {
	return strings.Join(slices.Concat(groups...), " ")
}

// thresholds copies the readings and puts in what each is measured against: the pool's target, which counts whatever
// number a rule compares with; else what the chosen rule says in the bad direction, else the recovery rules, else what
// the chosen rule says in the other direction. Neutral signals have none.
func (c *Catalog) thresholds(in Input, f facts, chosen *verdict, rec recovery) map[string]incident.Reading {
	out := maps.Clone(in.Evidence.Readings)
	found := map[string]threshold{}
	keep := func(name string, t threshold) {
		if _, ok := found[name]; !ok {
			found[name] = t
		}
	}
	for name, target := range c.targets {
		if v, ok := f["slo."+target].exact(); ok {
			keep(name, threshold{v, incident.OriginSLO})
		}
	}
	if chosen != nil {
		chosen.answer.thresholds(c.badly, keep)
	}
	for _, h := range rec.answers {
		h.main.thresholds(c.judged, keep)
	}
	if chosen != nil {
		chosen.answer.thresholds(c.judged, keep)
	}
	for name, r := range out {
		r.Threshold, r.ThresholdFrom = nil, incident.OriginRule
		if t, ok := found[name]; ok {
			r.Threshold, r.ThresholdFrom = &t.value, t.from
		}
		out[name] = r
	}
	return out
}

// judged accepts every comparison of a signal that has a good and a bad side.
func (c *Catalog) judged(s shape) bool { return c.byName[s.left.signal].Direction != incident.Neutral }

// badly accepts a comparison that is true when the signal is bad.
func (c *Catalog) badly(s shape) bool {
	switch c.byName[s.left.signal].Direction {
	case incident.HigherIsWorse:
		return upward(s.op)
	case incident.LowerIsWorse:
		return !upward(s.op)
	case incident.Neutral:
		return false
	default:
		return false
	}
}

// threshold is a number that a signal is compared with, and where it comes from.
type threshold struct {
	value float64
	from  incident.Origin
}

// thresholds gives the number that each signal is compared with, where it is a number or a target.
func (a answer) thresholds(accept func(shape) bool, keep func(string, threshold)) {
	for _, c := range a.rule.conditions {
		if c.kind != shapeCompare || !c.left.plain || c.left.signal == "" || c.right.signal != "" || !accept(c) {
			continue
		}
		if v, ok := a.quantityOf(c.right).exact(); ok {
			keep(c.left.signal, threshold{v, a.origin(c.right)})
		}
	}
}
