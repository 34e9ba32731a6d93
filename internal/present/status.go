package present

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// said builds a sentence out of its pieces.
func said(text string) []Span { return []Span{{Text: text}} }

// strong builds the piece that is read first.
func strong(text string) []Span { return []Span{{Text: text, Strong: true}} }

// Status is what an open incident is at, and what it waits for, in one or two sentences: first whether anybody has to
// do anything. Empty while it is being decided on: then the question says it; see Asked.
func Status(inc incident.Incident) []Span {
	switch {
	case inc.Pool == "" && inc.State == incident.StateClosed:
		return strong("Not investigated.")
	case inc.Pool == "":
		return strong("Not investigating.")
	case inc.State.Running():
		return slices.Concat(strong("No action needed."), doing(inc))
	case inc.State == incident.StateWatching:
		return watching(inc)
	case inc.State == incident.StateReceived:
		return append(strong("Received."), said(" Waiting briefly for related alerts before investigating.")...)
	case inc.State == incident.StateProposed:
		return append(strong("Plan ready."), said(" Checking who needs to approve it.")...)
	case inc.State == incident.StateInvestigating:
		return append(strong("Investigating."), said(" Reading metrics and cluster state.")...)
	}
	return nil
}

// doing is the phase of the active step in one or two sentences, after another one.
func doing(inc incident.Incident) []Span {
	a := inc.Active
	if a == nil {
		return nil
	}
	s, _ := inc.Step(a.Step)
	by := Approved(inc, s)
	switch {
	case a.Op == incident.OpUndo && a.Phase == incident.PhaseRollout:
		return slices.Concat(said(" Restored "+ValueText(s.Undo)+" ("), Why(*a), said("). "+waiting(s.Kind)))
	case a.Op == incident.OpUndo:
		return slices.Concat(said(" Rolling back to "+ValueText(s.Undo)+" ("), Why(*a), said(")."))
	case a.Phase == incident.PhaseRecheck:
		return slices.Concat(said(" Re-checking, then applying"), by, said("."))
	case a.Phase == incident.PhaseRollout:
		return slices.Concat(said(" Applied"), by, said(". "+waits(s)))
	case a.Phase == incident.PhaseSettle && !a.SettleUntil.IsZero():
		return slices.Concat(said(" Live"), by, said(". Metrics catching up; first check at "),
			[]Span{{At: a.SettleUntil}, {Text: "."}})
	case a.Phase == incident.PhaseVerify && inc.DryRun:
		return slices.Concat(said(" Dry run passed"), by, said(". Nothing was changed."))
	case a.Phase == incident.PhaseVerify && a.WorseInRow > 0:
		return said(" Metrics look worse; confirming with one more check.")
	case a.Phase == incident.PhaseVerify:
		return slices.Concat(said(" Live"), by, said(fmt.Sprintf(". Checking whether it helped (check %d).", a.Readings+1)))
	}
	return slices.Concat(said(" Applying"), by, said("."))
}

// waits says what has to follow a write: pods, or a gateway that takes a policy.
func waits(s incident.Step) string {
	if s.Kind.RollsOut() {
		return "New pods load the model first, which takes minutes."
	}
	return waiting(s.Kind)
}

// watching is an open incident in which nothing is asked.
func watching(inc incident.Incident) []Span {
	s, hasRun := Latest(inc)
	switch {
	case !inc.HealthySince.IsZero():
		return healthy(inc)
	case hasRun && s.State == incident.StepFailed:
		return slices.Concat(strong("Needs a human."), said(" "), noteOr(inc, Reason(s)))
	case hasRun && s.State == incident.StepReverted:
		return slices.Concat(strong("Someone else changed it back."), said(" "), noteOr(inc, Reason(s)))
	}
	return calm(inc)
}

// noteOr is the note of the incident, or the reason of a step where there is none.
func noteOr(inc incident.Incident, reason string) []Span {
	if note := Note(inc); Plain(note) != "" {
		return note
	}
	return said(Ended(reason))
}

// healthy says what the incident waits for before it closes.
func healthy(inc incident.Incident) []Span {
	since := []Span{{Text: " Healthy since "}, {At: inc.HealthySince}, {Text: "."}}
	if names := inc.FiringNames(); len(names) > 0 && Changed(inc) {
		since = append(since, said(" "+firstNamed(names)+" still firing.")...)
	}
	if active := inc.Mitigations(); len(active) > 0 {
		s := active[len(active)-1]
		return slices.Concat(strong("Reverts to "+ValueText(s.Undo)+" at "),
			[]Span{{At: inc.HealthySince.Add(s.RevertAfter), Strong: true}}, said(" if it stays healthy. No action needed."),
			since)
	}
	closes := " Closes if it stays healthy."
	if inc.ClosesOnResolve() {
		closes = " Closes when the alert resolves."
		if inc.FiringCount() > 1 {
			closes = " Closes when the alerts resolve."
		}
	}
	switch {
	case FollowUp(inc):
		return slices.Concat(strong("Metrics are healthy, but the cause needs a human."), said(closes), since)
	case explained(inc): // the note says why there is nothing to do
		return slices.Concat([]Span{{Text: "Healthy since ", Strong: true}, {At: inc.HealthySince, Strong: true}},
			strong("."), said(closes))
	}
	return slices.Concat(strong("No action needed."), said(closes), since)
}

