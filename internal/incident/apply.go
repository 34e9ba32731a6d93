package incident

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Result is what an event made of an incident: its new value and the lines for the journal (without Seq; the store
// numbers them).
type Result struct {
	Incident Incident
	Entries  []Entry
	// Render says that people should see the change in the message.
	Render bool
	// Ignored are the words about alerts that changed nothing.
	Ignored []IgnoredWords
}

// Apply works out what an event makes of an incident at a time. It is total and pure: every pair of state and event has
// an answer. The answer is either a Result or a *RefusedError, for which present has the words; the incident passed in
// is never changed. The journal says everything that Apply did.
func Apply(inc Incident, ev Event, now time.Time) (Result, error) {
	return ApplyAll(inc, []Event{ev}, now)
}

// ApplyAll is Apply for events that follow each other, all or none; it copies the incident once.
func ApplyAll(inc Incident, events []Event, now time.Time) (Result, error) {
	a := &applier{inc: inc.Clone(), now: now}
	for _, ev := range events {
		before := a.inc.State
		allowed, ok := transitions[before][ev.Kind()]
		if !ok {
			return Result{}, notNow(a.inc, ev)
		}
		a.kind, a.noteStep = ev.Kind(), ""
		note := a.inc.Said
		record, about, first := recordOf(a.inc, ev), stepOf(a.inc, ev), len(a.entries)
		if err := a.dispatch(ev); err != nil {
			return Result{}, err
		}
		a.drill(ev)
		attach(a.entries[first:], about, record)
		if a.noteStep != "" || !a.inc.Said.Same(note) {
			a.inc.NoteStep = a.noteStep
		}
		if !slices.Contains(allowed, a.inc.State) {
			return Result{},
				fmt.Errorf("incident %s: %s in state %s led to %s, which the state machine does not know", inc.ID, ev.Kind(),
					before, a.inc.State)
		}
	}
	a.keepHistory()
	if a.unkept != nil {
		a.inc.AlertsNotKept = a.unkept.closed()
	}
	a.inc.UpdatedAt = now
	return Result{Incident: a.inc, Entries: a.entries, Render: a.render, Ignored: a.ignored}, nil
}

type applier struct {
	inc     Incident
	now     time.Time
	kind    EventKind
	entries []Entry
	render  bool
	// noteStep becomes Incident.NoteStep with a note that says the reason of this step.
	noteStep string
	// index is where each alert is in the incident, by its fingerprint; nil when it is to be made.
	index   map[string]int
	ignored []IgnoredWords
	// unkept is what becomes AlertsNotKept; nil: it stays as it is.
	unkept *unkept
}

func (a *applier) dispatch(ev Event) error {
	switch e := ev.(type) {
	case AlertsReceived:
		return a.alerts(e)
	case InvestigationStarted:
		a.inc.State = StateInvestigating
		a.note(Note{Kind: NoteStarted})
	case Investigated:
		return a.investigated(e)
	case Asked:
		a.asked(e)
	case Muted:
		a.mute(NotMuted, e.Note)
	case Decided:
		return a.decided(e)
	case AskedAgain:
		return a.askedAgain(e)
	case Reminded:
		return a.reminded()
	case Escalated:
		return a.escalated(e)
	case Expired:
		a.expired()
	case Narrowed:
		return a.narrowed(e)
	case Stopped:
		return a.stopped(e)
	case WriteClaimed:
		return a.claimed(e)
	case Unanswered:
		return a.unanswered(e)
	case Written:
		return a.written(e)
	case RolledOut:
		return a.rolledOut(e)
	case Settled:
		return a.settled()
	case Verified:
		return a.verified(e)
	case Reverted:
		return a.reverted(e)
	case UndoStarted:
		return a.undo(e.Step, e.By, Note{For: e.Healthy})
	case Aborted:
		return a.aborted(e)
	case Acked:
		a.inc.AckedBy = &e.By
		a.by(e.By, "", Note{Kind: NoteAcked, By: e.By})
	case Gathered:
		return a.gathered()
	case Noted:
		return a.noted(e)
	case SetBack:
		return a.setBack(e)
	case Rerouted:
		return a.rerouted(e)
	case Closed:
		return a.closed(e)
	case DrillStarted:
		return a.drillStarted()
	case DrillSeen:
		return a.drillSeen(e)
	case DrillEnded:
		return a.drillEnded(e)
	default:
		return fmt.Errorf("incident %s: unknown event %T", a.inc.ID, ev)
	}
	return nil
}

// notNow is the answer to an event that the state does not take, for a person where people can cause it.
func notNow(inc Incident, ev Event) *RefusedError {
	switch e := ev.(type) {
	case Decided:
		return decisionNotNow(inc, e.Decision)
	case Closed:
		if inc.State == StateClosed {
			return refusal(Note{Kind: RefusedClosed})
		}
		return refusal(Note{Kind: RefusedClose, During: inc.State})
	case Aborted:
		return refusal(Note{Kind: RefusedAbort, During: inc.State})
	case AskedAgain:
		return refusal(Note{Kind: RefusedAskAgain, During: inc.State})
	case Acked:
		return refusal(Note{Kind: RefusedClosed})
	default:
		return refusal(Note{Kind: RefusedEvent, Event: ev.Kind(), During: inc.State})
	}
}

// say adds a line to the journal and to the Slack thread, and has the message drawn again.
func (a *applier) say(n Note) { a.add(nil, "", true, nil, n) }

// sayAlways is say for a line that is kept whatever its kind.
func (a *applier) sayAlways(n Note) {
	a.tellAlerts()
	a.entries = append(a.entries, Entry{At: a.now, Kind: a.kind, Said: n, Thread: true})
	a.render = true
}

// note adds a line to the journal only.
func (a *applier) note(n Note) { a.add(nil, "", false, nil, n) }

func (a *applier) by(who Actor, step string, n Note) { a.add(&who, step, true, nil, n) }

func (a *applier) step(id string, n Note) { a.add(nil, id, true, nil, n) }

// setNote says why the incident is where it is; the zero Note says nothing.
func (a *applier) setNote(n Note) { a.inc.Said, a.inc.Note = n, "" }

func (a *applier) add(by *Actor, step string, thread bool, data any, n Note) {
	if thread {
		a.tellAlerts()
	}
	e := Entry{At: a.now, Kind: a.kind, Said: n, By: by, Step: step, Thread: thread}
	if data != nil {
		// Journal data are this package's own structs of strings, numbers and times: Marshal cannot fail on them.
		if b, err := json.Marshal(data); err == nil {
			e.Data = b
		}
	}
	a.record(e)
	a.render = true
}

// edit changes the step with the id, in the plan or among the steps of earlier plans.
func (a *applier) edit(id string, change func(*Step)) (Step, error) {
	find := func(steps []Step) *Step {
		for n := range steps {
			if steps[n].ID == id {
				return &steps[n]
			}
		}
		return nil
	}
	var s *Step
	if a.inc.Plan != nil {
		s = find(a.inc.Plan.Steps)
	}
	if s == nil {
		s = find(a.inc.AppliedEarlier)
	}
	if s == nil {
		return Step{}, refusal(Note{Kind: RefusedNoStep})
	}
	change(s)
	return *s, nil
}

func (a *applier) noted(e Noted) error {
	same := e.Note.Kind == "" || a.inc.Said.Same(e.Note)
	if same && len(e.Sought) == 0 && !e.Show {
		return refusal(Note{Kind: RefusedNoted})
	}
	if e.Show {
		a.inc.Unshown = false
	}
	sought := make(map[string]bool, len(e.Sought))
	for _, f := range e.Sought {
		sought[f] = true
	}
	for n := range a.inc.Alerts {
		a.inc.Alerts[n].Sought = a.inc.Alerts[n].Sought || sought[a.inc.Alerts[n].Fingerprint]
	}
	if e.Routing.Kind != "" {
		a.say(e.Routing)
	}
	if !same {
		a.setNote(e.Note)
		a.add(nil, "", !e.Silent, nil, e.Note)
	}
	return nil
}

func (a *applier) mute(why MuteReason, note Note) {
	a.inc.State = StateWatching
	a.inc.MuteReason = why
	a.setNote(note)
	a.endRequest()
	a.inc.Active, a.inc.Narrowings = nil, nil
	if why != NotMuted {
		a.inc.AskedBy = nil
	}
	if a.inc.Plan != nil {
		a.inc.Plan.ExpiresAt = time.Time{}
	}
	if note.Kind != "" {
		a.say(note)
	}
}

func (a *applier) closed(e Closed) error {
	if gaps := a.inc.Mitigations(); len(gaps) > 0 {
		return refusal(Note{Kind: RefusedMitigation, Step: gaps[0].Title})
	}
	a.endRequest()
	a.inc.LastCall = nil // whoever went back to bed is called when it begins again
	a.inc.State = StateClosed
	a.inc.ClosedAt = a.now
	why := e.Note
	if why.Kind == "" {
		why = Note{Kind: NoteClosedBy, By: e.By, Why: e.Reason}
	}
	a.setNote(why)
	a.supersede(ReasonClosed)
	a.by(e.By, "", why)
	return nil
}

// supersede marks every step that still waits for a decision as superseded.
func (a *applier) supersede(why ReasonKind) {
	if a.inc.Plan == nil {
		return
	}
	for n := range a.inc.Plan.Steps {
		s := &a.inc.Plan.Steps[n]
		if s.State == StepProposed || s.State == StepApproved {
			s.State = StepSuperseded
			s.because(Reason{Kind: why})
		}
	}
	a.inc.Plan.ExpiresAt = time.Time{}
}
