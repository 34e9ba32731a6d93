package incident

// notFound says why a look did not make the diagnosis that stays shown, and of when that is: the two would contradict
// each other. Without a diagnosis to stay it says why there is none.
func (a *applier) notFound(e Investigated, before Incident) {
	of := before.ReadAt
	if shownAnyway(a.inc.Said) {
		of = a.inc.Said.At
	}
	switch {
	case a.inc.Diagnosis == nil:
		a.setNote(Text(e.Note))
	case e.Diagnosis != nil && e.Diagnosis.Name != a.inc.Diagnosis.Name:
		a.setNote(Note{Kind: NoteOtherCause, At: of, Why: e.Diagnosis.Summary})
	default:
		a.setNote(Note{Kind: NoteNotFoundAgain, At: of})
	}
}

// shownAnyway says whether a note says that a diagnosis is shown which the newest look did not make.
func shownAnyway(n Note) bool { return n.Kind == NoteNotFoundAgain || n.Kind == NoteOtherCause }

// foundAgain takes back what notFound said.
func (a *applier) foundAgain(e Investigated) {
	a.inc.Plan.Missed = 0
	switch {
	case !shownAnyway(a.inc.Said):
	case a.inc.State == StateDeciding:
		a.setNote(Note{})
	default:
		a.setNote(noStepNote(*a.inc.Plan, e.Note))
	}
}