// FollowUp says that the metrics are healthy and nothing was changed, while a cause that a human should remove still
// holds: an engine that ran out of memory and is back. A plan of before the recovery is of a cause that has passed.
func FollowUp(inc incident.Incident) bool {
	return !inc.HealthySince.IsZero() && inc.State != incident.StateClosed && inc.Diagnosis != nil && manualOnly(inc) &&
		!Changed(inc) && !inc.Plan.CreatedAt.Before(inc.HealthySince)
}

// LeftToPeople says of an incident in which nothing is asked that people have to do something all the same.
func LeftToPeople(inc incident.Incident) bool {
	return FollowUp(inc) || NeedsHuman(inc) || forPeople(inc)
}

// forPeople says of a watched incident that is not healthy that its plan is for people alone, who have not been told
// otherwise: nobody turned it down, and nothing was just taken back.
func forPeople(inc incident.Incident) bool {
	s, ran := Latest(inc)
	return inc.State == incident.StateWatching && inc.HealthySince.IsZero() && inc.MuteReason == incident.NotMuted &&
		inc.Diagnosis != nil && manualOnly(inc) && (!ran || !s.Lifted() && s.State != incident.StepUndone)
}

// explained says that the diagnosis asks for nothing; then the incident's note says why.
func explained(inc incident.Incident) bool {
	return inc.Diagnosis != nil && inc.Plan != nil && len(inc.Plan.Steps) == 0 && inc.Said.Kind == incident.NoteText
}

// manualOnly says that the plan has advice and nothing else.
func manualOnly(inc incident.Incident) bool {
	return len(Planned(inc)) > 0 && !slices.ContainsFunc(Planned(inc), func(s incident.Step) bool {
		return s.Kind != incident.StepManual
	})
}

// calm says why nothing is asked while it is not healthy.
func calm(inc incident.Incident) []Span {
	switch inc.MuteReason {
	case incident.MutedDenied:
		return slices.Concat(turnedDown(inc), said(" "+left(inc)+" No further proposals unless the diagnosis changes."))
	case incident.MutedExpired:
		if !Changed(inc) {
			return append(strong("No one responded in time"), said(", so nothing was changed.")...)
		}
		return append(strong("No one responded in time."), said(" "+left(inc))...)
	case incident.MutedSnoozed:
		return noteOr(inc, "Snoozed")
	case incident.MutedDryRun:
		return slices.Concat(strong("Dry run finished."), said(" "+left(inc)), would(inc))
	case incident.NotMuted:
	}
	if s, ok := Latest(inc); ok && s.Lifted() {
		next := " Not healthy anymore. Investigating again; no action needed."
		if justLifted(inc) {
			next = " Checking that it stays healthy; no action needed."
		}
		return append(strong("Reverted to "+ValueText(s.Undo)+" as planned."), said(next)...)
	}
	if s, ok := Latest(inc); ok && s.State == incident.StepUndone {
		return slices.Concat(strong("Rolled back to "+ValueText(s.Undo)), undoneBy(inc, s), strong("."),
			said(" Investigating again; no action needed."))
	}
	if text := paused(inc); text != nil {
		return text
	}
	switch {
	case explained(inc):
		return strong("Monitoring.")
	case forPeople(inc):
		return append(strong("Needs a human."), said(" No automated fix for this; manual steps below.")...)
	case inc.Diagnosis != nil && len(inc.Proposed()) == 0 && inc.Plan != nil:
		return strong("No automated fix available right now.")
	case inc.Diagnosis == nil:
		if unexplained(inc) { // the headline says that there is no diagnosis
			return append(strong("Still checking."), said(" Nothing is proposed meanwhile.")...)
		}
		return append(strong("No diagnosis."), said(" Still checking.")...)
	}
	return append(strong("Monitoring."), said(" No action needed.")...)
}

// turnedDown says who said no to what was being asked or done. An older no to another question is not named.
func turnedDown(inc incident.Incident) []Span {
	if note := inc.Said; note.Kind == incident.NoteAborted {
		out := append(strong("Stopped by "), Span{Person: note.By, Strong: true})
		if why := clause(note.Why); why != "" {
			out = append(out, strong(" ("+Clip(Line(why), 120)+")")...)
		}
		return append(out, strong(".")...)
	}
	for _, d := range slices.Backward(inc.Decisions) {
		if d.Verb == incident.Deny && inc.Plan != nil && d.Digest == inc.Plan.Digest {
			return []Span{
				{Text: "Denied by ", Strong: true},
				{Person: d.By, Strong: true},
				{Text: ", ", Strong: true},
				{At: d.At, Strong: true},
				{Text: ".", Strong: true},
			}
		}
	}
	return strong("Denied.")
}

