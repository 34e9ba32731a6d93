// Package policy decides whether a step may run now: automatically, after approval by people, or not at all, and why.
//
// It is pure: no clock, no network, no files. Whatever is unknown, missing or failed is a reason to refuse. Every
// verdict carries the sentence that a person reads.
package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Settings are the limits that hold for every pool.
type Settings struct {
	// CoolDown is the least time between the end of one write to an object and the next. Undo is exempt.
	CoolDown time.Duration
	// HourlyBudget and DailyBudget bound the writes to one pool in a sliding hour and day, failed ones included. Undo is
	// exempt.
	HourlyBudget, DailyBudget int
	// Automatic lists the kinds of steps that mode auto runs without asking. Empty: none.
	Automatic []incident.StepKind
	// AutomaticUndo lets policy take a step back that made it worse or changed nothing, without asking again.
	AutomaticUndo bool
}

// Defaults are the limits of a configuration that names none: ten minutes is two evaluations of a 5-minute rate window,
// so that the effect of the last step is visible before the next.
func Defaults() Settings {
	return Settings{CoolDown: 10 * time.Minute, HourlyBudget: 4, DailyBudget: 12}
}

// Validate names every setting that cannot be meant.
func (s Settings) Validate() []string {
	var errs []string
	if s.CoolDown < 0 {
		errs = append(errs, "cool_down must not be negative")
	}
	if s.HourlyBudget < 1 {
		errs = append(errs, "hourly_budget must be at least 1; to stop all writes use mode: observe or dry-run")
	}
	if s.DailyBudget < s.HourlyBudget {
		errs = append(errs,
			fmt.Sprintf("daily_budget (%d) must not be below hourly_budget (%d)", s.DailyBudget, s.HourlyBudget))
	}
	for _, k := range s.Automatic {
		if _, knob := k.Knob(); !knob {
			errs = append(errs, fmt.Sprintf("automatic: %q is not a kind of step that can run", k))
		}
		if knob, ok := k.Knob(); ok && knob.Restarts {
			errs = append(errs, fmt.Sprintf("automatic: %s restarts pods and always needs approval", k))
		}
	}
	return errs
}

// Input is everything that the guardrails look at.
type Input struct {
	Now  time.Time
	Pool incident.Pool
	Mode incident.Mode
	// DryRun says that the incident is a dry run, so that only server-side dry runs are sent for it.
	DryRun bool
	Step   incident.Step
	Op     incident.Op
	// By asked for the operation; of an undo it matters whether a person did.
	By incident.Actor
	// Incident is the id of the incident that wants to run the step.
	Incident string
	// Writes is the history of the pool's objects, at least of the last day. WritesUnknown says that it could not be read.
	Writes        []incident.Write
	WritesUnknown bool
	// Locks maps the key of a locked object to the incident that holds it.
	Locks map[string]string
	// Pauses are the pauses in force.
	Pauses   []incident.Pause
	Cluster  incident.Cluster
	Readings map[string]incident.Reading
	// Roles are those of the pool's pods, where it is disaggregated.
	Roles incident.Roles
}

// Knowing is the input with what was read for it.
func (in Input) Knowing(known incident.GuardInputs) Input {
	in.Now, in.Mode, in.DryRun = known.At, known.Mode, known.DryRun
	in.Writes, in.WritesUnknown = known.Writes, known.WritesUnknown
	in.Locks, in.Pauses = known.Locks, known.Pauses
	return in
}

// Names are the guardrails that Check asks before a step is applied, in order.
func Names() []string {
	return []string{"mode", "pause", "lock", "cool-down", "budget", "load", "availability", "still-needed", "role"}
}

// Check asks every guardrail of this package, in a fixed order. The result is appended to those that came with the
// step.
func Check(in Input, s Settings) []incident.Guardrail {
	switch in.Op {
	case incident.OpApply:
		return []incident.Guardrail{
			mode(in), pause(in), lock(in), coolDown(in, s), budget(in, s), load(in), availability(in),
			stillNeeded(in), side(in),
		}
	case incident.OpUndo:
		return []incident.Guardrail{undoMode(in), pause(in), lock(in)}
	default:
		return []incident.Guardrail{refuse("operation", "this version doesn't know the operation %q", in.Op)}
	}
}

// Refusal returns the reason of the first guardrail that refuses; zero: none does.
func Refusal(gs []incident.Guardrail) incident.Reason { return incident.Refusal(gs) }

// Answer says who has to decide on a step.
type Answer string

// The answers.
const (
	Automatic     Answer = "automatic"
	NeedsApproval Answer = "needs_approval"
	Refused       Answer = "refused"
)

// Decide says whether a step that was checked runs by itself, needs people, or is refused. Unknown modes are refused.
func Decide(m incident.Mode, step incident.Step, approvers incident.Approvers, s Settings) (Answer, string) {
	if step.Refusal().Kind != "" {
		return Refused, "a check refuses it"
	}
	if step.Kind == incident.StepManual {
		return Refused, "this step is manual"
	}
	switch m {
	case incident.ModeAuto:
		if step.WasTried() {
			answer, why := needApproval(approvers)
			return answer, "not auto-approved: the same change was already tried in this incident; " + why
		}
		if all := step.Cautions(); len(all) > 0 {
			answer, why := needApproval(approvers)
			return answer, "not auto-approved because of a caution (" + strings.Join(all, "; ") + "); " + why
		}
		// Policy is nobody's second person.
		alone := max(step.Needs.Approvals, approvers.Needed(nil)) <= 1
		if slices.Contains(s.Automatic, step.Kind) && alone && !step.Needs.Confirm && !step.Needs.Restart {
			return Automatic, fmt.Sprintf("mode auto runs %s steps within their bounds", step.Kind)
		}
		return needApproval(approvers)
	case incident.ModeApprove, incident.ModeDryRun:
		return needApproval(approvers)
	case incident.ModeObserve:
		return Refused, "mode observe proposes and changes nothing"
	default:
		return Refused, fmt.Sprintf("the mode %q is not known", m)
	}
}

// Unapproved says why the approvals that a step has do not suffice under the configuration of now; zero: they do. It
// is asked before the write: the mode, the approvers and their number may have become stricter since. chosenBy
// is who chose the value of the step, or nil.
func Unapproved(
	m incident.Mode, step incident.Step, approvers incident.Approvers, chosenBy *incident.Actor, s Settings,
) incident.Reason {
	counting := step.Counting(approvers)
	if slices.ContainsFunc(counting, func(a incident.Actor) bool { return a.Kind == incident.ActorPolicy }) {
		if why := step.Refusal(); why.Kind != "" {
			return why
		}
		if answer, why := Decide(m, step, approvers, s); answer != Automatic {
			return incident.Reason{Kind: incident.ReasonNotAutomatic, Text: why}
		}
		return incident.Reason{}
	}
	if !approvers.Enough(counting, chosenBy) {
		need := max(approvers.Needed(chosenBy), len(counting)+1)
		return incident.Reason{Kind: incident.ReasonApprovers, Count: len(counting), Of: need}
	}
	return incident.Reason{}
}

func needApproval(a incident.Approvers) (Answer, string) {
	if len(a.Users) == 0 && len(a.Groups) == 0 {
		return NeedsApproval, "no one can approve this in Slack: the list of approvers is empty; use the command line"
	}
	return NeedsApproval, fmt.Sprintf("needs %d approval(s)", a.Needed(nil))
}
