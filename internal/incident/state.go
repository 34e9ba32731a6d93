package incident

import "slices"

// State is where an incident stands. States lists all of them; docs/states.md draws them.
type State string

// The states of an incident.
const (
	// StateReceived has alerts and nothing else. The engine moves it on after the group wait.
	StateReceived State = "received"
	// StateInvestigating is collecting evidence. An investigation moves it on.
	StateInvestigating State = "investigating"
	// StateProposed has a plan that policy has not looked at yet.
	StateProposed State = "proposed"
	// StateDeciding waits for people: approve, deny, undo, or expiry, which is a no.
	StateDeciding State = "deciding"
	// StateApplying has an approved step: it is checked again, claimed and written.
	StateApplying State = "applying"
	// StateSettling waits for the rollout, the signals' window and the step's warm-up.
	StateSettling State = "settling"
	// StateVerifying reads the signals again.
	StateVerifying State = "verifying"
	// StateUndoing restores what a step touched, and waits for the rollout of that.
	StateUndoing State = "undoing"
	// StateWatching is quiet: nothing is asked; it waits for health, for a new diagnosis, or to undo a mitigation.
	StateWatching State = "watching"
	// StateClosed is over. A re-fire within Timing.Reopen opens it again.
	StateClosed State = "closed"
)

// States lists every state, in the order of a life without trouble.
func States() []State {
	return []State{
		StateReceived, StateInvestigating, StateProposed, StateDeciding, StateApplying,
		StateSettling, StateVerifying, StateUndoing, StateWatching, StateClosed,
	}
}

// Running says whether a step is being written, settled, verified or undone in this state, so that no plan may be
// replaced.
func (s State) Running() bool {
	return slices.Contains([]State{StateApplying, StateSettling, StateVerifying, StateUndoing}, s)
}

// StepState is where a step stands.
type StepState string

// The states of a step.
const (
	StepProposed   StepState = "proposed"
	StepApproved   StepState = "approved"
	StepDenied     StepState = "denied"
	StepExpired    StepState = "expired"
	StepSuperseded StepState = "superseded"
	StepRefused    StepState = "refused"
	StepApplying   StepState = "applying"
	StepApplied    StepState = "applied"
	StepFailed     StepState = "failed"
	StepUndoing    StepState = "undoing"
	StepUndone     StepState = "undone"
	// StepReverted was applied, and somebody else has changed the value since.
	StepReverted StepState = "reverted"
)

// Verdict is the outcome of a verification.
type Verdict string

// The verdicts. Only Recovered lets an incident end by itself; Worse and NotEnough need two readings in a row.
// NotEnough is added capacity that does work while the pool lacks more; Inconclusive is what missing data and too
// little traffic give.
const (
	VerdictRecovered    Verdict = "recovered"
	VerdictImproved     Verdict = "improved"
	VerdictUnchanged    Verdict = "unchanged"
	VerdictWorse        Verdict = "worse"
	VerdictNotEnough    Verdict = "not_enough"
	VerdictInconclusive Verdict = "inconclusive"
)

// Mode is how far the bot may go.
type Mode string

// The modes. ModeDryRun is the default: every read is real and no write is made.
const (
	ModeObserve Mode = "observe"
	ModeDryRun  Mode = "dry-run"
	ModeApprove Mode = "approve"
	ModeAuto    Mode = "auto"
)

// Modes lists every mode, the most careful first.
func Modes() []Mode { return []Mode{ModeObserve, ModeDryRun, ModeApprove, ModeAuto} }

// Writes says that the bot may change something in this mode.
func (m Mode) Writes() bool { return m == ModeApprove || m == ModeAuto }

// Op is what is done to a step's target: the step itself or its undo.
type Op string

// The operations on a target.
const (
	OpApply Op = "apply"
	OpUndo  Op = "undo"
)
