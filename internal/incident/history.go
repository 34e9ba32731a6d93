package incident

import (
	"slices"
	"time"
)

// Made is a change that was applied in an incident, or may have been, whatever became of it since. Plans come and go;
// this is what was done.
type Made struct {
	// Step is its id: it never comes twice in an incident.
	Step   string   `json:"step"`
	Kind   StepKind `json:"kind"`
	Title  string   `json:"title"`
	Target Target   `json:"target,omitzero"`
	From   Value    `json:"from"`
	To     Value    `json:"to"`
	Undo   Value    `json:"undo"`
	// Cause is what it was made for; empty in what older versions stored.
	Cause Cause `json:"cause,omitzero"`
	// DryRun says that nothing was written.
	DryRun bool `json:"dryRun,omitempty"`
	// Unsure says that nobody knows whether the write took effect.
	Unsure bool `json:"unsure,omitempty"`
	// By are those who approved it: people, or policy.
	By []Actor `json:"by,omitempty"`
	// State is where the step stands: applied, undone, reverted, or failed where it is not known.
	State StepState `json:"state"`
	// AskedAt is when people were asked, DecidedAt when the last of them approved, AppliedAt when it was written, LiveAt
	// when its rollout was complete. Zero: it was not, or is not known.
	AskedAt   time.Time `json:"askedAt,omitzero"`
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	AppliedAt time.Time `json:"appliedAt,omitzero"`
	LiveAt    time.Time `json:"liveAt,omitzero"`
	// VerifiedAt is when the newest reading after it was judged: Verdict, and Check with the readings before and after.
	VerifiedAt time.Time   `json:"verifiedAt,omitzero"`
	Verdict    Verdict     `json:"verdict,omitempty"`
	Check      *Comparison `json:"check,omitempty"`
	// UndoneAt is when it was taken back, by UndoneBy: a person, policy, or the bot, which lifts its mitigations.
	UndoneAt time.Time `json:"undoneAt,omitzero"`
	UndoneBy *Actor    `json:"undoneBy,omitempty"`
}

// Helped says that the change was made, and that the readings after it were better.
func (m Made) Helped() bool {
	return !m.DryRun && (m.Verdict == VerdictRecovered || m.Verdict == VerdictImproved)
}

// Lifted says that the bot took the change back because it had done its work.
func (m Made) Lifted() bool { return lifted(m.State, m.UndoneBy) }

// Lifted says that the bot took a mitigation back because it had done its work: as it was promised, and no rollback.
func (s Step) Lifted() bool { return lifted(s.State, s.UndoneBy) }

func lifted(s StepState, by *Actor) bool { return s == StepUndone && by != nil && by.Kind == ActorBot }

// Cause is what the incident was about: what the newest change that helped was made for. Without one it is the present
// diagnosis; but one that asks for nothing comes after what a change was made for, because it was found once the
// trouble had passed. Empty when nothing was found.
func (i Incident) Cause() Cause {
	made := slices.DeleteFunc(slices.Clone(i.History), func(m Made) bool { return m.DryRun || m.Cause.Name == "" })
	slices.Reverse(made)
	n := slices.IndexFunc(made, Made.Helped)
	switch asks := i.Plan != nil && len(i.Plan.Steps) > 0; {
	case n >= 0:
		return made[n].Cause
	case i.Diagnosis != nil && (asks || len(made) == 0):
		return i.Diagnosis.Cause()
	case len(made) > 0:
		return made[0].Cause
	}
	return Cause{}
}

// keepHistory takes what has become of the steps over into the history. A step that leaves the plan stays there as it
// was last.
func (a *applier) keepHistory() {
	steps := a.inc.AppliedEarlier
	if a.inc.Plan != nil {
		steps = slices.Concat(steps, a.inc.Plan.Steps)
	}
	for _, s := range steps {
		unsure := s.Cause.Kind == ReasonWriteUnknown && !s.Cause.NotUndone
		n := slices.IndexFunc(a.inc.History, func(m Made) bool { return m.Step == s.ID })
		if n < 0 {
			if s.AppliedAt.IsZero() && !s.Unsure {
				continue
			}
			n = len(a.inc.History)
			a.inc.History = append(a.inc.History, Made{
				Step: s.ID, Kind: s.Kind, Title: s.Title, Target: s.Target, From: s.From, To: s.To, Undo: s.Undo,
				DryRun: a.inc.OnlyDryRun(s), Unsure: s.Unsure || unsure, AskedAt: s.AskedAt, Cause: a.proposedFor(s),
			}.approved(s, a.inc.Decisions))
		}
		m := &a.inc.History[n]
		m.State, m.AppliedAt, m.LiveAt = s.State, s.AppliedAt, s.LiveAt
		m.UndoneAt, m.UndoneBy = s.UndoneAt, cloned(s.UndoneBy)
		if v := s.Verification; v != nil {
			m.VerifiedAt, m.Verdict, m.Check = v.At, v.Verdict, v.Comparison
		}
	}
}

// proposedFor is the diagnosis that a step of the present plan is for; empty for the steps of earlier plans.
func (a *applier) proposedFor(s Step) Cause {
	p, d := a.inc.Plan, a.inc.Diagnosis
	if p == nil || d == nil || p.Diagnosis != d.Name ||
		!slices.ContainsFunc(p.Steps, func(o Step) bool { return o.ID == s.ID }) {
		return Cause{}
	}
	return d.Cause()
}

// approved says who approved the step, and when the last of them did. A write of which nothing is known keeps no
// approvals; then it is who decided last.
func (m Made) approved(s Step, all []Decision) Made {
	m.By = slices.Clone(s.Approvals)
	for _, d := range slices.Backward(all) {
		if d.Step != s.ID || d.Verb != Approve {
			continue
		}
		m.DecidedAt = d.At
		if len(m.By) == 0 {
			m.By = []Actor{d.By}
		}
		break
	}
	return m
}
