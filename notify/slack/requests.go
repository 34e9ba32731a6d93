package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// request is what a click asks for: a decision, another event of a person, or the details.
type request struct {
	action string
	// decision is set of an approval, a denial, an undo, and of keeping a change; event of everything else that changes
	// the incident.
	decision *incident.Decision
	event    incident.Event
	// kinds are those of the steps that it is about: who may decide on them may do it. every says that one has to be an
	// approver of all of them, else one suffices.
	kinds []incident.StepKind
	every bool
}

// verbOf reads an action id of a decision.
func verbOf(action string) (verb incident.Verb, confirmed, known bool) {
	switch action {
	case actionApprove:
		return incident.Approve, false, true
	case actionConfirmed:
		return incident.Approve, true, true
	case actionDeny, actionDenyAll:
		return incident.Deny, false, true
	case actionUndo:
		return incident.Undo, false, true
	case actionKeep:
		return incident.Keep, false, true
	}
	return "", false, false
}

// actionOf is the action of a button, without the step; empty when it is none of ours.
func actionOf(id string) string {
	name, _, _ := strings.Cut(id, ":")
	if _, _, known := verbOf(name); known ||
		slices.Contains([]string{actionAck, actionAskAgain, actionStop, actionDetails, actionShow, actionShowAll}, name) {
		return name
	}
	return ""
}

// requested reads a click on the incident.
func requested(inc incident.Incident, action string, v buttonValue, by incident.Actor) (request, *refusal) {
	r := request{action: action}
	verb, confirmed, decision := verbOf(action)
	switch {
	case decision && action == actionDenyAll:
		if v.Step != "" || v.Digest == "" {
			return r, unknownValue(errors.New("a denial of everything has the plan's digest and nothing else"))
		}
		for _, s := range inc.Proposed() {
			r.kinds = append(r.kinds, s.Kind)
		}
		r.every = true
	case decision:
		if v.Step == "" || v.Digest == "" {
			return r, unknownValue(errors.New("a decision has a step and a digest"))
		}
		s, ok := inc.Step(v.Step)
		if !ok {
			return r, planChanged("an old plan")
		}
		r.kinds = []incident.StepKind{s.Kind}
		if verb == incident.Undo || verb == incident.Keep {
			planned := inc.Plan != nil && v.Digest == inc.Plan.Digest
			if v.Digest != s.Digest && !planned {
				return r, planChanged("an old step")
			}
			v.Digest = s.Digest // which a new plan doesn't change
		}
	case action == actionAck:
		r.event = incident.Acked{By: by}
	case action == actionAskAgain:
		digest := ""
		if inc.Plan != nil {
			digest = inc.Plan.Digest
		}
		switch {
		case digest != "" && (v.Digest == "" || v.Seen <= 0):
			return r, outOfDate()
		case digest != v.Digest:
			return r, planChanged("an old plan")
		}
		r.event, r.kinds = incident.AskedAgain{By: by, Revision: int(v.Seen)}, plannedKinds(inc)
	case action == actionStop:
		if v.Step == "" || v.Digest == "" || v.Seen <= 0 {
			return r, outOfDate()
		}
		s, ok := inc.Step(v.Step)
		if !ok || s.Digest != v.Digest {
			return r, planChanged("an old step")
		}
		r.event, r.kinds = incident.Aborted{By: by, Step: s.ID, Since: time.Unix(0, v.Seen)}, []incident.StepKind{s.Kind}
	}
	if decision {
		r.decision = &incident.Decision{Step: v.Step, Digest: v.Digest, Verb: verb, By: by, Confirm: confirmed}
	}
	return r, nil
}

// possible holds a request against the incident, with the same rules that decide in the end. The approvers are those of
// its step at this moment, and the pause is the one that covers its pool, if there is one.
func (r request) possible(
	inc incident.Incident, of incident.Approvers, pause *incident.Pause, now time.Time,
) *refusal {
	ev := r.asEvent(of, pause)
	if ev == nil {
		return nil
	}
	if _, err := incident.Apply(inc, ev, now); err != nil {
		return notTaken(err)
	}
	return nil
}

// asEvent is what the domain takes; nil for the details, which change nothing.
func (r request) asEvent(of incident.Approvers, pause *incident.Pause) incident.Event {
	if r.decision != nil {
		return incident.Decided{Decision: *r.decision, Approvers: &of, Paused: pause}
	}
	if n, narrows := r.event.(incident.Narrowed); narrows {
		n.Paused = pause
		return n
	}
	return r.event
}

// step is the step that a decision is about; empty for everything else.
func (r request) step() string {
	if r.decision == nil {
		return ""
	}
	return r.decision.Step
}

