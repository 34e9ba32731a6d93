package incident

// What a person is told who decides on a step.
const (
	RefusedPlanChanged   NoteKind = "plan_changed"
	RefusedStepGone      NoteKind = "decided_step_gone"
	RefusedManual        NoteKind = "manual"
	RefusedExpired       NoteKind = "request_expired"
	RefusedVerb          NoteKind = "unknown_verb"
	RefusedBlocked       NoteKind = "blocked"
	RefusedUnconfirmed   NoteKind = "unconfirmed"
	RefusedSameChannel   NoteKind = "same_channel"
	RefusedTwice         NoteKind = "approved_twice"
	RefusedSameValue     NoteKind = "same_value"
	RefusedNotNarrower   NoteKind = "not_narrower"
	RefusedDecidedBefore NoteKind = "decided_before"
	RefusedStepState     NoteKind = "step_state"
	RefusedDecideClosed  NoteKind = "decide_closed"
	RefusedDecideBusy    NoteKind = "decide_busy"
	RefusedDecide        NoteKind = "decide"
	RefusedNothingOpen   NoteKind = "nothing_open"
	RefusedNotOffered    NoteKind = "not_offered"
	RefusedAskAgain      NoteKind = "ask_again"
	// RefusedSnooze: a snooze is at most For, and goes with a denial of everything.
	RefusedSnooze   NoteKind = "snooze"
	RefusedNoReason NoteKind = "no_reason"
	// RefusedFourEyes: By chose the value of the step, so somebody else has to approve it.
	RefusedFourEyes NoteKind = "four_eyes"
	// RefusedPaused: By has paused changes, as Cause says. The question is open still.
	RefusedPaused NoteKind = "paused"
	// RefusedHeld: the same, and it is asked again when the pause has ended.
	RefusedHeld NoteKind = "held"
)

// What a person is told who undoes a step, or aborts or closes an incident.
const (
	RefusedUndoDryRun   NoteKind = "undo_dry_run"
	RefusedUndoManually NoteKind = "undo_manually"
	RefusedUndone       NoteKind = "already_undone"
	RefusedNotApplied   NoteKind = "not_applied"
	RefusedOnTop        NoteKind = "on_top"
	RefusedUndoBusy     NoteKind = "undo_busy"
	RefusedAbort        NoteKind = "abort"
	RefusedAbortWrite   NoteKind = "abort_write"
	RefusedAbortLate    NoteKind = "abort_late"
	RefusedClosed       NoteKind = "already_closed"
	RefusedClose        NoteKind = "close"
	RefusedMitigation   NoteKind = "mitigation_active"
)

// What the bot tells itself: the incident has changed since an event was worked out. A person sees it in logs only.
const (
	RefusedNoStep       NoteKind = "no_step_here"
	RefusedStale        NoteKind = "stale"
	RefusedEvent        NoteKind = "event"
	RefusedNoted        NoteKind = "already_noted"
	RefusedHasPool      NoteKind = "has_pool"
	RefusedNoAlert      NoteKind = "no_alert"
	RefusedReopen       NoteKind = "reopen"
	RefusedRevertDryRun NoteKind = "revert_dry_run"
	RefusedNotFollowed  NoteKind = "not_followed"
	RefusedNotInPlace   NoteKind = "not_in_place"
	RefusedNoneWaiting  NoteKind = "none_waiting"
	RefusedOtherWaiting NoteKind = "other_waiting"
	RefusedNoWrite      NoteKind = "no_write"
	RefusedResult       NoteKind = "result"
	RefusedNoRollout    NoteKind = "no_rollout"
	RefusedNotSettled   NoteKind = "not_settled"
	RefusedNoCheck      NoteKind = "no_check"
	RefusedNoSetback    NoteKind = "no_setback"
	RefusedNoRequest    NoteKind = "no_request"
	RefusedNoNews       NoteKind = "no_news"
	RefusedNoDrill      NoteKind = "no_drill"
)

// What a person is told who starts a drill.
const (
	// RefusedDrillPool and RefusedDrillScenario: there is no such one; Names are those that there are, Why is the
	// scenario.
	RefusedDrillPool     NoteKind = "drill_pool"
	RefusedDrillScenario NoteKind = "drill_scenario"
	// RefusedDrillOpen: the real incident Why is open on the pool. RefusedDrillRunning: another drill is.
	RefusedDrillOpen    NoteKind = "drill_open"
	RefusedDrillRunning NoteKind = "drill_running"
	// RefusedDrillMode: nobody is asked in the pool's Mode. RefusedDrillPaused: By has paused changes, as Cause says.
	RefusedDrillMode   NoteKind = "drill_mode"
	RefusedDrillPaused NoteKind = "drill_paused"
	// RefusedDrillNoKubernetes: no step can be worked out.
	RefusedDrillNoKubernetes NoteKind = "drill_no_kubernetes"
)

// refusal is the answer to an event that the incident does not take.
func refusal(why Note) *RefusedError { return &RefusedError{Said: why} }

func paused(p Pause) *RefusedError {
	return refusal(Note{Kind: RefusedPaused, By: p.By, Cause: (&PausedError{Pause: p}).Reason()})
}
