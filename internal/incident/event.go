package incident

import "time"

// EventKind names what happened; it is also the kind of the journal's entries.
type EventKind string

// The kinds of events.
const (
	KindAlerts       EventKind = "alerts"
	KindGathered     EventKind = "alerts_gathered"
	KindStarted      EventKind = "investigation_started"
	KindInvestigated EventKind = "investigated"
	KindAsked        EventKind = "asked"
	KindMuted        EventKind = "muted"
	KindDecided      EventKind = "decided"
	KindAskedAgain   EventKind = "asked_again"
	KindReminded     EventKind = "reminded"
	KindEscalated    EventKind = "escalated"
	KindExpired      EventKind = "expired"
	KindRefused      EventKind = "step_refused"
	KindClaimed      EventKind = "write_claimed"
	KindUnanswered   EventKind = "write_unanswered"
	KindWritten      EventKind = "written"
	KindRolledOut    EventKind = "rolled_out"
	KindSettled      EventKind = "settled"
	KindVerified     EventKind = "verified"
	KindReverted     EventKind = "reverted"
	KindUndoStarted  EventKind = "undo_started"
	KindAborted      EventKind = "aborted"
	KindAcked        EventKind = "acked"
	KindRerouted     EventKind = "rerouted"
	KindNarrowed     EventKind = "narrowed"
	KindNoted        EventKind = "noted"
	KindSetback      EventKind = "setback"
	KindClosed       EventKind = "closed"
	KindDrillStarted EventKind = "drill_started"
	KindDrillSeen    EventKind = "drill_seen"
	KindDrillEnded   EventKind = "drill_ended"
)

// EventKinds lists every kind.
func EventKinds() []EventKind {
	return []EventKind{
		KindAlerts, KindGathered, KindStarted, KindInvestigated, KindAsked, KindMuted, KindDecided, KindAskedAgain,
		KindReminded,
		KindEscalated, KindExpired,
		KindRefused, KindClaimed, KindUnanswered, KindWritten, KindRolledOut, KindSettled, KindVerified, KindReverted,
		KindUndoStarted, KindAborted, KindAcked, KindNarrowed, KindRerouted, KindNoted, KindSetback,
		KindClosed, KindDrillStarted, KindDrillSeen, KindDrillEnded,
	}
}

// Event is something that happened to an incident.
type Event interface{ Kind() EventKind }

// AlertsReceived brings alerts of one delivery that belong to the incident's pool.
type AlertsReceived struct {
	Alerts []Alert
	// Note is said once, in the thread: a Routing, or nothing.
	Note Note
	// Mode is the pool's present mode, for an incident that is opened again; empty: it keeps its own.
	Mode Mode
	// Source is Delivery.Source, and Delivery its ID; 0 for alerts that come from another incident.
	Source   string
	Delivery int64
	// Before is what was known of alerts, by fingerprint, when no incident knew of them: that they have ended.
	Before map[string]Alert
	// Reopen is how long after its end they open a closed incident again: Timing.Reopen; 0 is ReopenWithin.
	Reopen time.Duration
}

// InvestigationStarted says that evidence is being collected for the first time.
type InvestigationStarted struct{}

// Investigated brings evidence, diagnosis and the steps of a plan, in order, with digests and guardrails but without
// ids.
type Investigated struct {
	Evidence  Evidence
	Diagnosis *Diagnosis
	Others    []Other
	Steps     []Step
	// Unread says that the live values behind a step could not be read: it is refused then, which says nothing about a
	// plan that people are asked about.
	Unread bool
	// Healthy says whether the signals are within their thresholds; Undecided when one that matters has no value.
	Healthy Truth
	// Note says why there is no diagnosis or no plan.
	Note string
	// NotNarrowed says, by kind of step, why a smaller change that a person chose cannot be proposed.
	NotNarrowed map[StepKind]Reason
	// Unrecorded are a NoteUnrecorded for each object whose last write isn't in the database, and a NoteRecordUnknown
	// where that isn't known. Each is said once in an incident.
	Unrecorded []Note
}

// Asked says that people are asked, until ExpiresAt.
type Asked struct{ ExpiresAt time.Time }

// Muted says that nobody will be asked and why.
type Muted struct{ Note Note }

// Decided is a decision of a person or of policy. Apply checks digests, states and confirmation; whether the actor is
// allowed is checked before.
type Decided struct {
	Decision Decision
	// Approvers are the ones configured at the moment of the decision; nil: not known, so what the step says holds.
	Approvers *Approvers
	// Paused covers the pool at that moment; nil: nothing does. It is against an approval only, which leads to a write.
	Paused *Pause
}

// AskedAgain says that a person wants to be asked again after a no: what was denied, or expired, is investigated and
// proposed afresh. Whether the person is allowed is checked before.
type AskedAgain struct {
	By     Actor
	Reason string
	// Revision is of the plan that the person saw; 0: whichever there is.
	Revision int
}

// Expired says that nobody decided in time.
type Expired struct{}

// Stopped says that a step, or its undo, may not run after all: the world or a guardrail changed. It is refused when
// another one waits for its write by now: the check took its time, and it says nothing about that one.
type Stopped struct {
	Step       string
	Op         Op
	Why        Reason
	Guardrails []Guardrail
	// ExpiresAt is until when people may decide on what is left of the plan.
	ExpiresAt time.Time
}

