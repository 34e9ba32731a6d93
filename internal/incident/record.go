package incident

import "slices"

// Record is what an auditor asks about a decision, a write or its refusal: who, on which plan and step, what would
// change and what did. It is worked out from the incident as it was at that moment, and never from words.
type Record struct {
	// By decided; of a write, who approved it or asked for it.
	By   Actor `json:"by,omitzero"`
	Verb Verb  `json:"verb,omitempty"`
	// Op is what a write does with the step: apply or undo.
	Op     Op   `json:"op,omitempty"`
	DryRun bool `json:"dryRun,omitempty"`
	// Plan is the digest of the plan that was decided on, StepDigest that of the step. The plan's alone: the decision was
	// about all of it. The step's alone: it is of an earlier plan.
	Plan       string   `json:"plan,omitempty"`
	StepDigest string   `json:"stepDigest,omitempty"`
	StepKind   StepKind `json:"stepKind,omitempty"`
	Target     Target   `json:"target,omitzero"`
	From       Value    `json:"from,omitzero"`
	To         Value    `json:"to,omitzero"`
	// Diff is what the approver saw. An undo has none; From and To say it.
	Diff string `json:"diff,omitempty"`
	// Write names the write; the object carries the name, where it can.
	Write  string      `json:"write,omitempty"`
	Result WriteResult `json:"result,omitempty"`
	Versions
}

// Versions are the resource versions of the object of a write. Before is the one that the write was made on. After is
// the one that it made; when its answer was lost, the one that the object had when the write was found on it. Either is
// empty when it is not known.
type Versions struct {
	Before string `json:"versionBefore,omitempty"`
	After  string `json:"versionAfter,omitempty"`
}

// recordOf is what is to be kept of an event, from the incident before it; nil for most.
func recordOf(inc Incident, ev Event) *Record {
	switch e := ev.(type) {
	case Decided:
		d := e.Decision
		r := inc.record(d.Step, opOf(d.Verb))
		r.By, r.Verb = d.By, d.Verb
		if d.Digest != "" && d.Digest != r.StepDigest { // a rollback may come without the plan that it was seen in
			r.Plan = d.Digest
		}
		return &r
	case UndoStarted:
		r := inc.record(e.Step, OpUndo)
		r.By, r.Verb = e.By, Undo
		return &r
	case Stopped:
		return inc.ofWrite(e.Step, e.Op)
	case WriteClaimed:
		r := inc.ofWrite(e.Step, e.Op)
		r.Write = e.WriteID
		if e.Mark != nil {
			r.Before = e.Mark.Version
		}
		return r
	case Written:
		act := inc.Active
		if act == nil {
			return nil
		}
		r := inc.ofWrite(act.Step, act.Op)
		r.Write, r.Result, r.Versions = act.WriteID, e.Result, e.Versions
		if r.Before == "" && act.Mark != nil {
			r.Before = act.Mark.Version
		}
		return r
	default:
		return nil
	}
}

func opOf(v Verb) Op {
	switch v {
	case Approve:
		return OpApply
	case Undo:
		return OpUndo
	case Deny, Keep:
	}
	return ""
}

// record says what a step is about; of a step that is not there, or of none, only what the incident says.
func (i Incident) record(step string, op Op) Record {
	r := Record{Op: op, DryRun: i.DryRun}
	if i.Plan != nil {
		r.Plan = i.Plan.Digest
	}
	s, ok := i.Step(step)
	if !ok {
		return r
	}
	if slices.ContainsFunc(i.AppliedEarlier, func(e Step) bool { return e.ID == s.ID }) {
		r.Plan = "" // the step is of an earlier plan
	}
	r.StepDigest, r.StepKind, r.Target = s.Digest, s.Kind, s.Target
	r.From, r.To, r.Diff = s.From, s.To, s.Diff
	if op == OpUndo {
		r.From, r.To, r.Diff = s.To, s.Undo, ""
	}
	return r
}

func (i Incident) ofWrite(step string, op Op) *Record {
	r := i.record(step, op)
	if i.Active != nil {
		r.By = i.Active.By
	}
	return &r
}

// attach puts a record on the line of an event that says what happened to its step: not the ones about approvals that
// do not count any more, nor those that say what follows for the incident, nor what the alerts did before it.
func attach(lines []Entry, step string, r *Record) {
	if r == nil || len(lines) == 0 {
		return
	}
	own := func(e Entry) bool { return e.Kind != KindGathered }
	at := slices.IndexFunc(lines, func(e Entry) bool {
		return own(e) && e.Step == step && e.Said.Kind != NoteApprovalVoid
	})
	if at < 0 {
		at = max(0, slices.IndexFunc(lines, own))
	}
	lines[at].Record = r
}

// stepOf is the step that an event with a record is about.
func stepOf(inc Incident, ev Event) string {
	switch e := ev.(type) {
	case Decided:
		return e.Decision.Step
	case UndoStarted:
		return e.Step
	case Stopped:
		return e.Step
	case WriteClaimed:
		return e.Step
	default:
		if inc.Active != nil {
			return inc.Active.Step
		}
		return ""
	}
}
