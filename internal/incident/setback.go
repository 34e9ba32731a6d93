package incident

import (
	"fmt"
	"time"
)

// SetbackKind says how the bot's work on an incident failed.
type SetbackKind string

// The kinds of setbacks.
const (
	// SetbackPanic is an error in the program itself.
	SetbackPanic SetbackKind = "panic"
	// SetbackHung is work that did not end in its time.
	SetbackHung SetbackKind = "hung"
	// SetbackLost is work that was never finished: its process ended, or was cut off from the store.
	SetbackLost SetbackKind = "lost"
)

// Setback counts how often in a row the bot's work on an incident failed, so that an incident on which it cannot work
// is not begun again and again.
type Setback struct {
	Kind  SetbackKind `json:"kind"`
	Count int         `json:"count"`
	At    time.Time   `json:"at"`
	// RetryAt is when the work is begun again; zero: at once.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Parked says that it is begun again only rarely from now on.
	Parked bool `json:"parked,omitempty"`
	// Told says that people have been told.
	Told bool `json:"told,omitempty"`
}

// RetryNow takes the waiting time off: a person wants the incident to go on. What is counted stays.
func (i Incident) RetryNow() Incident {
	if i.Setback != nil {
		s := *i.Setback
		s.RetryAt = time.Time{}
		i.Setback = &s
	}
	return i
}

func (a *applier) setBack(e SetBack) error {
	before := a.inc.Setback
	if e.How == "" {
		return a.recoverFrom(before)
	}
	next := Setback{Kind: e.How, Count: 1, At: a.now, RetryAt: e.RetryAt, Parked: e.Parked}
	if before != nil {
		next.Count, next.Told = before.Count+1, before.Told
	}
	a.inc.Setback = &next
	text := e.How.text(e.Detail)
	if e.RetryAt.IsZero() {
		a.note("%s", text) // a process may end in the middle of something; the next one goes on
		return nil
	}
	if e.Parked {
		text += fmt.Sprintf(" That was attempt %d in a row, so this incident is parked. Needs a human.", next.Count)
	}
	text += " " + next.nextAttempt()
	a.inc.Note = text
	if next.Told && (!e.Parked || before.Parked) {
		a.note("%s", text)
		return nil
	}
	next.Told = true
	a.say("%s", text)
	return nil
}

// nextAttempt says who works on the incident again, and when. Work that hangs cannot be stopped: the replica that gave
// it up keeps away from the incident until that work has ended, and the end of the process ends it.
func (s Setback) nextAttempt() string {
	at := s.RetryAt.UTC().Format("15:04 UTC")
	if s.Parked {
		at += ", or after any action on the incident"
	}
	if s.Kind == SetbackHung {
		return fmt.Sprintf("The same replica tries again only after that work ends or after a restart. Other replicas: at %s.",
			at)
	}
	return fmt.Sprintf("Next attempt at %s.", at)
}

func (a *applier) recoverFrom(before *Setback) error {
	if before == nil {
		return &RefusedError{Reason: "There is no setback."}
	}
	a.inc.Setback = nil
	if before.Told {
		a.inc.Note = ""
		a.say("Work on this incident continues.")
	}
	return nil
}

func (k SetbackKind) text(detail string) string {
	text := "Work on this incident failed."
	switch k {
	case SetbackPanic:
		text = "Work on this incident failed with an internal error."
	case SetbackHung:
		text = "Work on this incident did not finish in time and was given up."
	case SetbackLost:
		text = "Work on this incident was cut off before it finished."
	}
	if detail != "" {
		text += " (" + detail + ")"
	}
	return text
}
