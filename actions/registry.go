package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Manager is the field manager of every write, by which the bot's own writes are recognised.
const Manager = "vllm-medic"

// Annotation carries the id of the bot's last write on objects that can carry it.
const Annotation = "vllm-medic.io/last-write"

// The two things that a step's diff can say of itself.
const (
	CheckedByServer = "by the API server"
	NotChecked      = "not checked by the API server"
)

// Config changes how the cluster is asked. The zero value is right.
type Config struct {
	// QPS bounds requests per second; 20 when zero.
	QPS float32
}

// Registry turns knobs. Use New for one that writes; its Drill sends dry-runs only.
type Registry struct {
	client *client
	drill  *Registry
	knobs  map[incident.StepKind]knob
}

// knob is one kind of step.
type knob interface {
	// find reads the live field that a step of this kind would touch. *incident.RefusedError when there is none that may be touched.
	find(ctx context.Context, c *client, pool incident.Pool) (field, error)
	// next works out the absolute value that a request leads to. It is pure.
	next(now field, pool incident.Pool, req incident.StepRequest) (incident.Value, []incident.Guardrail, error)
	// describe fills in what a person should know: title, cost, speed, risk, needs.
	describe(step *incident.Step, now field, pool incident.Pool)
	// rollout looks at how far the cluster has followed the value.
	rollout(ctx context.Context, c *client, pool incident.Pool, step incident.Step, want incident.Value) (incident.Rollout, error)
}

// New returns a Registry for a cluster. Nothing is asked yet; rc is not changed.
func New(cfg Config, rc *rest.Config, logger *slog.Logger) (*Registry, error) {
	if rc == nil || logger == nil {
		return nil, errors.New("actions: a client configuration and a logger are needed")
	}
	qps := cmp.Or(cfg.QPS, 20)
	live, err := newClient(rc, qps, false)
	if err != nil {
		return nil, err
	}
	dry, err := newClient(rc, qps, true)
	if err != nil {
		return nil, err
	}
	knobs := map[incident.StepKind]knob{
		incident.StepReplicas: replicas{}, incident.StepMaxNumBatchedTokens: batchedTokens{}, incident.StepThrottle: throttle{},
	}
	r := &Registry{client: live, knobs: knobs}
	r.drill = &Registry{client: dry, knobs: knobs}
	r.drill.drill = r.drill
	return r, nil
}

// Drill returns the Registry that sends dry-runs only. Its Do answers nil when the dry-run was accepted, or could not be sent for lack of rights.
func (r *Registry) Drill() *Registry { return r.drill }

func (r *Registry) knob(kind incident.StepKind) (knob, error) {
	k, ok := r.knobs[kind]
	if !ok {
		return nil, &incident.RefusedError{Reason: fmt.Sprintf("%q is not a step that the bot can run", kind)}
	}
	return k, nil
}

// Propose reads the live value and works out the step. *incident.RefusedError says why there is none; any other error that the cluster could not be
// asked. It writes nothing and may be called any number of times.
func (r *Registry) Propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error) {
	k, err := r.knob(req.Kind)
	if err != nil {
		return incident.Step{}, err
	}
	now, err := k.find(ctx, r.client, pool)
	if err != nil {
		return incident.Step{}, err
	}
	to, guards, err := k.next(now, pool, req)
	if err != nil {
		return incident.Step{}, err
	}
	s := incident.Step{
		Kind: req.Kind, Why: req.Why, Target: now.target, From: now.value, To: to, Undo: now.value, Guardrails: append(guards, now.ownership),
		State: incident.StepProposed, LiftAfter: req.LiftAfter, WarmUp: req.WarmUp,
		Diff: fmt.Sprintf("  %s\n- %s\n+ %s", now.target, now.value, to),
	}
	k.describe(&s, now, pool)
	if s.Checked, err = r.tryOut(ctx, now, to); err != nil {
		return incident.Step{}, err
	}
	s.Digest = s.ComputeDigest()
	return s, nil
}

// tryOut sends the write as a dry-run. Without the right to write a drill goes on with the diff alone, and the real thing is refused.
func (r *Registry) tryOut(ctx context.Context, now field, to incident.Value) (string, error) {
	allowed, why, err := r.client.mayPatch(ctx, now)
	switch {
	case err != nil:
		return "", err
	case !allowed && r.client.dryOnly:
		return NotChecked, nil
	case !allowed:
		return "", &incident.RefusedError{Reason: "the bot lacks the right to " + now.right() + why, Hint: "kubectl auth can-i " + now.right()}
	}
	ops, err := now.ops(to, "")
	if err != nil {
		return "", err
	}
	err = r.client.patch(ctx, now, ops, true)
	switch {
	case err == nil:
		return CheckedByServer, nil
	case apierrors.IsForbidden(err) && r.client.dryOnly:
		return NotChecked, nil
	case definite(err):
		return "", &incident.RefusedError{Reason: "the API server refuses the change: " + err.Error()}
	default:
		return "", fmt.Errorf("dry-run of %s: %w", now.target, err)
	}
}

