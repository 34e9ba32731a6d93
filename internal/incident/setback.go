package incident

import "time"

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
	said := Note{Kind: NoteWorkFailed, Setback: e.How, Why: e.Detail, Count: next.Count, Parked: e.Parked, At: e.RetryAt}
	if e.RetryAt.IsZero() {
		a.note(said) // a process may end in the middle of something; the next one goes on
		return nil
	}
	a.setNote(said)
	a.inc.Unshown = false // what the bot can't work on is shown
	if next.Told && (!e.Parked || before.Parked) {
		a.note(said)
		return nil
	}
	next.Told = true
	a.say(said)
	return nil
}

func (a *applier) recoverFrom(before *Setback) error {
	if before == nil {
		return refusal(Note{Kind: RefusedNoSetback})
	}
	a.inc.Setback = nil
	if before.Told {
		a.setNote(Note{})
		a.say(Note{Kind: NoteWorkResumed})
	}
	return nil
}
