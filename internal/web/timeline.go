package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// The kinds of events on a timeline.
const (
	eventAlert  = "alert"
	eventPerson = "person"
	eventChange = "change"
	eventBot    = "bot"
)

// event is a line of the timeline.
type event struct {
	At   *moment
	Kind string
	Text []piece
	// Commands are what a person may do about it; empty for most.
	Commands string
	at       time.Time
	seq      int64
}

// timeline is what alerts, people, the bot and others did, the newest first. What only its author wants to know is in
// the journal alone.
func (f frame) timeline(inc incident.Incident) []event {
	var out []event
	for _, e := range inc.Journal {
		if internalOnly(e) {
			continue
		}
		line := event{At: f.When(e.At), Kind: kindOf(e), Text: f.Say(present.Entry(e)), at: e.At, seq: e.Seq}
		if e.Said.Kind == incident.NoteUnrecorded {
			line.Commands = e.Said.Config
		}
		out = append(out, line)
	}
	for _, c := range inc.Cluster.Changes {
		if c.Own || c.At.IsZero() {
			continue
		}
		text := changeText(c)
		out = append(out, event{At: f.When(c.At), Kind: eventChange, Text: []piece{{Text: text}}, at: c.At})
	}
	slices.SortStableFunc(out, func(a, b event) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.seq, a.seq)) })
	return out
}

// mostOfAChange is how much of a change is on the timeline, in characters; all of it is further below.
const mostOfAChange = 240

func changeText(c incident.RecentChange) string {
	return present.Clip(present.Line(c.Object+": "+c.Text), mostOfAChange)
}

// internalOnly says that a line of the journal is for audits: a claim, or a plan's digest.
func internalOnly(e incident.Entry) bool {
	switch e.Said.Kind { //nolint:exhaustive // all others are for everybody
	case incident.NoteClaimed, incident.NoteStarted, incident.NoteAsked, incident.NoteSettled, incident.NoteDetails:
		return true
	}
	return e.Said.Kind == "" && (e.Kind == incident.KindClaimed || e.Kind == incident.KindStarted)
}

// kindOf says whose doing a line of the journal is.
func kindOf(e incident.Entry) string {
	switch e.Said.Kind { //nolint:exhaustive // the others are told apart below
	case incident.NoteFiring, incident.NoteJoined, incident.NoteRefired, incident.NoteResolved, incident.NoteAlerts,
		incident.NoteReopened, incident.NoteMoved, incident.NoteNothingNew, incident.NoteNotKept:
		return eventAlert
	case incident.NoteDone, incident.NoteRolledOut, incident.NoteRestored, incident.NoteUndone, incident.NoteUndoing,
		incident.NoteReverted, incident.NoteStepReverted, incident.NoteNotRolledOut, incident.NoteDryRun:
		return eventChange
	}
	if e.By != nil && e.By.Person() || e.Said.By.Person() {
		return eventPerson
	}
	return eventBot
}
