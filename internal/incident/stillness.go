package incident

import "slices"

// What people are asked holds still while they read it. Three looks in a row must miss the cause before its question is
// replaced, unless it has become unsafe meanwhile, and a number changes only when it moves by a fifth. Both are our
// own: in a moving incident one look in a row is noise, and a fifth is less than an estimate of the load wavers by.
const (
	looksToReplace = 3
	worthAChange   = 0.2
)

// holdsStill keeps what people are asked although this look does not lead to it, and says so in the note. The click on
// it is held against the live state: what is no longer needed is refused there.
func (a *applier) holdsStill(e Investigated, before Incident) bool {
	switch {
	case a.inc.Plan == nil || len(a.inc.Proposed()) == 0 || a.sameDiagnosis(e):
		return false
	case e.Diagnosis == nil && e.Healthy == Undecided: // Prometheus can't be asked: that is no answer, and counts as none
		return false
	case a.inc.Plan.Missed+1 >= looksToReplace || a.unsafeNow(e):
		return false
	}
	a.inc.Plan.Missed++
	a.notFound(e, before)
	a.render = true
	return true
}

// unsafeNow says whether what people are asked about is refused by now, or is what the newly found cause says never to
// do, in whatever direction.
func (a *applier) unsafeNow(e Investigated) bool {
	return slices.ContainsFunc(a.inc.Proposed(), func(asked Step) bool {
		refused := func(s Step) bool { return s.setting() == asked.setting() && !s.Executable() }
		forbidden := func(n Never) bool {
			return n.Knob == string(asked.Kind) || n.Change == NeverRestart && asked.Needs.Restart
		}
		return slices.ContainsFunc(e.Steps, refused) ||
			e.Diagnosis != nil && slices.ContainsFunc(e.Diagnosis.Never, forbidden)
	})
}

// nearPlan says whether an investigation leads to the plan that people are asked about, but for numbers that moved by
// less than is worth a change. A person may choose any.
func (a *applier) nearPlan(e Investigated) bool {
	if !a.sameDiagnosis(e) || a.inc.Plan.Rechosen || len(e.Steps) != len(a.inc.Plan.Steps) {
		return false
	}
	for n, asked := range a.inc.Plan.Steps {
		if s := e.Steps[n]; s.Digest != asked.Digest && !asked.near(s) {
			return false
		}
	}
	return true
}

// near says whether another step sets the same field, from the same value and with the same way back, to nearly the
// same.
func (s Step) near(o Step) bool {
	to, ok := s.To.whole()
	other, okOther := o.To.whole()
	moved := max(to-other, other-to)
	o.To = s.To
	return ok && okOther && float64(moved) < worthAChange*float64(to) && o.ComputeDigest() == s.ComputeDigest()
}
