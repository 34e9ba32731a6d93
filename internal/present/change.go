package present

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Verb says in a few words what a step does, or its undo: "Scale 2 → 3", "Roll back to 2".
func Verb(s incident.Step, op incident.Op) string {
	if op == incident.OpUndo {
		return "Roll back to " + ValueText(s.Undo)
	}
	arrow := ValueText(s.From) + " → " + ValueText(s.To)
	if s.Kind == incident.StepManual {
		return "Mark as done"
	}
	if knob, ok := s.Kind.Knob(); ok {
		return knob.Verb(s) + " " + arrow
	}
	return "Set " + arrow
}

// Change is a step in the middle of a sentence: "scale 2 → 3".
func Change(s incident.Step) string { return Lower(Verb(s, incident.OpApply)) }

// ChangeMade is a change that was made in the middle of a sentence.
func ChangeMade(m incident.Made) string {
	return Change(incident.Step{Kind: m.Kind, Title: m.Title, Target: m.Target, From: m.From, To: m.To, Undo: m.Undo})
}

// ValueText is a setting on one line, "not set" for one that is absent.
func ValueText(v incident.Value) string {
	if !v.Present {
		return "not set"
	}
	return Clip(Line(v.Text), 40)
}

// Name is a step's title, or what it does where it has none.
func Name(s incident.Step) string {
	if t := Line(s.Title); t != "" {
		return t
	}
	return Verb(s, incident.OpApply)
}

// UndoTerms say when a change is taken back. Whether policy rolls it back without asking when it did not help is not
// known here: it is offered at least.
func UndoTerms(s incident.Step) string {
	switch {
	case s.Kind == incident.StepManual:
		return ""
	case s.Mitigation():
		return "Reverts to " + ValueText(s.Undo) + " after " + incident.FormatDuration(s.RevertAfter) +
			" healthy; rollback offered otherwise."
	}
	return "Rollback to " + ValueText(s.Undo) + " offered if it doesn't help."
}

// InPlace names the values that are still set: "scale 2 → 3, throttle 256 → 128".
func InPlace(inc incident.Incident) string {
	var out []string
	for _, s := range inc.Applied() {
		if !inc.OnlyDryRun(s) {
			out = append(out, Clip(Change(s), 80))
		}
	}
	return strings.Join(Capped(out, 3), ", ")
}

// left says what a no leaves as it is: that nothing was changed is only true when nothing ever was.
func left(inc incident.Incident) string {
	standing, others := 0, 0
	for _, m := range slices.Backward(History(inc)) {
		switch s, _ := inc.Step(m.Step); {
		case m.DryRun:
		case UndoUnsure(s):
			return "It's unknown whether " + Change(s) + " was rolled back."
		case m.Unsure && (m.State == incident.StepApplied || m.State == incident.StepFailed):
			return "It's unknown whether " + ChangeMade(m) + " took effect."
		case m.State == incident.StepApplied:
			standing++
		default:
			others++
		}
	}
	in := Capital(InPlace(inc))
	switch {
	case in == "" && standing+others == 0:
		return "Nothing was changed."
	case in == "":
		return "No change is left in place."
	case standing > 1:
		in += " stay in place"
	default:
		in += " stays in place"
	}
	if others > 0 { // rolled back or reverted since
		return in + "."
	}
	return in + "; nothing else was changed."
}

// UndoUnsure says that nobody knows whether an applied step was undone.
func UndoUnsure(s incident.Step) bool {
	return s.State == incident.StepApplied &&
		(s.UndoUnsure || s.Cause.Kind == incident.ReasonWriteUnknown && s.Cause.NotUndone)
}
