package remediation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Look is one look at a pool: what was read, what it means, and the steps that follow. It writes nothing.
type Look struct {
	Evidence incident.Evidence
	Result   playbooks.Result
	Steps    []incident.Step
	// Unread says that the live values behind one of the steps could not be read, which is refused for that.
	Unread bool
}

// Look reads the live state of a pool and works out diagnosis and steps. It is what diagnose shows. Executor errors become steps that are
// refused with the reason.
func (e *Engine) Look(ctx context.Context, pool incident.Pool, inc incident.Incident) Look {
	l := e.look(ctx, pool, inc, true)
	for _, req := range l.Result.Steps {
		s, err := e.propose(ctx, pool, inc, req, l.Evidence)
		if err != nil {
			l.Unread = true
			e.deps.Logger.WarnContext(ctx, "a step cannot be worked out", "incident", inc.ID, "pool", pool.Name, "kind", req.Kind, "err", err)
		}
		l.Steps = append(l.Steps, s)
	}
	return l
}

// read is Look without the steps, and so without a dry-run: for a turn after which no plan can follow.
func (e *Engine) read(ctx context.Context, pool incident.Pool, inc incident.Incident) Look {
	return e.look(ctx, pool, inc, false)
}

func (e *Engine) look(ctx context.Context, pool incident.Pool, inc incident.Incident, usual bool) Look {
	signals := e.deps.Playbooks.Signals(inc.AlertNames())
	l := Look{Evidence: e.deps.Collector.Collect(ctx, pool, signals, incident.Attention{Alerts: inc.Alerts, Usual: usual})}
	e.markOwn(ctx, pool, inc, l.Evidence.Cluster.Changes, l.Evidence.At)
	in := playbooks.Input{Alerts: inc.Alerts, Pool: pool, Evidence: l.Evidence}
	if inc.Diagnosis != nil {
		in.Standing = inc.Diagnosis.Name
	}
	l.Result = e.deps.Playbooks.Diagnose(in)
	l.Evidence.Readings = l.Result.Readings
	return l
}

func (e *Engine) investigate(ctx context.Context, t *turn) error {
	return e.commit(ctx, t, e.investigated(ctx, t), extra{})
}

func (e *Engine) investigated(ctx context.Context, t *turn) incident.Investigated {
	l := e.Look(ctx, t.pool, t.inc)
	return incident.Investigated{
		Evidence: l.Evidence, Diagnosis: l.Result.Diagnosis, Others: l.Result.Others, Steps: l.Steps, Unread: l.Unread,
		Healthy: l.Result.Healthy, Note: l.Result.Note,
	}
}

// propose turns a request of a playbook into a step with its guardrails. What cannot be proposed stays visible, refused, with the reason. An error says that the live
// values could not be read; the step says it too.
func (e *Engine) propose(ctx context.Context, pool incident.Pool, inc incident.Incident, req incident.StepRequest, ev incident.Evidence) (incident.Step, error) {
	if req.Kind == incident.StepManual {
		s := incident.Step{Kind: req.Kind, Title: req.Advice, Why: req.Why, State: incident.StepProposed}
		s.Digest = s.ComputeDigest()
		return s, nil
	}
	exec := e.proposer(pool, inc)
	if exec == nil {
		return refusedStep(req, "no Kubernetes API is configured, so the present value cannot be read", ""), nil
	}
	s, err := exec.Propose(ctx, pool, req)
	var refused *incident.RefusedError
	switch {
	case errors.As(err, &refused):
		return refusedStep(req, refused.Reason, refused.Hint), nil
	case err != nil:
		return refusedStep(req, "could not be read: "+err.Error(), ""), err
	}
	s.Needs.Approvals = max(1, pool.ApproversFor(s.Kind).Count)
	s.Guardrails = append(s.Guardrails, e.check(ctx, pool, inc, s, incident.OpApply, ev)...)
	s.Digest = s.ComputeDigest()
	return s, nil
}

func refusedStep(req incident.StepRequest, reason, hint string) incident.Step {
	s := incident.Step{
		Kind: req.Kind, Title: requestTitle(req), Why: req.Why, State: incident.StepRefused, Reason: reason, Diff: hint,
		Guardrails: []incident.Guardrail{{Name: "proposal", Verdict: incident.GuardRefuse, Reason: reason}},
	}
	s.Digest = s.ComputeDigest()
	return s
}

