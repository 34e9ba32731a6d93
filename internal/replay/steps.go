package replay

import (
	"cmp"
	"slices"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// worker works steps out as they would have been, from what was known then.
type worker struct {
	settings   Settings
	inc        incident.Incident
	then       look
	pool       incident.Pool
	configured bool
}

// pairs puts the steps of both plans beside each other. Steps that only a signal which was not read could bring are
// open.
func (w worker) pairs(now playbooks.Replayed) []StepPair {
	var out []StepPair
	asked := slices.Clone(now.Steps)
	onlyOne := w.then.Of != incident.KindInvestigated
	for _, s := range w.then.Steps {
		p := StepPair{Kind: s.Kind, Then: stepThen(s), Outcome: OtherPlan}
		i := slices.IndexFunc(asked, func(r incident.StepRequest) bool { return r.Kind == s.Kind })
		if i >= 0 {
			w.compare(&p, s, w.requestOf(s.Kind), asked[i])
			asked = slices.Delete(asked, i, i+1)
		}
		if i < 0 && slices.ContainsFunc(now.Open, func(o playbooks.OpenStep) bool { return o.Request.Kind == s.Kind }) {
			p.Outcome = Undecided
			p.Now = &Step{Title: p.Then.Title, Open: "its condition asks for signals that were not read then"}
		}
		out = append(out, p)
	}
	if onlyOne {
		return out // of a check only its own step is known
	}
	for _, r := range asked {
		p := StepPair{Kind: r.Kind, Outcome: OtherPlan, Now: w.work(r, incident.Step{})}
		out = append(out, p)
	}
	for _, o := range now.Open {
		if slices.ContainsFunc(out, func(p StepPair) bool { return p.Kind == o.Request.Kind }) {
			continue
		}
		out = append(out, StepPair{Kind: o.Request.Kind, Outcome: Undecided, Now: &Step{
			Title: titleOf(o.Request), Open: "its condition asks for signals that were not read then",
		}})
	}
	if moved(w.then.Steps, now.Steps) && !slices.ContainsFunc(out, func(p StepPair) bool { return p.Outcome != Same }) {
		for n := range out {
			out[n].Outcome = OtherPlan // the same steps in another order
		}
	}
	return out
}

// requestOf is what the playbooks asked for then by a step of a kind; nil where that is not known, or was another kind.
func (w worker) requestOf(kind incident.StepKind) *incident.StepRequest {
	i := slices.IndexFunc(w.then.Requests, func(r incident.StepRequest) bool { return r.Kind == kind })
	if i < 0 {
		return nil
	}
	return &w.then.Requests[i]
}

// moved says whether the kinds of steps come in another order.
func moved(then []incident.Step, now []incident.StepRequest) bool {
	return !slices.EqualFunc(then, now, func(s incident.Step, r incident.StepRequest) bool { return s.Kind == r.Kind })
}

// compare works out what the request leads to, and compares.
func (w worker) compare(p *StepPair, then incident.Step, before *incident.StepRequest, r incident.StepRequest) {
	if then.Kind == incident.StepManual {
		p.Now, p.Outcome = &Step{Title: r.Advice}, Same
		p.Reworded = then.Title != r.Advice
		return
	}
	if w.then.noRequests {
		p.Now = &Step{Title: titleOf(r), Open: "an older version did not keep how the step was worked out"}
		p.Outcome = Undecided
		return
	}
	r.Chosen = w.then.Chosen[r.Kind]
	p.Now = w.work(r, then)
	switch {
	case p.Now.Open != "" && before != nil && sameRequest(*before, r) && !w.configured:
		p.Now, p.Outcome = stepThen(then), Same
	case p.Now.Open != "":
		p.Outcome = Undecided
	case p.Now.To == p.Then.To && p.Now.Refused == p.Then.Refused && keepsAsLong(before, r):
		p.Outcome = Same
	}
}

func sameRequest(a, b incident.StepRequest) bool {
	return a.Factor == b.Factor && a.Add == b.Add && keepsAsLong(&a, b)
}

// keepsAsLong says whether a step stays for as long as before and is judged as late.
func keepsAsLong(before *incident.StepRequest, r incident.StepRequest) bool {
	return before == nil || before.RevertAfter == r.RevertAfter && before.WarmUp == r.WarmUp
}

func stepThen(s incident.Step) *Step {
	out := &Step{Title: s.Title, From: s.From, To: s.To}
	if s.Target.Name != "" {
		out.Target = s.Target.String()
	}
	if s.Kind != incident.StepManual {
		out.Refused = refusal(s.Guardrails)
	}
	return out
}

// refusal is the reason of the first guardrail that refuses, in words; empty when none does.
func refusal(guards []incident.Guardrail) string {
	i := slices.IndexFunc(guards, incident.Guardrail.Refuses)
	if i < 0 {
		return ""
	}
	return cmp.Or(present.Guardrail(guards[i]), "refused by "+guards[i].Name)
}

func titleOf(r incident.StepRequest) string {
	if knob, ok := r.Kind.Knob(); ok {
		return knob.Title(r)
	}
	return cmp.Or(r.Advice, string(r.Kind))
}

// work says what a request leads to, from the numbers of the step of the same kind of then.
func (w worker) work(r incident.StepRequest, then incident.Step) *Step {
	out := &Step{Title: titleOf(r)}
	if r.Kind == incident.StepManual {
		return out
	}
	out.From = then.From
	if then.Target.Name != "" {
		out.Target = then.Target.String()
	}
	if w.configured && !w.pool.Knobs.Has(r.Kind) {
		out.Refused = live.NotConfigured(w.pool, r.Kind).Reason
		return out
	}
	if then.Worked == nil {
		refused := stepThen(then).Refused
		allowed := slices.Contains(w.then.Knobs, r.Kind)
		if then.Kind == "" || refused == "" || w.configured && !allowed {
			out.Open = "its present value was not read then"
			return out
		}
		out.Refused = refused
		return out
	}
	r = r.Limiting(then.Target.Setting)
	if n, err := live.Whole(then.To); err == nil && (r.Times > 0 || r.Of > 0) {
		r.Asked = n // an estimate that differs a little is the same question
	}
	to, open, err := w.adjust(r, *then.Worked)
	switch {
	case open != "":
		out.Open = open
	case err != nil:
		out.Refused = err.Error()
	case !then.To.Present:
		out.Open = "the step was refused then before it was checked further"
	case w.unread(r.Kind) != "":
		out.Open = "the guardrails of now ask for " + w.unread(r.Kind) + ", which was not read then"
	default:
		out.To = live.Int(to)
		out.Refused = w.refusal(then)
	}
	return out
}

// unread is a signal that the guardrails ask for, and that the bot of then did not know; empty where they ask for none.
func (w worker) unread(kind incident.StepKind) string {
	knob, ok := kind.Knob()
	if !ok || w.settings.Policy == nil || !w.configured || w.then.Guards == nil {
		return ""
	}
	for _, name := range knob.Asks() {
		if _, read := w.then.Evidence.Readings[name]; !read {
			return name
		}
	}
	return ""
}

// adjust is the arithmetic of a step with the bounds of now. Where these are wider than those of then, the limits that
// somebody else set beyond them are not known.
func (w worker) adjust(r incident.StepRequest, was incident.Worked) (to int64, open string, err error) {
	asked, err := live.Asked(was.From, r)
	if err != nil {
		return 0, "", err
	}
	if asked != was.From && (asked > was.From) != was.Up {
		return 0, "the limits in this direction were not read then", nil
	}
	l := live.Limits{Min: was.Min, Max: was.Max, Step: was.Step, MinWhy: was.MinWhy, MaxWhy: was.MaxWhy}
	if w.configured {
		own := live.LimitsOf(w.pool, r.Kind)
		l.Step = own.Step
		if was.MaxWhy == "" || own.Max < was.Max {
			l.Max, l.MaxWhy = own.Max, ""
		}
		if was.MinWhy == "" || own.Min > was.Min {
			l.Min, l.MinWhy = own.Min, ""
		}
	}
	to, _, err = l.Adjust(was.From, asked)
	if err == nil && (to > was.Max || to < was.Min) {
		return 0, "the limits of others beyond the bounds of then were not read then", nil
	}
	return to, "", err
}

// refusal asks the guardrails again, as far as they are of now; the others said then what they said.
func (w worker) refusal(then incident.Step) string {
	guards := then.Guardrails
	if w.settings.Policy != nil && w.configured && w.then.Guards != nil {
		known := *w.then.Guards
		asked := policy.Check(policy.Input{
			Pool: w.pool, Step: then, Op: incident.OpApply, Incident: w.inc.ID, Cluster: w.then.Evidence.Cluster,
			Readings: w.then.Evidence.Readings, Roles: w.then.Evidence.Roles(),
		}.Knowing(known), *w.settings.Policy)
		guards = slices.DeleteFunc(slices.Clone(guards), func(g incident.Guardrail) bool {
			return slices.ContainsFunc(asked, func(a incident.Guardrail) bool { return a.Name == g.Name })
		})
		guards = slices.Concat(guards, known.Unread, asked)
	}
	return refusal(guards)
}
