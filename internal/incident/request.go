package incident

import (
	"slices"
	"time"
)

// Request is what people are being asked. It is made once, in a line of the thread that calls them, and lasts while the
// plan follows the live values.
type Request struct {
	// At is since when they are asked; zero while another one takes its place.
	At time.Time `json:"at"`
	// Steps identify what is asked: the fields, whatever their values.
	Steps []string `json:"steps,omitempty"`
	// Undo is the step whose undo is offered.
	Undo string `json:"undo,omitempty"`
	// Mention are all who have been called for it, at once or by the one before it.
	Mention []string `json:"mention,omitempty"`
	// RemindedAt is when they were reminded.
	RemindedAt time.Time `json:"remindedAt,omitzero"`
	// Escalated is how far it was escalated: the newest Escalation.After.
	Escalated time.Duration `json:"escalated,omitempty"`
}

// LastCall is who was called last, and when. It outlasts the request that called them.
type LastCall struct {
	Mention []string  `json:"mention,omitempty"`
	At      time.Time `json:"at"`
}

// Reminded reminds people that the time to decide ends soon.
type Reminded struct{}

// Escalated calls further people, who may decide from now on, too. After is how long after the request they are called.
type Escalated struct {
	After         time.Duration
	Users, Groups []string
}

// Kind names the event.
func (Reminded) Kind() EventKind { return KindReminded }

// Kind names the event.
func (Escalated) Kind() EventKind { return KindEscalated }

// AskedAt is since when people are asked to decide; zero while they are not.
func (i Incident) AskedAt() time.Time {
	if i.Request == nil {
		return time.Time{}
	}
	return i.Request.At
}

// Deciders are those of the approvers who may decide on what is asked at a time. The clock of a request does not count
// for a plan about which nobody has been asked yet.
func (i Incident) Deciders(a Approvers, now time.Time) Approvers {
	if i.State == StateProposed {
		return a.InForce(0)
	}
	return a.InForce(i.askedFor(now))
}

// Called are those of the approvers who have been called so far in the incident's life, for whatever was asked. They
// may take back, stop, and ask again, also when the request that called them has ended.
func (i Incident) Called(a Approvers, now time.Time) Approvers {
	return a.InForce(max(i.AskedFor, i.askedFor(now)))
}

// askedFor is for how long people have been asked what they are asked at a time.
func (i Incident) askedFor(now time.Time) time.Duration {
	if !i.Request.Open() {
		return 0
	}
	return now.Sub(i.Request.At)
}

// Asking are the steps that wait for a decision: those of the plan, and the one whose undo is offered.
func (i Incident) Asking() []Step {
	out := i.Proposed()
	if s, ok := i.Step(i.UndoOffered); ok && i.UndoOffered != "" {
		out = append(out, s)
	}
	return out
}

// Open says whether people are being asked.
func (r *Request) Open() bool { return r != nil && !r.At.IsZero() }

// covers says whether all of this was asked already.
func (r Request) covers(o Request) bool {
	for _, s := range o.Steps {
		if !slices.Contains(r.Steps, s) {
			return false
		}
	}
	return o.Undo == "" || o.Undo == r.Undo
}

// callAgain is how long after a call the same people are not called again for something new: they look already, and
// find all that is asked in the message and in a line of the thread. A moving incident asks for one thing after
// another, and a rollback that is offered is followed within seconds by a look that may find another step to ask
// about. It is our own; reminders and escalations, which the configuration asks for, don't wait for it.
const callAgain = 10 * time.Minute

// request calls the approvers for what is asked now, in a line of the thread: a message in Slack that is only edited
// makes no phone ring. It does so once: not when the same plan is looked at again or follows the live values, but when
// something is asked that was not before. That is a new request, for those who are asked first: whoever was called for
// the one before waits for their time again.
func (a *applier) request() {
	open := a.inc.Asking()
	if len(open) == 0 {
		return
	}
	want := Request{At: a.now, Undo: a.inc.UndoOffered}
	for _, s := range open {
		want.Mention = called(want.Mention, s.Needs.Groups, s.Needs.Users)
		if s.ID != a.inc.UndoOffered {
			want.Steps = append(want.Steps, s.setting())
		}
	}
	if old := a.inc.Request; old != nil {
		if old.Open() && old.covers(want) {
			return
		}
		want.Steps = called(want.Steps, old.Steps) // a cause that comes back and asks for these again calls nobody
	}
	a.endRequest()
	a.inc.Request = &want
	a.call(NoteApprovalNeeded, a.toCall(want.Mention))
}