func requestTitle(req incident.StepRequest) string {
	switch req.Kind {
	case incident.StepReplicas:
		if req.Add == 1 {
			return "Add 1 replica"
		}
		return fmt.Sprintf("Add %d replicas", req.Add)
	case incident.StepThrottle:
		return fmt.Sprintf("Throttle to %.0f %% of the present limit", req.Factor*100)
	case incident.StepMaxNumBatchedTokens:
		return fmt.Sprintf("Set max_num_batched_tokens to %.0f %% of its value", req.Factor*100)
	case incident.StepManual:
		return req.Advice
	default:
		return string(req.Kind)
	}
}

func (e *Engine) executor(drill bool) Executor {
	if drill {
		return e.deps.Drill
	}
	return e.deps.Live
}

// proposer works steps out. A look that is kept nowhere asks as the bot would in the pool's mode: a right that is missing there is not one that a drill
// does without.
func (e *Engine) proposer(pool incident.Pool, inc incident.Incident) Executor {
	if inc.ID == "" && (pool.Mode == incident.ModeApprove || pool.Mode == incident.ModeAuto) {
		return e.deps.Live
	}
	return e.executor(inc.Drill)
}

// check asks the guardrails. What cannot be read refuses.
func (e *Engine) check(ctx context.Context, pool incident.Pool, inc incident.Incident, s incident.Step, op incident.Op, ev incident.Evidence) []incident.Guardrail {
	now := e.deps.Now()
	in := policy.Input{
		Now: now, Pool: pool, Mode: careful(inc.Mode, pool.Mode), Drill: inc.Drill, Step: s, Op: op, By: bot, Incident: inc.ID, Cluster: ev.Cluster, Readings: ev.Readings,
	}
	if inc.Active != nil {
		in.By = inc.Active.By
	}
	var broken []incident.Guardrail
	unread := func(name string, err error) {
		broken = append(broken, incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Reason: "cannot be read from the store: " + err.Error()})
	}
	var err error
	if in.Writes, err = e.deps.Ledger.WritesSince(ctx, pool.Name, now.Add(-24*time.Hour)); err != nil {
		in.WritesUnknown = true
	}
	if in.Locks, err = e.deps.Ledger.Locks(ctx); err != nil {
		unread("lock", err)
	}
	if in.Pauses, err = e.deps.Ledger.Pauses(ctx); err != nil {
		unread("pause", err)
	}
	return append(broken, policy.Check(in, e.cfg.Policy)...)
}

// careful returns the more careful of the mode at the incident's opening and the one configured now.
func careful(a, b incident.Mode) incident.Mode {
	modes := incident.Modes()
	ia, ib := slices.Index(modes, a), slices.Index(modes, b)
	switch {
	case ia < 0:
		return a // unknown: refused by policy
	case ib < 0:
		return b
	case ia < ib:
		return a
	default:
		return b
	}
}

// ask looks at a fresh plan: policy may run its first step, else people are asked until the plan expires.
func (e *Engine) ask(ctx context.Context, t *turn) error {
	mode := careful(t.inc.Mode, t.pool.Mode)
	for _, s := range t.inc.Proposed() {
		approvers := t.pool.ApproversFor(s.Kind)
		answer, why := policy.Decide(mode, s, approvers, e.cfg.Policy)
		switch answer {
		case policy.Automatic:
			d := incident.Decision{
				Step: s.ID, Digest: t.inc.Plan.Digest, Verb: incident.Approve, By: incident.Actor{Kind: "policy", ID: "auto"}, Reason: why,
			}
			return e.commit(ctx, t, incident.Decided{Decision: d, Approvers: &approvers}, extra{})
		case policy.NeedsApproval:
			return e.commit(ctx, t, incident.Asked{ExpiresAt: t.now.Add(e.expire(approvers))}, extra{})
		case policy.Refused:
		}
	}
	return e.commit(ctx, t, incident.Quieted{Reason: "No step can be run now; each says why."}, extra{})
}

// askUntil is until when people may decide on what is left of a plan.
func (e *Engine) askUntil(t *turn) time.Time { return t.now.Add(e.expire(t.pool.ApproversFor(""))) }

func (e *Engine) expire(a incident.Approvers) time.Duration {
	if a.Expire > 0 {
		return a.Expire
	}
	return e.cfg.Timing.Expire
}