// undoneBy is who had a step rolled back, with a space before it; empty when it isn't known.
func undoneBy(inc incident.Incident, s incident.Step) []Span {
	for _, m := range slices.Backward(History(inc)) {
		if m.Step == s.ID && m.UndoneBy != nil {
			return append(strong(" by "), Span{Person: *m.UndoneBy, Strong: true})
		}
	}
	return nil
}

// paused says why nothing is proposed while there is something to propose; nil when no pause is the reason.
func paused(inc incident.Incident) []Span {
	for _, s := range Planned(inc) {
		why, held := s.HeldByPause()
		if !held {
			continue
		}
		out := slices.Concat(strong("Changes are paused"), said(" for "), scope(why.Pool), said(" by "),
			[]Span{{Person: why.Who}})
		if text := Line(why.Text); text != "" {
			return append(out, said(": "+strings.TrimSuffix(text, ".")+".")...)
		}
		return append(out, said(".")...)
	}
	return nil
}

// scope is what a pause covers: "all pools", "pool llama-70b".
func scope(pool string) []Span {
	if pool == "" {
		return said("all pools")
	}
	return append(said("pool "), strong(Clip(Line(pool), 80))...)
}

// would says what a dry run would have done.
func would(inc incident.Incident) []Span {
	s, ok := Latest(inc)
	if !ok || !inc.OnlyDryRun(s) {
		return nil
	}
	return slices.Concat(said(" It would have applied "+Change(s)), Approved(inc, s), said("."))
}

// Approved is who approved a step and when, in brackets with a space before it.
func Approved(inc incident.Incident, s incident.Step) []Span {
	d, ok := Approval(inc, s, incident.Approve)
	if !ok {
		return nil
	}
	return []Span{{Text: " (approved by "}, {Person: d.By}, {Text: ", "}, {At: d.At}, {Text: ")"}}
}

// Asked says until when people may answer what is asked, and what happens when nobody does. Empty where nothing is
// asked.
func Asked(inc incident.Incident) []Span {
	if inc.State != incident.StateDeciding {
		return nil
	}
	until := deadline(inc)
	if s, ok := Offered(inc); ok {
		if until.IsZero() {
			return nil
		}
		return []Span{
			{Text: "If no one responds by "}, {At: until}, {Text: ", it stays at " + ValueText(s.To) + "."},
		}
	}
	open := Questions(inc)
	switch {
	case len(open) > 0:
		return answerBy(inc, open[0])
	case until.IsZero():
		return strong("Needs a human decision.")
	}
	return append(strong("Needs a human decision."),
		Span{Text: " If no one responds by "}, Span{At: until}, Span{Text: ", it stays as is."})
}

// answerBy says what happens without an answer about a step.
func answerBy(inc incident.Incident, s incident.Step) []Span {
	until, two := deadline(inc), ""
	if s.Needs.Approvals > 1 && len(s.Approvals) == 0 {
		two = fmt.Sprintf(" Needs %d approvals.", s.Needs.Approvals)
	}
	switch {
	case inc.DryRun && !until.IsZero():
		return []Span{{Text: "Answer by "}, {At: until}, {Text: ". Nothing will change." + two}}
	case inc.DryRun:
		return said("Nothing will change." + two)
	case !until.IsZero() && len(s.Approvals) == 0:
		return []Span{{Text: "Approve by "}, {At: until}, {Text: ". If no one responds, nothing changes." + two}}
	}
	return said("If no one responds, nothing changes." + two)
}

// Missing says how many more approvals a step needs that has some, and until when.
func Missing(inc incident.Incident, s incident.Step) []Span {
	text := "One more approver needed"
	if n := s.Needs.Approvals - len(s.Approvals); n > 1 {
		text = fmt.Sprintf("%d more approvers needed", n)
	}
	if until := deadline(inc); !until.IsZero() {
		return []Span{{Text: text + " by "}, {At: until}}
	}
	return said(text)
}

// Remark is the domain's word on why the incident is where it is, where nothing else says it; nil elsewhere.
func Remark(inc incident.Incident) []Span {
	if s, ok := inc.Step(inc.NoteStep); ok && s.State == incident.StepFailed && inc.State == incident.StateDeciding {
		return nil // the headline says that it failed, and the plan why
	}
	switch inc.Said.Kind { //nolint:exhaustive // all others are said
	case incident.NoteOutcome, incident.NoteMonitoring, incident.NoteRecovered, incident.NoteDryRunEnded,
		incident.NoteExpired, incident.NoteAllDenied, incident.NoteNoStep, incident.NoteManualOnly:
		return nil
	case incident.NoteSnoozed:
		if inc.MuteReason == incident.MutedSnoozed && inc.HealthySince.IsZero() {
			return nil // Status says so
		}
	case incident.NoteAborted:
		if inc.MuteReason == incident.MutedDenied && inc.HealthySince.IsZero() {
			return nil // Status says so
		}
	}
	if s, ok := Latest(inc); ok && inc.State == incident.StateWatching && inc.HealthySince.IsZero() &&
		(s.State == incident.StepFailed || s.State == incident.StepReverted) {
		return nil // Status says so
	}
	return Note(inc)
}