// decides says that the request answers what is asked, which is for those who have been called for it. Whoever was
// called before may still take back, stop and ask again.
func (r request) decides() bool {
	if r.decision == nil {
		return r.action == actionNarrow
	}
	return r.decision.Verb == incident.Approve || r.decision.Verb == incident.Deny
}

// plannedKinds are the kinds of steps that the last plan has for the bot.
func plannedKinds(inc incident.Incident) []incident.StepKind {
	var out []incident.StepKind
	for _, s := range present.Planned(inc) {
		if s.Kind != incident.StepManual {
			out = append(out, s.Kind)
		}
	}
	return out
}

// mayAsk says whether the person may do it; nil means yes. To have seen an incident, and to read its details, is for
// every full member of the workspace; everything else is for the approvers of the steps that it is about.
func (i *Interactions) mayAsk(ctx context.Context, c click, inc incident.Incident, r request) *refusal {
	if r.action == actionAck || r.action == actionDetails {
		return i.member(ctx, c)
	}
	// Without a step there are no approvers to be one of: the pool's own are asked then.
	kinds := slices.Compact(slices.Sorted(slices.Values(r.kinds)))
	if len(kinds) == 0 {
		kinds = []incident.StepKind{""}
	}
	var no *refusal
	for _, kind := range kinds {
		of := i.approvers(inc.Pool, kind)
		in := inc.Called(of, i.now())
		if r.decides() {
			in = inc.Deciders(of, i.now())
		}
		no = i.allowed(ctx, c.User, in)
		if (no == nil) != r.every { // one that may decides where one suffices, and one that may not where all are needed
			break
		}
	}
	if no != nil {
		return no
	}
	return i.member(ctx, c)
}

// carryOut records what was asked for.
func (i *Interactions) carryOut(ctx context.Context, c click, inc incident.Incident, r request) (
	incident.Incident, *refusal,
) {
	var err error
	switch {
	case r.decision != nil:
		inc, err = i.decider.Decide(ctx, inc.ID, *r.decision)
	case r.event != nil:
		inc, err = i.decider.Act(ctx, inc.ID, r.event)
	default:
		if err := i.postDetails(ctx, c, inc); err != nil {
			no := refuse("the details could not be posted", "Could not post the details. Click again in a minute.")
			no.err = err
			return inc, no
		}
	}
	if err != nil {
		return inc, notTaken(err)
	}
	return inc, nil
}

// answer tells the person what their click did.
func (r request) answer(inc incident.Incident) string {
	switch r.action {
	case actionAck:
		return "Acknowledged."
	case actionAskAgain:
		return "Asking again: investigating first, then a new request."
	case actionStop:
		return r.stopped(inc)
	case actionDetails:
		return "The details are in the thread."
	case actionNarrow:
		return "Working it out with your value. Nothing is applied: the message asks about the new plan in a moment."
	case actionDenyAll, actionDeny:
		return "Denied. Nothing was changed."
	}
	s, _ := inc.Step(r.decision.Step)
	what := bold(present.Change(s), 100)
	dryRun := present.NothingChanges(inc)
	if dryRun != "" {
		dryRun = " " + dryRun
	}
	switch {
	case r.action == actionKeep:
		return "Keeping " + bold(present.ValueText(s.To), 60) + "."
	case r.action == actionUndo:
		return "Rolling back: " + what + " to " + bold(present.ValueText(s.Undo), 60) + "."
	case s.State == incident.StepProposed:
		left := s.Needs.Approvals - len(s.Approvals)
		waiting := "one more approver"
		if left > 1 {
			waiting = fmt.Sprintf("%d more approvers", left)
		}
		return fmt.Sprintf("Approved (%d of %d): %s. Waiting for %s.%s", len(s.Approvals), s.Needs.Approvals, what, waiting,
			dryRun)
	}
	return "Approved. Re-checking, then applying " + what + "." + dryRun
}

// stopped says what a stop left: the step before it is applied, or as it is when its rollback was stopped.
func (r request) stopped(inc incident.Incident) string {
	e, _ := r.event.(incident.Aborted)
	s, _ := inc.Step(e.Step)
	if s.State == incident.StepApplied {
		return "Stopped. " + bold(present.Change(s), 100) + " isn't rolled back."
	}
	return "Stopped. " + bold(present.Change(s), 100) + " isn't applied. Nothing is rolled back."
}

// outOfDate is the answer to a button that does not say what the person saw.
func outOfDate() *refusal {
	return refuse("a button of an older version", "The message was updated. Nothing was changed. Check it and click "+
		"again, or decide with `vllm-medic incidents`.")
}

func unknownValue(err error) *refusal {
	no := refuse("unknown value", "Unknown action. Nothing was changed.")
	no.err = err
	return no
}
