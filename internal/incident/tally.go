package incident

import (
	"cmp"
	"slices"
	"time"
)

// Tally is something that happened once, to be counted: an incident that opened, a decision, or how long something
// took. What is counted follows from the change that is committed with it, so that it counts once, whoever dies when.
type Tally struct {
	Family TallyFamily
	// Labels are the values of the family's labels, in order. All of them are from lists: names of the configuration, of
	// playbooks, of guardrails, or words of this package. No label of an alert is ever among them.
	Labels []string
	// Took is how long it took, for a family with Edges.
	Took time.Duration
}

// TallyFamily names what is counted.
type TallyFamily string

// What is counted. The comments name the labels.
const (
	TallyOpened   TallyFamily = "incidents_opened"   // pool
	TallyReopened TallyFamily = "incidents_reopened" // pool
	TallyClosed   TallyFamily = "incidents_closed"   // pool, diagnosis
	// TallyDecisions has TallyDecision..., and who decided.
	TallyDecisions TallyFamily = "decisions" // decision, way
	// TallyRefusals are steps that may not run, found at their proposal or just before their write.
	TallyRefusals  TallyFamily = "step_refusals" // stage, reason
	TallyWrites    TallyFamily = "writes"        // knob, op, result
	TallyVerdicts  TallyFamily = "verdicts"      // verdict
	TallyRollbacks TallyFamily = "rollbacks"     // way
	// TallyUnrecorded are writes found on objects that the database doesn't have, each once in an incident.
	TallyUnrecorded TallyFamily = "unrecorded_writes" // pool
	// How long it took from the delivery that opened an incident until its message, its first diagnosis, its first
	// decision, a change after which the signals were verified to have recovered, and its end.
	TallyToMessage   TallyFamily = "time_to_message"
	TallyToDiagnosis TallyFamily = "time_to_diagnosis"
	TallyToDecision  TallyFamily = "time_to_decision"
	TallyToRecovery  TallyFamily = "time_to_recovery"
	TallyToClose     TallyFamily = "time_to_close"
)

// The decisions that are counted.
const (
	TallyApproved = "approved"
	TallyDenied   = "denied"
	TallyRollback = "rollback"
	TallyKept     = "kept"
	TallyStopped  = "stopped"
	TallyExpired  = "expired"
)

// The ways of a decision: Slack; the command line, the pages and the API, which are one; policy; the bot itself, when
// it takes a mitigation back; and none, when nobody decided.
const (
	WaySlack  = "slack"
	WayAPI    = "api"
	WayPolicy = "policy"
	WayBot    = "bot"
	WayNone   = "none"
)

// The stages of a refusal.
const (
	StageProposal = "proposal"
	StageWrite    = "write"
)

// TallyNone stands for the pool or the diagnosis of an incident that has none.
const TallyNone = "none"

// Edges are the upper edges of a family's histogram, in seconds, ascending; nil for what is only counted.
func (f TallyFamily) Edges() []int64 {
	switch f {
	case TallyToMessage, TallyToDiagnosis:
		return []int64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800}
	case TallyToDecision:
		return []int64{10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400}
	case TallyToRecovery, TallyToClose:
		return []int64{120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 43200, 86400}
	case TallyOpened, TallyReopened, TallyClosed, TallyDecisions, TallyRefusals, TallyWrites, TallyVerdicts,
		TallyRollbacks, TallyUnrecorded:
	}
	return nil
}

// Tallied is what has been counted of a family and its labels: below an edge of its histogram, or at all.
type Tallied struct {
	Family TallyFamily
	Labels []string
	// Edge is the smallest edge, in seconds, that is not below what was counted; 0 above all, and for what has none.
	Edge  int64
	Count int64
	// Seconds is how long all of it took together.
	Seconds float64
}

// AtEdge is the Edge of a tally.
func (t Tally) AtEdge() int64 {
	for _, e := range t.Family.Edges() {
		if t.Took <= time.Duration(e)*time.Second {
			return e
		}
	}
	return 0
}

// Tallies are what a change makes happen, without the writes that it ends: Finish names none of what they are counted
// by. A drill counts nowhere.
func (ch Change) Tallies() []Tally {
	inc := ch.Incident
	if inc.Drill != nil || inc.Unshown {
		return nil
	}
	var out []Tally
	if ch.Expect == 0 || slices.ContainsFunc(ch.Entries, shows) {
		out = append(out, Tally{Family: TallyOpened, Labels: []string{cmp.Or(inc.Pool, TallyNone)}})
	}
	for _, e := range ch.Entries {
		out = append(out, inc.talliesOf(e)...)
	}
	return out
}

// shows says whether with a line people are shown an incident without a pool, which is counted from then on.
func shows(e Entry) bool { return e.Kind == KindNoted && e.Said.Kind == NoteNoPool && e.Thread }

