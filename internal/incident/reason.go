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
	// Hint is what to do so that a change lasts: "change it in Git".
	Hint string `json:"hint,omitempty"`
}

// Because is a reason that comes from elsewhere as text.
func Because(text string) Reason { return Reason{Kind: ReasonText, Text: text} }

// because says why the step is where it is; the zero Reason says nothing.
func (s *Step) because(r Reason) { s.Cause, s.Reason = r, "" }
