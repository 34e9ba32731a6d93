package remediation

import (
	"context"
	"errors"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// propose turns a request of a playbook into a step with its guardrails. What cannot be proposed stays visible,
// refused, with the reason. An error says that the live values could not be read; the step says it too.
func (i *Investigator) propose(
	ctx context.Context, pool incident.Pool, inc incident.Incident, req incident.StepRequest, found Investigation,
) (incident.Step, error) {
	if req.Kind == incident.StepManual {
		s := incident.Step{
			Kind: req.Kind, Title: req.Advice, Why: req.Why, Commands: req.Commands, State: incident.StepProposed,
		}
		s.Digest = s.ComputeDigest()
		return s, nil
	}
	proposer := i.proposer(pool, inc)
	if proposer == nil {
		return refusedStep(req, incident.Reason{Kind: incident.ReasonNoLiveValue}, ""), nil
	}
	s, err := proposer.Propose(ctx, pool, req)
	var refused *incident.RefusedError
	switch {
	case errors.As(err, &refused):
		s := refusedStep(req, incident.Because(refused.Reason), refused.Hint)
		s.Worked = refused.Worked
		return s, nil
	case err != nil:
		return refusedStep(req, incident.Reason{Kind: incident.ReasonValueUnread, Text: err.Error()}, ""), err
	}
	approvers := pool.ApproversFor(s.Kind)
	s.Needs.Approvals = approvers.Needed(inc.ChosenBy(s))
	s.Needs.Users, s.Needs.Groups = approvers.Users, approvers.Groups
	s.Guardrails = append(s.Guardrails, i.check(pool, inc, s, incident.OpApply, found.Evidence, *found.Guards)...)
	s.Digest = s.ComputeDigest()
	return s, nil
}

// proposeChosen is propose with the smaller change that a person chose for such a step, as long as the diagnosis is the
// one that they saw. Where only that one is refused, the step is what the playbook asks for, and why says the reason.
func (i *Investigator) proposeChosen(
	ctx context.Context, pool incident.Pool, inc incident.Incident, req incident.StepRequest, found Investigation,
) (s incident.Step, why incident.Reason, err error) {
	req.Asked = inc.AskedValue(req.Kind)
	n, chosen := inc.Narrowing(req.Kind)
	if !chosen || !found.sameCause(inc) {
		s, err = i.propose(ctx, pool, inc, req, found)
		return s, incident.Reason{}, err
	}
	req.Chosen = n.Chosen()
	if s, err = i.propose(ctx, pool, inc, req, found); err != nil || n.Holds(s) && s.Executable() {
		return s, incident.Reason{}, err
	}
	req.Chosen = 0
	asked, err := i.propose(ctx, pool, inc, req, found)
	if err == nil && n.Holds(s) && !asked.Executable() {
		return s, incident.Reason{}, nil
	}
	return asked, s.Refusal(), err
}

// refusedStep is what stays of a request for which there is no step.
func refusedStep(req incident.StepRequest, why incident.Reason, hint string) incident.Step {
	s := incident.Step{
		Kind: req.Kind, Title: requestTitle(req), Why: req.Why, State: incident.StepRefused, Cause: why, Diff: hint,
		Guardrails: []incident.Guardrail{{Name: "proposal", Verdict: incident.GuardRefuse, Cause: why}},
	}
	s.Digest = s.ComputeDigest()
	return s
}

// requestTitle says what a playbook asks for, without the live values.
func requestTitle(req incident.StepRequest) string {
	if req.Kind == incident.StepManual {
		return req.Advice
	}
	if knob, ok := req.Kind.Knob(); ok {
		return knob.Title(req)
	}
	return string(req.Kind)
}

// proposer works steps out. An investigation that is kept nowhere asks as the bot would in the pool's mode: a
// permission that is missing there is not one that a dry run does without.
func (i *Investigator) proposer(pool incident.Pool, inc incident.Incident) Proposer {
	asServe := inc.ID == "" && (pool.Mode == incident.ModeApprove || pool.Mode == incident.ModeAuto)
	if asServe || !inc.DryRun {
		return i.deps.Live
	}
	return i.deps.DryRun
}
