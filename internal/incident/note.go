package incident

import "time"

// NoteKind names what a note says.
type NoteKind string

// What is said of alerts and of an incident as a whole.
const (
	// NoteText is text that comes from elsewhere: Why.
	NoteText     NoteKind = "text"
	NoteStarted  NoteKind = "started"
	NoteAcked    NoteKind = "acked"
	NoteFiring   NoteKind = "firing"
	NoteJoined   NoteKind = "joined"
	NoteRefired  NoteKind = "refired"
	NoteResolved NoteKind = "resolved"
	// NoteAlerts is how the alerts have changed since the thread was told of them: Names fire, Again and Ended and Flapped
	// are others, and Count fire in all.
	NoteAlerts     NoteKind = "alerts"
	NoteMoved      NoteKind = "moved"
	NoteRouting    NoteKind = "routing"
	NoteNothingNew NoteKind = "nothing_new"
	NoteReopened   NoteKind = "reopened"
	NoteClosedBy   NoteKind = "closed_by"
	NoteHealthyFor NoteKind = "healthy_for"
	NoteUnheard    NoteKind = "unheard"
	NoteNoneFires  NoteKind = "none_fires"
	NoteNoData     NoteKind = "no_data"
	NoteNoPool     NoteKind = "no_pool"
	// NoteNotKept: beside the Of alerts that are kept, Count fire for which there is no room.
	NoteNotKept  NoteKind = "not_kept"
	NotePoolGone NoteKind = "pool_gone"
	// NoteUnrecorded: Target carries a LastWrite that the database doesn't have; Config are the commands for a person.
	// NoteRecordUnknown: whether there is such an object, or whether the LastWrite of Target is one, isn't known; Why.
	NoteUnrecorded    NoteKind = "unrecorded"
	NoteRecordUnknown NoteKind = "record_unknown"
	NoteWorkFailed    NoteKind = "work_failed"
	NoteWorkResumed   NoteKind = "work_resumed"
	// NoteDrillStarted: By started a drill in which Why is played. NoteDrillSeen: By was the first to look. NoteDrillEnded
	// has what was measured: By decided, Other looked first.
	NoteDrillStarted NoteKind = "drill_started"
	NoteDrillSeen    NoteKind = "drill_seen"
	NoteDrillEnded   NoteKind = "drill_ended"
)

// What is said of plans and decisions.
const (
	NoteHealthyAgain NoteKind = "healthy_again"
	NoteDiagnosis    NoteKind = "diagnosis"
	// NoteNotFoundAgain: the newest look made no diagnosis; the one that is shown is of At.
	NoteNotFoundAgain NoteKind = "not_found_again"
	// NoteOtherCause: the newest look found another cause, Why, than the one of At that is shown.
	NoteOtherCause       NoteKind = "other_cause"
	NoteNewPlan          NoteKind = "new_plan"
	NoteNoAction         NoteKind = "no_action"
	NoteNoStep           NoteKind = "no_step"
	NoteManualOnly       NoteKind = "manual_only"
	NoteAsked            NoteKind = "asked"
	NoteExpired          NoteKind = "expired"
	NoteAborted          NoteKind = "aborted"
	NoteApprovalVoid     NoteKind = "approval_void"
	NoteApprovalsLowered NoteKind = "approvals_lowered"
	NoteApprovalsChanged NoteKind = "approvals_changed"
	NoteApprovedPart     NoteKind = "approved_part"
	NoteApproved         NoteKind = "approved"
	NoteDenied           NoteKind = "denied"
	NoteNarrowed         NoteKind = "narrowed"
	NoteNotNarrowed      NoteKind = "not_narrowed"
	NoteAllDenied        NoteKind = "all_denied"
	NoteDeniedAll        NoteKind = "denied_all"
	NoteKept             NoteKind = "kept"
	NoteAskedAgain       NoteKind = "asked_again"
	// NoteSnoozed: By does not want to be asked about this diagnosis until At.
	NoteSnoozed NoteKind = "snoozed"
	// NoteApprovalNeeded asks for a decision until At, on the steps in Names or, with the Verb Undo, on the undo of Step
	// to Value. Mode is ModeDryRun in a dry run. NoteReminder says the same before the end, NoteEscalated to further
	// people.
	NoteApprovalNeeded NoteKind = "approval_needed"
	NoteReminder       NoteKind = "reminder"
	NoteEscalated      NoteKind = "escalated"
	// NoteDetails: a person asked for the details.
	NoteDetails NoteKind = "details"
)

