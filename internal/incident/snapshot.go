package incident

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Snapshot is an investigation as it was made: what was read, what the playbooks said of it, and what was proposed.
// It is kept so that the same evidence can be shown to other playbooks later; no decision reads it. It holds no series,
// no words that the catalog has, no approvers and no diffs.
type Snapshot struct {
	// Seq numbers the snapshots of an incident. The store fills it.
	Seq int64 `json:"seq"`
	// Of is what the investigation was for: KindInvestigated for a diagnosis, KindClaimed or KindRefused for the check
	// before the write of Step, KindVerified for what became of it.
	Of   EventKind `json:"of"`
	Step string    `json:"step,omitempty"`
	// Alerts are the names of the incident's alerts, and PlannedFor is the diagnosis of its plan before it.
	Alerts     []string `json:"alerts,omitempty"`
	PlannedFor string   `json:"plannedFor,omitempty"`
	// Asked says by the names of the signals with which question each was read: Signal.Fingerprint.
	Asked map[string]string `json:"asked"`
	SLO   SLO               `json:"slo"`
	// Knobs are the kinds of steps that the pool allowed.
	Knobs []StepKind `json:"knobs,omitempty"`
	// Guards is what the guardrails knew; nil where no step was worked out.
	Guards   *GuardInputs `json:"guards,omitempty"`
	Evidence Evidence     `json:"evidence"`

	Diagnosis *Diagnosis    `json:"diagnosis"`
	Others    []Other       `json:"others"`
	Healthy   Truth         `json:"healthy"`
	Requests  []StepRequest `json:"requests,omitempty"`
	// Chosen are the values that people chose for steps of these kinds.
	Chosen map[StepKind]int64 `json:"chosen,omitempty"`
	// Steps are what came of the requests, in the same order; of a check, the step that was checked.
	Steps []Step `json:"steps,omitempty"`
	// Verdict is that of a verification.
	Verdict Verdict `json:"verdict,omitempty"`
}

// GuardInputs is what the guardrails know beside the step and the evidence.
type GuardInputs struct {
	At     time.Time `json:"at"`
	Mode   Mode      `json:"mode"`
	DryRun bool      `json:"dryRun"`
	// Writes are those of the last day; WritesUnknown says that they could not be read.
	Writes        []Write `json:"writes,omitempty"`
	WritesUnknown bool    `json:"writesUnknown,omitempty"`
	// Locks maps the key of a locked object to the incident that holds it.
	Locks  map[string]string `json:"locks,omitempty"`
	Pauses []Pause           `json:"pauses,omitempty"`
	// Unread are the guardrails that could not be asked, and refuse.
	Unread []Guardrail `json:"unread,omitempty"`
}

// Worked is the arithmetic of a step: from which number, and within which limits. MinWhy and MaxWhy name who sets a
// limit when it is not the pool's configuration.
type Worked struct {
	From int64 `json:"from"`
	// Up says that the request asked for more than From. The limits hold for that direction.
	Up  bool  `json:"up,omitempty"`
	Min int64 `json:"min"`
	Max int64 `json:"max"`
	// Step is the largest change; 0: none of its own.
	Step   int64  `json:"step,omitempty"`
	MinWhy string `json:"minWhy,omitempty"`
	MaxWhy string `json:"maxWhy,omitempty"`
}

// Fingerprint is the same for two signals whose readings mean the same: everything that decides about the value goes
// into it, and no words.
func (s Signal) Fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %g %g %q", s.Query, s.Pods, s.Unit, s.Floor, s.Ceiling, s.Product))
	return hex.EncodeToString(sum[:6])
}

// Fingerprints are those of signals by their names.
func Fingerprints(signals []Signal) map[string]string {
	out := make(map[string]string, len(signals))
	for _, s := range signals {
		out[s.Name] = s.Fingerprint()
	}
	return out
}

// KeepsSnapshot says whether the investigation behind an event belongs into the snapshots: what was said of the
// incident is new with it, a step was checked before its write, or a verification has ended. Those that found the same
// again are left out.
func KeepsSnapshot(before, after Incident, ev Event) bool {
	switch e := ev.(type) {
	case Investigated:
		return before.ReadAt.IsZero() || before.Revision != after.Revision || before.cause() != after.cause()
	case Stopped:
		return e.Op == OpApply
	case WriteClaimed:
		return e.Op == OpApply
	case Verified:
		return e.Final
	default:
		return false
	}
}

// cause is the name of the incident's diagnosis, or "".
func (i Incident) cause() string {
	if i.Diagnosis == nil {
		return ""
	}
	return i.Diagnosis.Name
}

// Slim is what a snapshot keeps of evidence: no series, and no words that the catalog has.
func (e Evidence) Slim() Evidence {
	e.Readings = maps.Clone(e.Readings)
	for name, r := range e.Readings {
		r.Title, r.Short, r.Query, r.Series = "", "", "", nil
		e.Readings[name] = r
	}
	return e
}

// Slim is what a snapshot keeps of a step: what it changes, and what the guardrails said.
func (s Step) Slim() Step {
	return Step{
		ID: s.ID, Digest: s.Digest, Kind: s.Kind, Title: s.Title, Target: s.Target, From: s.From, To: s.To,
		Assumed: s.Assumed, Undo: s.Undo, Needs: Needs{Confirm: s.Needs.Confirm, Restart: s.Needs.Restart},
		Guardrails: slices.Clone(s.Guardrails), State: s.State, Cause: s.Cause, RevertAfter: s.RevertAfter, WarmUp: s.WarmUp,
		Worked: s.Worked,
	}
}
