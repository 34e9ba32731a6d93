package incident

import (
	"slices"
	"time"
)

// Drill makes an incident an exercise of the people on call: its alert and its readings are recorded ones, and nothing
// is ever written for it, whatever the mode of its pool. In JSON it is "exercise", because "drill" has always been
// there as the old name of a dry run.
type Drill struct {
	// Scenario is the name of what is played, Plays says it in words, and Expected is the diagnosis that it was recorded
	// for. What is found is today's playbooks' own.
	Scenario string `json:"scenario"`
	Plays    string `json:"plays,omitempty"`
	Expected string `json:"expected,omitempty"`
	// By started it: a person, or the schedule of the configuration, for its time Slot.
	By   Actor     `json:"by"`
	Slot time.Time `json:"slot,omitzero"`
	// Result is how it ended; empty while it goes on.
	Result DrillResult `json:"result,omitempty"`
	// PostedAt is when people got the message, as far as that is known at the end.
	PostedAt time.Time `json:"postedAt,omitzero"`
	// SeenAt is when SeenBy was the first to acknowledge, to ask for details or to click; zero while nobody has.
	SeenAt time.Time `json:"seenAt,omitzero"`
	SeenBy *Actor    `json:"seenBy,omitempty"`
	// DecidedAt is when the last decision was made that it took, by DecidedBy.
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	DecidedBy *Actor    `json:"decidedBy,omitempty"`
}

// DrillResult is how a drill ended.
type DrillResult string

// The results. Only DrillDecided says that people did what the drill was for.
const (
	DrillDecided     DrillResult = "decided"
	DrillUndecided   DrillResult = "undecided"   // the time to decide ended first
	DrillNotAsked    DrillResult = "not_asked"   // there was no step that anybody could decide on
	DrillStopped     DrillResult = "stopped"     // a person stopped it, or its pool is gone
	DrillInterrupted DrillResult = "interrupted" // a real alert came
	DrillNotStarted  DrillResult = "not_started" // it was asked for and refused
)

// Scenario is what a drill can play.
type Scenario struct {
	// Name is how it is called, Plays what it is in a few words, and Expected the diagnosis that it was recorded for.
	Name     string `json:"name"`
	Plays    string `json:"plays"`
	Expected string `json:"expected"`
	// Alerts are those that fire in it.
	Alerts []ScenarioAlert `json:"alerts"`
}

// ScenarioAlert is one alert of a scenario.
type ScenarioAlert struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
}

// DrillOrder asks for a drill. It goes through the inbox as alerts do. The same ID never begins two.
type DrillOrder struct {
	// ID becomes the incident's.
	ID       string    `json:"id"`
	Pool     string    `json:"pool"`
	Scenario string    `json:"scenario"`
	By       Actor     `json:"by"`
	Slot     time.Time `json:"slot,omitzero"`
}

// DrillStarted says in the thread what is played and who started it.
type DrillStarted struct{}

// DrillSeen says that a person has looked at a drill in a way that leaves no other trace.
type DrillSeen struct{ By Actor }

// DrillEnded ends a drill, in whatever state it is. Nothing of it is left: it has made no write and holds no lock.
type DrillEnded struct {
	Result   DrillResult
	PostedAt time.Time
	// NotStarted is why it never began; the zero Note of one that did.
	NotStarted Note
}

// Kind names the event.
func (DrillStarted) Kind() EventKind { return KindDrillStarted }

// Kind names the event.
func (DrillSeen) Kind() EventKind { return KindDrillSeen }

// Kind names the event.
func (DrillEnded) Kind() EventKind { return KindDrillEnded }

// NewDrill returns an incident that is a drill and has just been received. It is a dry run, whatever the pool's mode.
func NewDrill(o DrillOrder, now time.Time) Incident {
	inc := New(o.ID, o.Pool, ModeDryRun, true, now)
	inc.Drill = &Drill{Scenario: o.Scenario, By: o.By, Slot: o.Slot}
	return inc
}

// DrillOver says how a drill has ended by itself; empty while people may still decide.
func (i Incident) DrillOver() DrillResult {
	switch {
	case i.Drill == nil || i.State != StateWatching:
		return ""
	case i.MuteReason == MutedExpired:
		return DrillUndecided
	case !i.Drill.DecidedAt.IsZero():
		return DrillDecided
	case i.Said.Kind == NoteAborted:
		return DrillStopped
	}
	return DrillNotAsked
}

// drill keeps what is measured of a drill: when somebody looked first, and when it was decided.
func (a *applier) drill(ev Event) {
	d := a.inc.Drill
	if d == nil {
		return
	}
	by, did := doer(ev)
	if !did || !by.Person() {
		return
	}
	if d.SeenAt.IsZero() {
		d.SeenAt, d.SeenBy = a.now, &by
	}
	decided := a.inc.State == StateApplying || a.inc.State == StateWatching
	if _, decision := ev.(Decided); decision && decided && d.DecidedAt.IsZero() {
		d.DecidedAt, d.DecidedBy = a.now, &by
	}
}

// doer is who did what an event says, where somebody did.
func doer(ev Event) (Actor, bool) {
	switch e := ev.(type) {
	case Decided:
		return e.Decision.By, true
	case Acked:
		return e.By, true
	case AskedAgain:
		return e.By, true
	case Narrowed:
		return e.By, true
	case Aborted:
		return e.By, true
	case Closed:
		return e.By, true
	case DrillSeen:
		return e.By, true
	}
	return Actor{}, false
}