// What is said of a step that is run, and of its undo.
const (
	NoteNotDone        NoteKind = "not_done"
	NoteClaimed        NoteKind = "claimed"
	NoteNoAnswer       NoteKind = "no_answer"
	NoteUnknown        NoteKind = "unknown"
	NoteDone           NoteKind = "done"
	NoteDryRun         NoteKind = "dry_run"
	NoteRolledOut      NoteKind = "rolled_out"
	NoteNotRolledOut   NoteKind = "not_rolled_out"
	NoteSettled        NoteKind = "settled"
	NoteReading        NoteKind = "reading"
	NoteVerified       NoteKind = "verified"
	NoteDryRunEnded    NoteKind = "dry_run_ended"
	NoteRecovered      NoteKind = "recovered"
	NoteOutcome        NoteKind = "outcome"
	NoteReverted       NoteKind = "reverted"
	NoteStepReverted   NoteKind = "step_reverted"
	NoteUndoing        NoteKind = "undoing"
	NoteRestored       NoteKind = "restored"
	NoteUndone         NoteKind = "undone"
	NoteMonitoring     NoteKind = "monitoring"
	NoteNotUndone      NoteKind = "not_undone"
	NoteUndoDrift      NoteKind = "undo_drift"
	NoteUndoneReverted NoteKind = "undone_reverted"
	NoteUndoneChanged  NoteKind = "undone_changed"
	NoteMitigationHeld NoteKind = "mitigation_held"
	NoteUndoOnHold     NoteKind = "undo_on_hold"
	NoteOutcomeUnseen  NoteKind = "outcome_unseen"
	NoteEffectUnseen   NoteKind = "effect_unseen"
	NoteObjectUnread   NoteKind = "object_unread"
	NoteStepGone       NoteKind = "step_gone"
)

// Note is something to tell people, as facts: what it is, and what it is about. internal/present has the words, so that
// each place shows a person, a time and a value in its own way. Which of the fields are set depends on Kind.
type Note struct {
	Kind NoteKind `json:"kind,omitempty"`
	// By did it; Other is a second person.
	By    Actor `json:"by,omitzero"`
	Other Actor `json:"other,omitzero"`
	// Step is a step's title, StepKind its kind, Target and Value what it is about.
	Step     string   `json:"step,omitempty"`
	StepKind StepKind `json:"stepKind,omitempty"`
	Target   Target   `json:"target,omitzero"`
	Value    Value    `json:"value,omitzero"`
	// From and To are the values that a choice is between.
	From Value `json:"from,omitzero"`
	To   Value `json:"to,omitzero"`
	// Names are alerts with their places, or titles of steps.
	Names   string    `json:"names,omitempty"`
	Again   string    `json:"again,omitempty"`
	Ended   string    `json:"ended,omitempty"`
	Flapped string    `json:"flapped,omitempty"`
	Pool    string    `json:"pool,omitempty"`
	Mode    Mode      `json:"mode,omitempty"`
	WasMode Mode      `json:"wasMode,omitempty"`
	Verdict Verdict   `json:"verdict,omitempty"`
	Verb    Verb      `json:"verb,omitempty"`
	State   StepState `json:"state,omitempty"`
	// Event is what does not apply to an incident that is During.
	Event  EventKind `json:"event,omitempty"`
	During State     `json:"during,omitempty"`
	// Check is what a reading after the change shows.
	Check *Comparison `json:"check,omitempty"`
	// Count of Of: approvals, readings, tries, alerts that fire.
	Count int           `json:"count,omitempty"`
	Of    int           `json:"of,omitempty"`
	At    time.Time     `json:"at,omitzero"`
	For   time.Duration `json:"for,omitempty"`
	// Silent is how long nothing was heard.
	Silent time.Duration `json:"silent,omitempty"`
	Failed bool          `json:"failed,omitempty"`
	// Setback says how the bot's own work failed, Parked that it waits for a person.
	Setback SetbackKind `json:"setback,omitempty"`
	Parked  bool        `json:"parked,omitempty"`
	// Cause is why, where the incident itself knows it; else Why is.
	Cause Reason `json:"cause,omitzero"`
	// Why is what somebody gave as the reason, or what a guardrail, the API server or an error says: a clause or a
	// sentence.
	Why string `json:"why,omitempty"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
	// Config is an example for the configuration, or commands.
	Config string `json:"config,omitempty"`
	// Routing is how alerts led to their pool.
	Routing *Routing `json:"routing,omitempty"`
	// Drill is what a drill has measured.
	Drill *DrillSummary `json:"exercise,omitempty"`
	// LastWrite is what an object says of the last write of it.
	LastWrite *LastWrite `json:"lastWrite,omitempty"`
}

// Text is a note of nothing but text that comes from elsewhere.
func Text(text string) Note {
	if text == "" {
		return Note{}
	}
	return Note{Kind: NoteText, Why: text}
}

// Same says whether two notes say the same. Two readings never do: each is a fact of its own.
func (n Note) Same(o Note) bool {
	if !n.At.Equal(o.At) || !n.Routing.same(o.Routing) {
		return false
	}
	n.At, o.At = time.Time{}, time.Time{}
	if n.Cause.Kind != "" || n.Routing != nil { // of a stored note Why has the words for it
		n.Why, o.Why = "", ""
	}
	n.Routing, o.Routing, n.Drill, o.Drill, n.LastWrite, o.LastWrite = nil, nil, nil, nil, nil, nil
	return n == o
}
