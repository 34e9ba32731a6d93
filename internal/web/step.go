package web

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// stepRow is a step of a plan with all that an approver asks.
type stepRow struct {
	ID, Title, Name, State, Kind, Diff string
	// Tone is "good", "bad", "wait" or empty.
	Tone             string
	Manual           bool
	Why              string
	Reason           []piece
	Tried            []piece
	Facts            []fact
	Commands         []string
	Cautions, Blocks []string
	Checks           []check
	Passed           string
	Verdict, Check   string
	Moves            []moveRow
}

// check is a guardrail that has something to say.
type check struct{ Name, Verdict, Text string }

// moveRow is a signal before and after a change.
type moveRow struct {
	Label, Before, After, Limit string
	Bad, Better                 bool
}

func (f frame) step(inc incident.Incident, s incident.Step) stepRow {
	row := stepRow{
		ID: s.ID, Title: present.Name(s), State: present.StepState(s), Tone: tone(s), Diff: s.Diff, Why: s.Why,
		Manual: s.Kind == incident.StepManual, Cautions: s.Cautions(), Commands: present.Commands(s),
	}
	if row.Manual {
		return row
	}
	row.Name = present.Capital(present.Change(s))
	if text := present.Reason(s); text != "" {
		row.Reason = []piece{{Text: present.Ended(text)}}
	}
	if s.WasTried() {
		row.Tried = f.Say(present.Tried(s))
	}
	row.Facts = f.stepFacts(inc, s)
	row.Checks, row.Passed = checks(s)
	if v := s.Verification; v != nil {
		row.Verdict, row.Check = present.Verdict(v.Verdict), present.Verification(*v)
		row.Moves = append(moveRows(present.Moves(inc, *v), v.Comparison), rejectedRow(v.Comparison)...)
	}
	return row
}

// tone is how a step's state looks.
func tone(s incident.Step) string {
	if s.Kind == incident.StepManual {
		return ""
	}
	switch s.State {
	case incident.StepApplied, incident.StepApproved:
		return "good"
	case incident.StepFailed, incident.StepRefused:
		return "bad"
	case incident.StepProposed:
		if s.Executable() {
			return "wait"
		}
		return "bad"
	case incident.StepApplying, incident.StepUndoing:
		return "wait"
	case incident.StepDenied, incident.StepExpired, incident.StepSuperseded, incident.StepUndone, incident.StepReverted:
	}
	return ""
}

// stepFacts are what it does and costs, how it is undone, and who decides, or decided.
func (f frame) stepFacts(inc incident.Incident, s incident.Step) []fact {
	var out []fact
	add := func(name, text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, fact{name, []piece{{Text: present.Ended(text)}}})
		}
	}
	if s.Target.Name != "" {
		change := present.ValueText(s.From) + " → " + present.ValueText(s.To)
		out = append(out, fact{"Exact change", []piece{{Text: s.Target.String() + ": " + change}}})
	}
	add("Time to effect", s.Speed)
	add("Cost", strings.TrimSpace(present.Price(inc, s)+" "+present.OwnCost(inc, s)))
	add("Risk", s.Risk)
	add("Undo", present.UndoTerms(s))
	if s.State == incident.StepProposed && s.Executable() {
		out = append(out, fact{"Approvers", []piece{{Text: f.approvers(s.Needs)}}})
	}
	if len(s.Approvals) > 0 {
		out = append(out, fact{"Approved by", []piece{{Text: f.people(s.Approvals)}}})
	} else if d, ok := present.Approval(inc, s, incident.Approve); ok {
		out = append(out, fact{"Approved by", []piece{{Text: f.Person(d.By) + ", "}, {At: f.When(d.At)}}})
	}
	if d, ok := present.Approval(inc, s, incident.Deny); ok && s.State == incident.StepDenied {
		text := []piece{{Text: f.Person(d.By) + ", "}, {At: f.When(d.At)}}
		if d.Reason != "" {
			text = append(text, piece{Text: " (" + d.Reason + ")"})
		}
		out = append(out, fact{"Denied by", text})
	}
	if !s.AppliedAt.IsZero() {
		out = append(out, fact{"Applied", []piece{{At: f.When(s.AppliedAt)}}})
	}
	add("Checked", present.Checked(s.Checked))
	return out
}

// mostNamed bounds the people that are named; a list of everybody names nobody.
const mostNamed = 8

// approvers are those who may decide in Slack. Whoever has the permission in Kubernetes may decide besides them.
func (f frame) approvers(n incident.Needs) string {
	var names []string
	for _, id := range n.Groups {
		names = append(names, "group "+id)
	}
	for _, id := range n.Users {
		names = append(names, f.Person(incident.Actor{Kind: incident.ActorSlack, ID: id}))
	}
	text := strings.Join(present.Capped(names, mostNamed), ", ")
	if text == "" {
		text = "no one in Slack"
	}
	if n.Approvals > 1 {
		text = present.Counted(n.Approvals, "approval") + " of: " + text
	}
	return text
}

