package incident

// notFound says why a look made no diagnosis. Where one of before stays shown, it says of when that is instead: the two
// would contradict each other.
func (a *applier) notFound(e Investigated, before Incident) {
	switch {
	case a.inc.Diagnosis == nil:
		a.setNote(Text(e.Note))
	case a.inc.Said.Kind != NoteNotFoundAgain:
		a.setNote(Note{Kind: NoteNotFoundAgain, At: before.ReadAt})
	}
}

// foundAgain takes back what notFound said.
func (a *applier) foundAgain(e Investigated) {
	switch {
	case a.inc.Said.Kind != NoteNotFoundAgain:
	case a.inc.State == StateDeciding:
		a.setNote(Note{})
	default:
		a.setNote(noStepNote(*a.inc.Plan, e.Note))
	}
}