// MessageTally is that the incident's message was posted at a time; false for a drill.
func (i Incident) MessageTally(at time.Time) (Tally, bool) {
	return i.since(TallyToMessage, at), i.Drill == nil
}

// Began is when the delivery came in that opened the incident; of one of an older version, when it was opened.
func (i Incident) Began() time.Time {
	if i.ReceivedAt.IsZero() {
		return i.OpenedAt
	}
	return i.ReceivedAt
}

func (i Incident) since(f TallyFamily, at time.Time) Tally {
	return Tally{Family: f, Took: max(0, at.Sub(i.Began()))}
}

// talliesOf are what one line of the journal tells.
func (i Incident) talliesOf(e Entry) []Tally {
	pool := cmp.Or(i.Pool, TallyNone)
	if e.Kind == KindClosed {
		cause := TallyNone
		if i.Diagnosis != nil {
			cause = i.Diagnosis.Name
		}
		return []Tally{{Family: TallyClosed, Labels: []string{pool, cause}}, i.since(TallyToClose, e.At)}
	}
	if e.Kind == KindRefused && e.Record != nil {
		return []Tally{{Family: TallyRefusals, Labels: []string{StageWrite, i.stopReason(e)}}}
	}
	switch e.Said.Kind { //nolint:exhaustive // the others are steps in between
	case NoteReopened:
		return []Tally{{Family: TallyReopened, Labels: []string{pool}}}
	case NoteDiagnosis, NoteNewPlan:
		out := i.refusals()
		if e.At.Equal(i.DiagnosedAt) {
			out = append(out, i.since(TallyToDiagnosis, e.At))
		}
		return out
	case NoteApproved, NoteDenied, NoteDeniedAll:
		out := []Tally{decisionTally(e)}
		if e.At.Equal(i.DecidedAt) {
			out = append(out, i.since(TallyToDecision, e.At))
		}
		return out
	case NoteKept, NoteAborted, NoteExpired:
		return []Tally{decisionTally(e)}
	case NoteUndoing:
		if e.Said.By.Person() {
			return []Tally{decisionTally(e)}
		}
	case NoteUndone:
		s, _ := i.Step(e.Step)
		return []Tally{{Family: TallyRollbacks, Labels: []string{wayOf(s.UndoneBy)}}}
	case NoteUnrecorded:
		return []Tally{{Family: TallyUnrecorded, Labels: []string{pool}}}
	case NoteVerified:
		return i.verdictTallies(e)
	}
	return nil
}

func (i Incident) verdictTallies(e Entry) []Tally {
	if i.DryRun {
		return nil // nothing was changed
	}
	out := []Tally{{Family: TallyVerdicts, Labels: []string{string(e.Said.Verdict)}}}
	if e.Said.Verdict == VerdictRecovered {
		out = append(out, i.since(TallyToRecovery, e.At))
	}
	return out
}

func decisionTally(e Entry) Tally {
	said := map[NoteKind]string{
		NoteApproved: TallyApproved, NoteDenied: TallyDenied, NoteDeniedAll: TallyDenied, NoteKept: TallyKept,
		NoteAborted: TallyStopped, NoteExpired: TallyExpired, NoteUndoing: TallyRollback,
	}
	return Tally{Family: TallyDecisions, Labels: []string{said[e.Said.Kind], wayOf(e.By)}}
}

// wayOf is through what somebody decided.
func wayOf(by *Actor) string {
	if by == nil {
		return WayNone
	}
	switch by.Kind {
	case ActorKubernetes:
		return WayAPI
	case ActorSlack:
		return WaySlack
	case ActorPolicy:
		return WayPolicy
	case ActorBot, ActorViewer, ActorSchedule:
	}
	return WayBot
}

// refusals are the steps of a new plan that may not run, each with the first check that refuses it.
func (i Incident) refusals() []Tally {
	if i.Plan == nil {
		return nil
	}
	var out []Tally
	for _, s := range i.Plan.Steps {
		if s.State == StepRefused {
			out = append(out, Tally{Family: TallyRefusals, Labels: []string{StageProposal, s.refusedBy(s.Refusal())}})
		}
	}
	return out
}

// stopReason is the check that stopped an approved step before its write, or what else did.
func (i Incident) stopReason(e Entry) string {
	s, _ := i.Step(e.Step)
	if e.Record.Op == OpUndo {
		s.Guardrails = nil // they are about the step, not about its undo
	}
	return s.refusedBy(e.Said.Cause)
}

func (s Step) refusedBy(why Reason) string {
	for _, g := range s.Guardrails {
		if g.Refuses() {
			return g.Name
		}
	}
	return cmp.Or(string(why.Kind), string(ReasonText))
}
