package incident

import "time"

// ReasonKind names what a reason says.
type ReasonKind string

// Why a step is where it is.
const (
	// ReasonText is text that comes from elsewhere: a guardrail, a knob, the API server.
	ReasonText         ReasonKind = "text"
	ReasonDenied       ReasonKind = "denied"
	ReasonAborted      ReasonKind = "aborted"
	ReasonExpired      ReasonKind = "expired"
	ReasonHealthy      ReasonKind = "healthy"
	ReasonRecovered    ReasonKind = "recovered"
	ReasonReplaced     ReasonKind = "replaced"
	ReasonClosed       ReasonKind = "closed"
	ReasonSnoozed      ReasonKind = "snoozed"
	ReasonDryRun       ReasonKind = "dry_run"
	ReasonWriteUnknown ReasonKind = "write_unknown"
)

// What became of a change.
const (
	// ReasonGone has what became of the object in Text.
	ReasonGone         ReasonKind = "gone"
	ReasonRemovedAgain ReasonKind = "removed_again"
	ReasonRemoved      ReasonKind = "removed"
	ReasonSetBack      ReasonKind = "set_back"
	ReasonMovedFurther ReasonKind = "moved_further"
	ReasonSet          ReasonKind = "set"
	ReasonNoAnswer     ReasonKind = "no_answer"
	ReasonUnknown      ReasonKind = "unknown"
)

// Why a step, or its undo, is not run after all. What the knob, the API server or the playbook says to that is in Text.
const (
	ReasonNoKubernetes ReasonKind = "no_kubernetes"
	// ReasonMode has the Mode in which nothing is written.
	ReasonMode ReasonKind = "mode"
	// ReasonApprovers: Count of the Of approvals that are needed now count. ReasonNotAutomatic: policy approved it, and
	// would not do so now.
	ReasonApprovers    ReasonKind = "approvers"
	ReasonNotAutomatic ReasonKind = "not_automatic"
	// ReasonDiagnosis has the diagnosis of now in Instead; there may be none.
	ReasonDiagnosis ReasonKind = "other_diagnosis"
	// ReasonNotAsked and ReasonOtherChange have the titles of the steps that are asked for now in Instead.
	ReasonNotAsked      ReasonKind = "not_asked"
	ReasonOtherChange   ReasonKind = "other_change"
	ReasonNotProposable ReasonKind = "not_proposable"
	ReasonUnchecked     ReasonKind = "unchecked"
	ReasonObjectUnread  ReasonKind = "object_unread"
	// ReasonOnTop has the title of the step that changed the same value later in Instead.
	ReasonOnTop ReasonKind = "on_top"
	// ReasonPaused has the Pool, or none for all of them, Who paused it and the reason given in Text.
	ReasonPaused ReasonKind = "paused"
	// ReasonLocked has the object in Target and the Incident that changes it.
	ReasonLocked ReasonKind = "locked"
	// ReasonDrift: Target is not what was proposed. It Was that and is Value now, or Text says what else changed.
	ReasonDrift ReasonKind = "drift"
)

// Why a step cannot be proposed, or a check refuses it.
const (
	ReasonNoLiveValue  ReasonKind = "no_live_value"
	ReasonValueUnread  ReasonKind = "value_unread"
	ReasonLedgerUnread ReasonKind = "ledger_unread"
	// ReasonUnrecorded: Target carries a write, Given, that the database doesn't have. ReasonRecordUnknown: whether it
	// does isn't known; Text.
	ReasonUnrecorded    ReasonKind = "unrecorded"
	ReasonRecordUnknown ReasonKind = "record_unknown"
	// ReasonCheck is a Check that refuses without a reason. ReasonVerdict is one with a verdict, Given, that this version
	// does not know; ReasonStepKind, a step of such a kind.
	ReasonCheck    ReasonKind = "check"
	ReasonVerdict  ReasonKind = "verdict"
	ReasonStepKind ReasonKind = "step_kind"
)

// How a write, or the rollout after it, ended.
const (
	// ReasonInterrupted: an earlier try of this very write was found to have taken effect.
	ReasonInterrupted ReasonKind = "interrupted"
	// ReasonChanged: somebody else changed the value of Target, to Value.
	ReasonChanged ReasonKind = "changed"
	// ReasonUnsure: Target holds Value, and Was before, but it is not known who wrote the object last.
	ReasonUnsure ReasonKind = "unsure"
	// ReasonGaveUp: Count tries had no clear answer, the last one Text.
	ReasonGaveUp        ReasonKind = "gave_up"
	ReasonRolloutUnread ReasonKind = "rollout_unread"
	// ReasonTooSlow: the rollout was not complete After that long.
	ReasonTooSlow ReasonKind = "too_slow"
)

// Reason says why a step is where it is, or what became of a change, as facts. internal/present has the words: a
// clause. Which of the fields are set depends on Kind.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	Text string     `json:"text,omitempty"`
	// NotUndone says that the reason keeps the step from being undone; Undone, that it came after the undo.
	NotUndone bool `json:"notUndone,omitempty"`
	Undone    bool `json:"undone,omitempty"`
	// By is the field manager that set Value, this long After the bot; empty and 0 when not known.
	By    string        `json:"by,omitempty"`
	Value Value         `json:"value,omitzero"`
	After time.Duration `json:"after,omitempty"`
	// Target is where Value is, and Was before.
	Target Target `json:"target,omitzero"`
	Was    Value  `json:"was,omitzero"`
	// Instead is what takes the place of the step, in the words of the playbook or of the steps.
	Instead string `json:"instead,omitempty"`
	Mode    Mode   `json:"mode,omitempty"`
	// Who paused the Pool; Incident is another one.
	Who      Actor  `json:"who,omitzero"`
	Pool     string `json:"pool,omitempty"`
	Incident string `json:"incident,omitempty"`
	// Check is the name of a guardrail, Given a verdict or a kind of step.
	Check string `json:"check,omitempty"`
	Given string `json:"given,omitempty"`
	// Count of Of: approvals, tries.
	Count int `json:"count,omitempty"`
	Of    int `json:"of,omitempty"`
	// Hint is what to do so that a change lasts: "change it in Git".
	Hint string `json:"hint,omitempty"`
}

// Because is a reason that comes from elsewhere as text; the zero Reason when there is none.
func Because(text string) Reason {
	if text == "" {
		return Reason{}
	}
	return Reason{Kind: ReasonText, Text: text}
}

// because says why the step is where it is; the zero Reason says nothing.
func (s *Step) because(r Reason) { s.Cause, s.Reason = r, "" }
