package remediation

import (
	"context"
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// recordGuard is the name of the guardrail that says whether the last write of an object is known.
const recordGuard = "record"

// records is what was found of writes that the database doesn't have: after it was restored from a backup, or where
// another installation writes.
type records struct {
	notes []incident.Note
	// cautions are by Target.Key of the object.
	cautions map[string]incident.Guardrail
}

// readRecords reads the last write of each object of the pool's knobs and looks whether the database has it. The bot
// undoes only what it has a record of, so what it finds is for people. What could not be read is unknown, and said.
func (i *Investigator) readRecords(ctx context.Context, pool incident.Pool, inc incident.Incident) records {
	found := records{cautions: map[string]incident.Guardrail{}}
	if i.deps.LastWrites == nil || i.deps.Ledger == nil || inc.OnlyTest() {
		return found
	}
	// The objects first: a write is recorded before it is made.
	last, err := i.deps.LastWrites.LastWrites(ctx, pool)
	if err != nil {
		found.unknown(incident.Target{}, err)
	}
	for _, w := range last {
		id, ours := incident.ParseWriteID(w.ID)
		recorded := false
		if ours {
			recorded, err = i.deps.Ledger.Recorded(ctx, id)
		}
		switch {
		case ours && err != nil:
			found.unknown(w.Target, err)
		case !recorded:
			found.without(w)
		}
	}
	return found
}

// without keeps a write without a record.
func (r *records) without(w incident.LastWrite) {
	r.notes = append(r.notes, incident.Note{
		Kind: incident.NoteUnrecorded, Target: w.Target, LastWrite: &w, Config: present.ByHand(w),
	})
	r.cautions[w.Target.Key()] = incident.Guardrail{
		Name: recordGuard, Verdict: incident.GuardCaution,
		Cause: incident.Reason{Kind: incident.ReasonUnrecorded, Target: w.Target, Given: w.ID},
	}
}

// unknown keeps that something could not be read; the zero target: of which object isn't known.
func (r *records) unknown(at incident.Target, err error) {
	r.notes = append(r.notes, incident.Note{
		Kind: incident.NoteRecordUnknown, Target: at, Why: shorten(err.Error(), 300),
	})
	if at.Name == "" {
		return // a step on an object that can't be read is refused for that
	}
	r.cautions[at.Key()] = incident.Guardrail{
		Name: recordGuard, Verdict: incident.GuardCaution,
		Cause: incident.Reason{Kind: incident.ReasonRecordUnknown, Target: at, Text: shorten(err.Error(), 300)},
	}
}

// caution is what an approver of a step should know about the last write of its object.
func (r *records) caution(s incident.Step) []incident.Guardrail {
	if g, ok := r.cautions[s.Target.Key()]; ok && s.Kind != incident.StepManual {
		return []incident.Guardrail{g}
	}
	return nil
}

// logUnrecorded logs what the thread was told of writes without a record, which is once an incident.
func (e *Engine) logUnrecorded(ctx context.Context, inc incident.Incident, said []incident.Entry) {
	for _, line := range said {
		switch n := line.Said; n.Kind { //nolint:exhaustive // the others are not about records
		case incident.NoteUnrecorded:
			id := ""
			if n.LastWrite != nil {
				id = n.LastWrite.ID
			}
			e.deps.Logger.WarnContext(ctx, "an object carries a write that this database has no record of",
				"incident", inc.ID, "pool", inc.Pool, "object", n.Target.Object(), "write", fmt.Sprintf("%q", id))
		case incident.NoteRecordUnknown:
			e.deps.Logger.WarnContext(ctx, "it is not known whether the last writes of a pool's objects are recorded",
				"incident", inc.ID, "pool", inc.Pool, "err", n.Why)
		}
	}
}