func (f frame) people(all []incident.Actor) string {
	names := make([]string, 0, len(all))
	for _, a := range all {
		names = append(names, f.Person(a))
	}
	return strings.Join(present.Capped(names, mostNamed), ", ")
}

// checks are the guardrails that made the step smaller or refuse it, and the names of those that passed.
func checks(s incident.Step) (out []check, passed string) {
	var names []string
	for _, g := range s.Guardrails {
		switch g.Verdict {
		case incident.GuardCaution: // shown first of all
		case incident.GuardPass:
			if text := present.Guardrail(g); text != "" {
				names = append(names, text)
			} else {
				names = append(names, strings.ReplaceAll(g.Name, "_", " "))
			}
		case incident.GuardShrink:
			out = append(out, check{strings.ReplaceAll(g.Name, "_", " "), "reduced", present.Guardrail(g)})
		case incident.GuardRefuse:
			fallthrough
		default: // a verdict of a newer version
			out = append(out, check{strings.ReplaceAll(g.Name, "_", " "), "blocked", present.Guardrail(g)})
		}
	}
	return out, strings.Join(names, "; ")
}

// moveRows are the signals of a verification: those that moved, those out of their limits, and those without data. What
// got worse among what got better is marked in words: colors are not for everybody. found may be nil.
func moveRows(all []incident.Move, found *incident.Comparison) []moveRow {
	var out []moveRow
	var finding incident.Finding
	if found != nil {
		finding = found.Finding
	}
	for _, m := range all {
		if m.Moved == incident.MovedNot && !present.Beyond(m.After) {
			continue
		}
		out = append(out, moveRow{
			Label: present.Label(m.Signal, m.Before, m.After), Before: m.Before.Text(),
			After: m.After.Text() + present.Worsened(m, finding),
			Limit: present.Limit(m.After), Bad: present.Beyond(m.After) || m.Moved == incident.MovedWorse,
			Better: m.Moved == incident.MovedBetter && !present.Beyond(m.After),
		})
	}
	return out
}

// rejectedRow is what the gateway turned away over a throttle; none of other changes.
func rejectedRow(c *incident.Comparison) []moveRow {
	if present.Rejected(c) == "" {
		return nil
	}
	row := moveRow{Label: "Rejected by the gateway", Before: "not measured", After: "not measured"}
	if c.Rejected.Before.HasValue() {
		row.Before = c.Rejected.Before.Text()
	}
	if c.Rejected.After.HasValue() {
		row.After, row.Bad = c.Rejected.After.Text(), *c.Rejected.After.Value > 0
	}
	return []moveRow{row}
}

// madeRow is a change that was made, with how it went.
type madeRow struct {
	What, Verdict string
	By            string
	Asked, Live   *moment
	Applied       *moment
	Verified      *moment
	Undone        *moment
	// UndoneBy is empty where the bot reverted it as planned; then it was Lifted.
	UndoneBy string
	Lifted   bool
	DryRun   bool
	Unsure   bool
	Reverted bool
	Moves    []moveRow
	// Undo rolls it back; nil where that can't be done now, or is asked at the top of the page.
	Undo *command
}

// made are the changes of the incident's life, the newest first; undo are the commands that roll back, by step.
func (f frame) made(inc incident.Incident, undo map[string]*command) []madeRow {
	var out []madeRow
	for _, m := range slices.Backward(present.History(inc)) {
		row := madeRow{
			What: present.Capital(present.ChangeMade(m)) + present.MadeFor(inc, m), By: f.people(m.By), Asked: f.When(m.AskedAt),
			Live: f.When(m.LiveAt), Applied: f.When(m.AppliedAt), Verified: f.When(m.VerifiedAt), Undone: f.When(m.UndoneAt),
			DryRun: m.DryRun, Unsure: m.Unsure, Reverted: m.State == incident.StepReverted, Undo: undo[m.Step],
		}
		if row.Lifted = m.Lifted(); m.UndoneBy != nil && !row.Lifted {
			row.UndoneBy = f.Person(*m.UndoneBy)
		}
		if m.Verdict != "" && !m.DryRun {
			row.Verdict = present.Verdict(m.Verdict)
		}
		if m.Check != nil && !m.DryRun {
			row.Moves = append(moveRows(present.MovesOf(m.Check), m.Check), rejectedRow(m.Check)...)
		}
		out = append(out, row)
	}
	return out
}