// WriteClaimed says that the write of a step, or of its undo, is about to be made under this id. Before are the
// readings to compare with later. It is refused when another one waits for its write by now, as Stopped is.
type WriteClaimed struct {
	Step    string
	Op      Op
	WriteID string
	Before  map[string]Reading
	// Mark is what the field was like just before; nil in a dry run.
	Mark *Mark
}

// Unanswered says that a claimed write was tried and nobody knows whether it took effect. The object is looked at
// before it is tried again.
type Unanswered struct{ Error string }

// Written says how the write ended.
type Written struct {
	Result   WriteResult
	Why      Reason
	Versions Versions
	// ExpiresAt is until when people may decide on what is left of the plan when nothing was written.
	ExpiresAt time.Time
}

// RolledOut says that the rollout has ended, well or not, and until when the signals settle.
type RolledOut struct {
	Failed      bool
	Why         Reason
	SettleUntil time.Time
}

// Settled says that the signals' window has passed.
type Settled struct{}

// Verified brings one reading after the change. Final is false while more readings are needed.
type Verified struct {
	Verification Verification
	Final        bool
	// UndoNow says that policy undoes the step without asking again.
	UndoNow bool
	// ExpiresAt is until when people may decide what follows.
	ExpiresAt time.Time
}

// Reverted says that a field which a step, or its undo, has set holds another value now. There is nothing left to
// verify, and nothing of the bot's to undo.
type Reverted struct {
	Step     string
	Reversal Reversal
	// ExpiresAt is until when people may decide on what is left of the plan.
	ExpiresAt time.Time
}

// UndoStarted begins the way back of an applied step: after recovery for a mitigation, or by policy.
type UndoStarted struct {
	Step string
	By   Actor
	// Healthy is how long the pool has been healthy, for a lift.
	Healthy time.Duration
}

// Aborted says that a person stopped what the bot was doing or asking.
type Aborted struct {
	By     Actor
	Reason string
	// Step and Since are the active step that the person saw before its write, and since when it was (Active.Since);
	// with an empty Step everything is stopped, whatever it is.
	Step  string
	Since time.Time
}

// Acked says that a person has seen the incident.
type Acked struct{ By Actor }

// Rerouted says that alerts which led to no pool lead to one now, and are in its incident.
type Rerouted struct {
	Fingerprints []string
	Pool         string
}

// Noted says why the bot cannot go on for the moment, once, so that nobody takes its silence for calm. Silent keeps it
// out of the thread, when only its details are new: the message shows them.
//
// For an incident without a pool it also says what was found of the pools of its alerts: Sought are the fingerprints of
// those about which everything is said now, Routing what there is to say. Show has people shown it from now on.
type Noted struct {
	Note    Note
	Silent  bool
	Show    bool
	Sought  []string
	Routing Note
}

// SetBack says that the bot's own work on the incident failed in a way that would come again: it panicked, did not end,
// or ended with the process. An empty How says that the work has gone well again.
type SetBack struct {
	How SetbackKind
	// Detail is what the panic was, or the like; it may be empty.
	Detail string
	// RetryAt is when the work is begun again; zero: at once.
	RetryAt time.Time
	// Parked says that it is begun again only rarely from now on.
	Parked bool
}

// Closed ends the incident. Note is the bot's own reason, Reason what a person gave.
type Closed struct {
	By     Actor
	Reason string
	Note   Note
}

// Kind names the event.
func (AlertsReceived) Kind() EventKind { return KindAlerts }

// Kind names the event.
func (InvestigationStarted) Kind() EventKind { return KindStarted }

// Kind names the event.
func (Investigated) Kind() EventKind { return KindInvestigated }

// Kind names the event.
func (Asked) Kind() EventKind { return KindAsked }

// Kind names the event.
func (Muted) Kind() EventKind { return KindMuted }

// Kind names the event.
func (Decided) Kind() EventKind { return KindDecided }

// Kind names the event.
func (AskedAgain) Kind() EventKind { return KindAskedAgain }

// Kind names the event.
func (Expired) Kind() EventKind { return KindExpired }

// Kind names the event.
func (Stopped) Kind() EventKind { return KindRefused }

// Kind names the event.
func (WriteClaimed) Kind() EventKind { return KindClaimed }

// Kind names the event.
func (Unanswered) Kind() EventKind { return KindUnanswered }

// Kind names the event.
func (Written) Kind() EventKind { return KindWritten }

// Kind names the event.
func (RolledOut) Kind() EventKind { return KindRolledOut }

// Kind names the event.
func (Settled) Kind() EventKind { return KindSettled }

// Kind names the event.
func (Verified) Kind() EventKind { return KindVerified }

// Kind names the event.
func (Reverted) Kind() EventKind { return KindReverted }

// Kind names the event.
func (UndoStarted) Kind() EventKind { return KindUndoStarted }

// Kind names the event.
func (Aborted) Kind() EventKind { return KindAborted }

// Kind names the event.
func (Acked) Kind() EventKind { return KindAcked }

// Kind names the event.
func (Rerouted) Kind() EventKind { return KindRerouted }

// Kind names the event.
func (Noted) Kind() EventKind { return KindNoted }

// Kind names the event.
func (SetBack) Kind() EventKind { return KindSetback }

// Kind names the event.
func (Closed) Kind() EventKind { return KindClosed }
