package report

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// episode is what a report takes of one incident.
type episode struct {
	inc   incident.Incident
	cause string
	// causes are those for which steps were proposed, by the step's id.
	causes    map[string]string
	found     bool
	recovered time.Time
	// decided is when the first step was decided on.
	decided   time.Time
	questions []question
	verdicts  []decision
	stopped   []stop
}

// question is one request to people.
type question struct {
	at, answered time.Time
	rollback     bool
	end          ending
	partly       bool
}

type ending int

const (
	endOpen ending = iota
	endApproved
	endDenied
	endExpired
	endWithdrawn
	endRolledBack
)

// decision is an approval that was enough, or a denial.
type decision struct {
	by       string
	approved bool
}

// stop is an approved step that was not written.
type stop struct {
	step, action string
	why          StopWhy
	dryRun       bool
}

// read goes through an incident and its journal.
func read(inc incident.Incident) episode {
	e := episode{inc: inc, causes: map[string]string{}}
	lifted := time.Time{}
	for _, line := range inc.Journal {
		if name, ok := diagnosed(line); ok {
			e.cause, e.found, lifted = name, true, time.Time{}
		}
		e.follow(line)
		n := line.Said
		if n.Kind == incident.NoteUndoing && n.By.Kind == incident.ActorBot && n.For > 0 && lifted.IsZero() {
			lifted = line.At.Add(-n.For)
		}
	}
	e.end(lifted)
	return e
}

// diagnosed reads the diagnosis of a line that tells one.
func diagnosed(line incident.Entry) (string, bool) {
	if k := line.Said.Kind; k != incident.NoteDiagnosis && k != incident.NoteNewPlan {
		return "", false
	}
	var d struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(line.Data, &d); err != nil || d.Name == "" {
		return "", false // a line without its data tells nothing
	}
	return d.Name, true
}

// follow takes a line's part in what people were asked and said.
func (e *episode) follow(line incident.Entry) {
	n, person := line.Said, line.By != nil && line.By.Person()
	switch n.Kind { //nolint:exhaustive // the others are about something else
	case incident.NoteApprovalNeeded:
		e.settle(endWithdrawn, line.At)
		e.questions = append(e.questions, question{at: line.At, rollback: n.Verb == incident.Undo})
	case incident.NoteApprovedPart:
		if q := e.asked(); q != nil {
			q.partly = true
		}
	case incident.NoteApproved:
		e.causes[line.Step] = e.cause
		e.decide(line, true)
		e.settle(endApproved, line.At)
	case incident.NoteDenied:
		e.decide(line, false)
		if q := e.asked(); q != nil && q.answered.IsZero() {
			q.answered = line.At // other steps may still be asked about
		}
	case incident.NoteDeniedAll:
		e.decide(line, false)
		e.settle(endDenied, line.At)
	case incident.NoteAborted, incident.NoteKept:
		e.settle(endDenied, line.At)
	case incident.NoteUndoing:
		if person {
			e.settle(endRolledBack, line.At)
		} else {
			e.settle(endWithdrawn, line.At)
		}
	case incident.NoteExpired:
		e.settle(endExpired, line.At)
	case incident.NoteHealthyAgain, incident.NoteReopened:
		e.settle(endWithdrawn, line.At)
	case incident.NoteNotDone:
		e.stop(line)
	}
	if line.Kind == incident.KindClosed {
		e.settle(endWithdrawn, line.At)
	}
}

// asked is the request that is open; nil when there is none.
func (e *episode) asked() *question {
	if n := len(e.questions); n > 0 && e.questions[n-1].end == endOpen {
		return &e.questions[n-1]
	}
	return nil
}

// settle ends the open request, if there is one. Of several steps, one that was denied before is the answer when no
// other one follows.
func (e *episode) settle(how ending, at time.Time) {
	q := e.asked()
	switch {
	case q == nil:
		return
	case !q.answered.IsZero() && (how == endExpired || how == endWithdrawn):
		q.end = endDenied
	case how == endApproved || how == endDenied || how == endRolledBack:
		q.end, q.answered = how, at
	default:
		q.end = how
	}
}

