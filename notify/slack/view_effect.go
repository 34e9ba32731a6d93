package slack

import (
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// maxCautions bounds the cautions of a question, leastCaution how far one is shortened at most: the reason has to be
// understood at every level of detail.
const (
	maxCautions  = 3
	leastCaution = 120
)

// effect is what an approval of the first step does, how fast, at what price, and when it is taken back; then what an
// approver should know first of any step that has a button.
func (c *composer) effect(inc incident.Incident, open []incident.Step) []string {
	s := open[0]
	var parts []string
	said := []string{s.Speed, s.Cost, s.Risk}
	if price := escape(present.Price(inc, s), c.detail.text); price != "" {
		parts = append(parts, "*"+strings.TrimSuffix(price, ".")+".*")
		if said = said[:2]; present.Priced(inc, s) { // the small print and the page have what any such step costs
			said = said[:1]
		}
	}
	for _, text := range said {
		if text = escape(strings.TrimSpace(text), c.detail.text); text != "" {
			parts = append(parts, present.Ended(text))
		}
	}
	if !inc.DryRun {
		parts = append(parts, escape(present.UndoTerms(s), maxStatus))
	}
	head := "*If you approve:* "
	if inc.DryRun {
		head = "*If it were real:* "
	}
	lines := []string{head + strings.Join(nonEmpty(parts), " ")}
	if tried := sentence(present.Tried(s), c.detail.text); tried != "" {
		lines = append(lines, "⚠️ *The same change was "+tried+"*")
	}
	return append(lines, c.cautions(open[:min(len(open), c.detail.steps)])...)
}

// cautions are what an approver should know first, never among the ticks of the small print. One that holds for all
// steps that are asked about is said once; any other one names its step.
func (c *composer) cautions(open []incident.Step) []string {
	type caution struct {
		text string
		of   []string
	}
	var all []caution
	for _, s := range open {
		for _, text := range s.Cautions() {
			n := slices.IndexFunc(all, func(o caution) bool { return o.text == text })
			if n < 0 {
				n, all = len(all), append(all, caution{text: text})
			}
			if of := escape(present.Change(s), 60); !slices.Contains(all[n].of, of) {
				all[n].of = append(all[n].of, of)
			}
		}
	}
	shown := all[:min(len(all), maxCautions)]
	lines := make([]string, 0, len(shown))
	for _, one := range shown {
		of := ""
		if len(one.of) < len(open) {
			of = " (" + strings.Join(one.of, ", ") + ")"
		}
		lines = append(lines, "⚠️ *Caution"+of+":* "+escape(one.text, max(c.detail.text, leastCaution)))
	}
	if n := len(all) - len(shown); n > 0 {
		lines[len(lines)-1] += " _" + present.More(n) + "_"
	}
	return lines
}

// exact is the small print of the question: the field that is changed, and what such a step costs where the question
// has the price of this one.
func (c *composer) exact(inc incident.Incident, open []incident.Step) []string {
	if len(open) == 0 {
		return nil
	}
	s := open[0]
	out := []string{"*Exact change:* " + escape(s.Target.Object(), 90) + ", " + escape(setting(s), 60) + " " +
		escape(present.ValueText(s.From)+" → "+present.ValueText(s.To), 90)}
	if cost := escape(strings.TrimSpace(s.Cost), c.detail.text); cost != "" && present.Priced(inc, s) {
		out = append(out, present.Ended(cost))
	}
	return out
}

// instead is what the other buttons do.
func (c *composer) instead(inc incident.Incident, open []incident.Step) []string {
	if len(open) == 0 {
		return nil
	}
	var out []string
	for _, s := range open[1:min(len(open), c.detail.steps)] {
		var parts []string
		price := []string{present.Price(inc, s), s.Cost, s.Speed}
		if present.Priced(inc, s) {
			price[1] = ""
		}
		if s.Needs.Restart { // the label says so, and that says more in fewer words than what it costs
			price = []string{present.Verb(s, incident.OpApply)}
		}
		for _, text := range price {
			if text = escape(strings.TrimSpace(text), min(c.detail.text, 90)); text != "" {
				parts = append(parts, present.Ended(text))
			}
		}
		if len(parts) > 0 {
			out = append(out, "*"+escape(approvalLabel(s), 70)+" instead:* "+strings.Join(parts, " "))
		}
	}
	return out
}

// setting is the field of a step, by its own name where it has one.
func setting(s incident.Step) string {
	if s.Target.Setting != "" {
		return s.Target.Setting
	}
	return s.Target.Field
}

// shrunk says that a guardrail made a step smaller than the playbook asked for.
func (c *composer) shrunk(open []incident.Step) []string {
	var out []string
	for _, s := range open {
		for _, g := range s.Guardrails {
			if text := escape(present.Guardrail(g), c.detail.text); g.Verdict == incident.GuardShrink && text != "" &&
				!slices.Contains(out, text) && len(out) < maxCautions {
				out = append(out, text)
			}
		}
	}
	return out
}

// blocked are the steps that cannot be approved, with what keeps them from it, and those that were turned down.
func (c *composer) blocked(inc incident.Incident) []string {
	if inc.Plan == nil || !inc.HealthySince.IsZero() {
		return nil
	}
	var out, held []string
	resume, when := "", "resume:"
	for _, s := range inc.Plan.Steps {
		title := escape(present.Name(s), min(c.detail.name, 80))
		pause, onHold := s.HeldByPause()
		switch {
		case s.Kind == incident.StepManual:
		case s.State == incident.StepDenied && slices.Contains(
			[]incident.MuteReason{incident.MutedDenied, incident.MutedSnoozed}, inc.MuteReason): // said above
		case onHold:
			held = append(held, escape(present.Change(s), 80))
			resume = strings.TrimSpace(CommandName + " resume " + present.Line(pause.Pool))
			if inc.NoteStep == s.ID { // it was approved, so people wait for what comes of that
				when = "proposed again after"
			}
		case s.State == incident.StepDenied:
			out = append(out, "*"+title+":* "+denied(inc, s))
		case s.State == incident.StepExpired && len(inc.Proposed()) > 0:
			out = append(out, "*"+title+":* approval expired")
		case s.State == incident.StepRefused:
			out = append(out, "*Blocked:* "+title+reasonText(present.Reason(s), c.detail.text))
		case s.State == incident.StepProposed && !s.Executable():
			out = append(out, "*Blocked:* "+title+reasonText(strings.Join(present.Refusals(s), "; "), c.detail.text))
		case s.State == incident.StepFailed && len(inc.Proposed()) > 0:
			out = append(out, "*Failed:* "+escape(present.Change(s), 80)+reasonText(present.Reason(s), c.detail.text))
		}
	}
	if len(held) > 0 {
		out = append(out, "*On hold while changes are paused:* "+strings.Join(present.Capped(held, 3), ", ")+
			" ("+when+" "+code(resume, 100)+")")
	}
	return present.Capped(out, c.detail.steps)
}

func reasonText(why string, most int) string {
	if why = escape(why, min(most, 200)); why == "" {
		return ""
	}
	return " (" + strings.TrimRight(why, ".") + ")"
}

// manual is advice that no button carries out.
func (c *composer) manual(inc incident.Incident) []richLine {
	if inc.Plan == nil || !inc.HealthySince.IsZero() && !present.FollowUp(inc) {
		return nil
	}
	var out []richLine
	for _, s := range inc.Plan.Steps {
		if s.Kind == incident.StepManual && s.State == incident.StepProposed {
			advice := exact(present.Name(s), max(c.detail.name, 2*c.detail.text))
			out = append(out, richLine{}.with("Manual:", asBold).with(" "+advice, nil))
		}
	}
	return capped(out, c.detail.steps)
}

// folded is the advice with the commands that belong to it.
func (c *composer) folded(inc incident.Incident) []slackgo.RichTextElement {
	out := sections(c.manual(inc))
	if now, ok := present.DoNowFor(inc); ok && len(out) > 0 {
		out = append(out, c.commands(now.Commands, c.detail.manual)...)
	}
	return out
}

// advised says that there is nothing but advice: no step of the plan is for the bot, or none that it may run.
func advised(inc incident.Incident) bool {
	return !slices.ContainsFunc(present.Planned(inc), func(s incident.Step) bool {
		return s.Kind != incident.StepManual && s.State != incident.StepRefused && s.Executable()
	})
}

// passed counts the checks of the steps that are asked about, with the dry run by whoever tried them out.
func passed(open []incident.Step) int {
	names := map[string]bool{}
	for _, s := range open {
		if s.Checked.OK {
			names["dry run by "+string(s.Checked.By)] = true
		}
		for _, g := range s.Guardrails {
			if g.Verdict == incident.GuardPass {
				names[g.Name] = true
			}
		}
	}
	return len(names)
}

// unchecked says of the steps that are asked about that the API server has not tried them out.
func unchecked(open []incident.Step) []string {
	var out []string
	for _, s := range open {
		text := escape(present.Checked(s.Checked), 80)
		if text != "" && !s.Checked.OK && !slices.Contains(out, "⚠️ "+text) {
			out = append(out, "⚠️ "+text)
		}
	}
	return out
}