func (a *applier) drillStarted() error {
	d := a.inc.Drill
	if d == nil {
		return refusal(Note{Kind: RefusedNoDrill})
	}
	a.say(Note{Kind: NoteDrillStarted, By: d.By, Pool: a.inc.Pool, Why: d.Plays})
	return nil
}

func (a *applier) drillSeen(e DrillSeen) error {
	if d := a.inc.Drill; d == nil || !d.SeenAt.IsZero() {
		return refusal(Note{Kind: RefusedNoDrill})
	}
	a.add(&e.By, "", false, nil, Note{Kind: NoteDrillSeen, By: e.By})
	return nil
}

func (a *applier) drillEnded(e DrillEnded) error {
	d := a.inc.Drill
	if d == nil || d.Result != "" {
		return refusal(Note{Kind: RefusedNoDrill})
	}
	a.endRequest()
	a.supersede(ReasonClosed)
	a.inc.Active, a.inc.UndoOffered, a.inc.Setback = nil, "", nil
	a.inc.State, a.inc.ClosedAt = StateClosed, a.now
	d.Result, d.PostedAt = e.Result, e.PostedAt
	if e.NotStarted.Kind != "" {
		a.setNote(e.NotStarted)
		a.note(e.NotStarted)
		return nil
	}
	sum := a.inc.DrillSummary()
	said := Note{Kind: NoteDrillEnded, Drill: &sum}
	if sum.DecidedBy != nil {
		said.By = *sum.DecidedBy
	}
	if sum.SeenBy != nil {
		said.Other = *sum.SeenBy
	}
	a.setNote(said)
	a.say(said)
	return nil
}

// DrillSummary is what a drill has measured, and what would have been written.
type DrillSummary struct {
	Incident  string      `json:"id"`
	Pool      string      `json:"pool"`
	Scenario  string      `json:"scenario"`
	Result    DrillResult `json:"result"`
	By        Actor       `json:"by"`
	StartedAt time.Time   `json:"startedAt"`
	EndedAt   time.Time   `json:"endedAt,omitzero"`
	// MessageAfter, SeenAfter and DecidedAfter count from the start, in nanoseconds; nil: it did not happen, or that is
	// not known.
	MessageAfter *time.Duration `json:"messageAfter,omitempty"`
	SeenAfter    *time.Duration `json:"seenAfter,omitempty"`
	SeenBy       *Actor         `json:"seenBy,omitempty"`
	DecidedAfter *time.Duration `json:"decidedAfter,omitempty"`
	DecidedBy    *Actor         `json:"decidedBy,omitempty"`
	Decisions    []Decision     `json:"decisions"`
	// Expected is the diagnosis that the scenario was recorded for, Diagnosis the one that was found; empty: none.
	Expected  string `json:"expected,omitempty"`
	Diagnosis string `json:"diagnosis,omitempty"`
	// Would are the steps that could be decided on, or were refused before.
	Would []WouldWrite `json:"would"`
}

// WouldWrite is one change that a drill was about.
type WouldWrite struct {
	Step   string    `json:"step"`
	Title  string    `json:"title"`
	Target Target    `json:"target"`
	From   Value     `json:"from"`
	To     Value     `json:"to"`
	State  StepState `json:"state"`
	// DryRun says that it was approved and passed the dry run, so that the bot would have written it. Checked says that
	// the API server itself took it, and not only this program.
	DryRun  bool `json:"dryRun"`
	Checked bool `json:"checked"`
	// Cause is why it would not have been written; empty of one that would, or that nobody approved.
	Cause Reason `json:"cause,omitzero"`
}

// DrillSummary says what the drill has measured so far.
func (i Incident) DrillSummary() DrillSummary {
	d := i.Drill
	sum := DrillSummary{
		Incident: i.ID, Pool: i.Pool, Scenario: d.Scenario, Result: d.Result, By: d.By, StartedAt: i.OpenedAt,
		EndedAt: i.ClosedAt, SeenBy: cloned(d.SeenBy), DecidedBy: cloned(d.DecidedBy),
		Decisions: slices.Clone(i.Decisions), Expected: d.Expected, Would: []WouldWrite{},
		MessageAfter: i.after(d.PostedAt), SeenAfter: i.after(d.SeenAt), DecidedAfter: i.after(d.DecidedAt),
	}
	if i.Diagnosis != nil {
		sum.Diagnosis = i.Diagnosis.Name
	}
	var steps []Step
	steps = append(steps, i.AppliedEarlier...)
	if i.Plan != nil {
		steps = append(steps, i.Plan.Steps...)
	}
	for _, s := range steps {
		if s.Kind == StepManual {
			continue
		}
		sum.Would = append(sum.Would, WouldWrite{
			Step: s.ID, Title: s.Title, Target: s.Target, From: s.From, To: s.To, State: s.State,
			DryRun: s.State == StepApplied, Checked: s.Checked.OK, Cause: s.Cause,
		})
	}
	return sum
}

// after is how long after the opening something was; nil when it was not.
func (i Incident) after(at time.Time) *time.Duration {
	if at.IsZero() {
		return nil
	}
	d := max(0, at.Sub(i.OpenedAt))
	return &d
}