// toCall are those of ids who were not called just now, and remembers them.
func (a *applier) toCall(ids []string) []string {
	last := a.inc.LastCall
	if last == nil || !a.now.Before(last.At.Add(callAgain)) {
		a.inc.LastCall = &LastCall{Mention: ids, At: a.now}
		return ids
	}
	last.Mention, ids = called(last.Mention, ids), slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.Contains(last.Mention, id)
	})
	return ids
}

// setting identifies the field that a step sets, whatever its value.
func (s Step) setting() string {
	return digest([]string{string(s.Kind), s.Target.Key(), s.Target.Field})
}

// asksNothingNew says whether people are being asked about all that an investigation proposes.
func (a *applier) asksNothingNew(e Investigated) bool {
	var want Request
	for _, s := range e.Steps {
		if s.Executable() {
			want.Steps = append(want.Steps, s.setting())
		}
	}
	return a.inc.Request.Open() && len(want.Steps) > 0 && a.inc.Request.covers(want)
}

// replaceRequest ends what is asked and keeps what that was, for the request that takes its place while people decide.
func (a *applier) replaceRequest() {
	old := a.inc.Request
	a.endRequest()
	if a.inc.State == StateDeciding && old != nil {
		a.inc.Request = &Request{Steps: old.Steps}
	}
}

// endRequest ends what is asked, and remembers for how long it was.
func (a *applier) endRequest() {
	a.inc.AskedFor = max(a.inc.AskedFor, a.inc.askedFor(a.now))
	a.inc.Request = nil
}

// called adds ids, each once.
func called(ids []string, more ...[]string) []string {
	for _, id := range slices.Concat(more...) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// call adds a line that calls people, which is kept whatever its kind.
func (a *applier) call(kind NoteKind, mention []string) {
	a.tellAlerts()
	n := Note{Kind: kind, Names: titles(a.inc.Proposed())}
	if a.inc.Plan != nil {
		n.At = a.inc.Plan.ExpiresAt
	}
	if a.inc.DryRun {
		n.Mode = ModeDryRun
	}
	if s, ok := a.inc.Step(a.inc.UndoOffered); ok && a.inc.UndoOffered != "" {
		n.Verb, n.Step, n.Value = Undo, s.Title, s.Undo
		if s.Verification != nil {
			n.Verdict = s.Verification.Verdict
		}
	}
	a.entries = append(a.entries, Entry{At: a.now, Kind: a.kind, Said: n, Thread: true, Mention: mention})
	a.render = true
}

func (a *applier) reminded() error {
	r := a.inc.Request
	if !r.Open() || !r.RemindedAt.IsZero() || len(a.inc.Asking()) == 0 || a.inc.Plan == nil || a.overdue() {
		return refusal(Note{Kind: RefusedNoRequest})
	}
	r.RemindedAt = a.now
	a.call(NoteReminder, r.Mention)
	return nil
}

func (a *applier) escalated(e Escalated) error {
	r := a.inc.Request
	if !r.Open() || e.After <= r.Escalated || a.now.Before(r.At.Add(e.After)) || len(a.inc.Asking()) == 0 ||
		a.inc.Plan == nil || a.overdue() {
		return refusal(Note{Kind: RefusedNoRequest})
	}
	further := called(nil, e.Groups, e.Users)
	r.Escalated, r.Mention = e.After, called(r.Mention, further)
	if a.inc.LastCall != nil {
		a.inc.LastCall.Mention = called(a.inc.LastCall.Mention, further)
	}
	a.call(NoteEscalated, further)
	return nil
}