func (e *episode) decide(line incident.Entry, approved bool) {
	if e.decided.IsZero() {
		e.decided = line.At
	}
	if line.By != nil {
		e.verdicts = append(e.verdicts, decision{string(line.By.Kind), approved})
	}
}

// stop takes over that an approved step was not written.
func (e *episode) stop(line incident.Entry) {
	r := line.Record
	if r == nil || r.Op != incident.OpApply {
		return
	}
	e.stopped = append(e.stopped, stop{
		step: line.Step, why: whyStopped(line.Said.Cause), dryRun: r.DryRun,
		action: present.Action(incident.Step{Kind: r.StepKind, Target: r.Target, From: r.From, To: r.To}),
	})
}

// whyStopped puts a reason into one of a few drawers.
func whyStopped(r incident.Reason) StopWhy {
	switch r.Kind { //nolint:exhaustive // whatever else there is was refused
	case incident.ReasonPaused:
		return StopPaused
	case incident.ReasonLocked:
		return StopLocked
	case incident.ReasonDrift, incident.ReasonChanged, incident.ReasonGone:
		return StopDrift
	case incident.ReasonDiagnosis, incident.ReasonHealthy:
		return StopDiagnosis
	case incident.ReasonNotAsked, incident.ReasonOtherChange, incident.ReasonNotProposable:
		return StopPlan
	case incident.ReasonApprovers, incident.ReasonNotAutomatic, incident.ReasonMode:
		return StopApproval
	case incident.ReasonUnchecked, incident.ReasonObjectUnread, incident.ReasonNoKubernetes, incident.ReasonValueUnread,
		incident.ReasonNoLiveValue, incident.ReasonLedgerUnread:
		return StopUnread
	}
	return StopRefused
}

// end works out what only the whole journal tells. lifted is since when the pool had been healthy when the bot took a
// mitigation back, if nothing was diagnosed after that.
func (e *episode) end(lifted time.Time) {
	inc := e.inc
	if q := e.asked(); q != nil && !inc.Request.Open() {
		e.settle(endWithdrawn, inc.UpdatedAt)
	}
	if inc.Pool != "" {
		e.recovered = inc.HealthySince
	}
	if !e.recovered.IsZero() && !lifted.IsZero() && lifted.Before(e.recovered) {
		e.recovered = lifted
	}
	inc.History = slices.Clone(present.History(inc))
	for n, m := range inc.History {
		if m.Cause.Name == "" { // an older version stored it
			inc.History[n].Cause.Name = e.causes[m.Step]
		}
	}
	if c := inc.Cause(); c.Name != "" {
		e.cause, e.found = c.Name, true
	}
}

// causeOf is for which cause a step was proposed.
func (e episode) causeOf(step string) string {
	if c, ok := e.causes[step]; ok {
		return c
	}
	return e.cause
}

// byItself says that a closed incident has recovered and the bot changed nothing, or may not have.
func (e episode) byItself() bool {
	return !e.inc.Open() && !e.recovered.IsZero() && !present.Changed(e.inc)
}

// trouble is how long the pool was in trouble: until it recovered, or it ended, or until now.
func (e episode) trouble(now time.Time) time.Duration {
	until := now
	switch {
	case !e.recovered.IsZero():
		until = e.recovered
	case !e.inc.Open():
		until = e.inc.ClosedAt
	}
	return max(0, until.Sub(e.inc.OpenedAt))
}

// unexplained says that it ended without a diagnosis, although the signals were read.
func (e episode) unexplained() bool {
	return !e.inc.Open() && !e.found && e.inc.DiagnosedAt.IsZero() && !e.inc.ReadAt.IsZero()
}