// Recheck asks again whether the target is what the human saw, and whether the API server would take the change. It writes nothing.
func (r *Registry) Recheck(ctx context.Context, pool incident.Pool, step incident.Step) error {
	now, err := r.same(ctx, pool, step)
	if err != nil {
		return err
	}
	if now.value != step.From {
		return &incident.DriftError{Target: step.Target, Want: step.From, Got: now.value}
	}
	_, err = r.tryOut(ctx, now, step.To)
	return err
}

// same reads the field of the step again and refuses another object, another owner or another field in its place.
func (r *Registry) same(ctx context.Context, pool incident.Pool, step incident.Step) (field, error) {
	k, err := r.knob(step.Kind)
	if err != nil {
		return field{}, err
	}
	now, err := k.find(ctx, r.client, pool)
	if err != nil {
		return field{}, err
	}
	switch {
	case now.target.Kind != step.Target.Kind || now.target.Name != step.Target.Name || now.target.Namespace != step.Target.Namespace || now.target.Field != step.Target.Field:
		return field{}, &incident.DriftError{Target: step.Target, Why: "the value is now owned by " + now.target.String()}
	case now.target.UID != step.Target.UID:
		return field{}, &incident.DriftError{Target: step.Target, Why: "the object was deleted and made again"}
	}
	return now, nil
}

// Do makes the change, or its undo, once. A nil error promises that the object has the wanted value under this write id; in a drill, that the dry-run
// was accepted. *incident.DriftError and *incident.RefusedError promise that nothing was written. Any other error: the outcome is not known, ask
// Observe. It may be called again with the same id and then recognises its own write.
func (r *Registry) Do(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string) error {
	before, want := ends(step, op)
	now, err := r.same(ctx, pool, step)
	if err != nil {
		return unsent(err)
	}
	if now.value == want && now.ours(writeID) && !r.client.dryOnly {
		return nil
	}
	if now.value != before {
		return &incident.DriftError{Target: step.Target, Want: before, Got: now.value}
	}
	ops, err := now.ops(want, writeID)
	if err != nil {
		return err
	}
	err = r.client.patch(ctx, now, ops, r.client.dryOnly)
	switch {
	case err == nil:
		return nil
	case r.client.dryOnly && apierrors.IsForbidden(err):
		return nil // a drill without rights goes by the diff alone, which the step says
	case definite(err):
		return r.whyRefused(ctx, pool, step, before, err)
	default:
		return fmt.Errorf("write %s: %w", step.Target, err)
	}
}

// unsent marks an error from before the write. Nothing was sent, so refusals stay what they are, and the rest is "not known" only in name:
// observing will find the old value, and the write is made then.
func unsent(err error) error { return err }

// whyRefused tells a failed test of the patch (somebody was faster) from a value that the API server does not take.
func (r *Registry) whyRefused(ctx context.Context, pool incident.Pool, step incident.Step, before incident.Value, refusal error) error {
	now, err := r.same(ctx, pool, step)
	if drift := (*incident.DriftError)(nil); errors.As(err, &drift) {
		return drift
	}
	if err == nil && now.value != before {
		return &incident.DriftError{Target: step.Target, Want: before, Got: now.value}
	}
	return &incident.RefusedError{Reason: "the API server refused the change: " + refusal.Error()}
}

// Observe looks at the target after a write whose answer is not known.
func (r *Registry) Observe(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string) (incident.Observation, error) {
	_, want := ends(step, op)
	now, err := r.same(ctx, pool, step)
	var drift *incident.DriftError
	var refused *incident.RefusedError
	switch {
	case errors.As(err, &drift), errors.As(err, &refused):
		return incident.Observation{Value: incident.Set("another object"), Note: err.Error()}, nil
	case err != nil:
		return incident.Observation{}, err
	}
	return incident.Observation{Value: now.value, Ours: now.value == want && now.ours(writeID)}, nil
}

// Rollout looks at how far the cluster has followed the step, or its undo.
func (r *Registry) Rollout(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op) (incident.Rollout, error) {
	k, err := r.knob(step.Kind)
	if err != nil {
		return incident.Rollout{}, err
	}
	_, want := ends(step, op)
	return k.rollout(ctx, r.client, pool, step, want)
}

// ends are the values before and after an operation.
func ends(step incident.Step, op incident.Op) (before, want incident.Value) {
	if op == incident.OpUndo {
		return step.To, step.Undo
	}
	return step.From, step.To
}
