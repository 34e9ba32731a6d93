package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sethvargo/go-retry"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// errMoved says that the API server refused a patch because the object is not what was read: nothing was written.
var errMoved = errors.New("the object changed in the same moment")

// errTouched says that nothing was written because the object changed in the same moment, but not the value that the
// step is about.
var errTouched = errors.New("something else of the object changed")

// errForbidden says that the API server forbids a write: nothing was written.
var errForbidden = errors.New("forbidden")

// errMade says that this very write was made before, and that somebody else has changed the value since. Observe says
// who.
var errMade = errors.New("the write was made before, and the value was changed since")

// errElsewhere says that a write was accepted, but left another value than the wanted one.
var errElsewhere = errors.New("the API server keeps another value")

// ends are the values before and after an operation.
func ends(step incident.Step, op incident.Op) (from, to incident.Value) {
	if op == incident.OpUndo {
		return step.To, step.Undo
	}
	return step.From, step.To
}

// Do makes the change of a step, or its undo, once. Its nil error promises that the field has the wanted value,
// written under this id; in a dry run, that the write would have been accepted. *incident.DriftError and
// *incident.RefusedError promise that nothing was written. Any other error means that the outcome is not known: ask
// Observe. Called again with the same id it recognises its own write and makes no second one. The versions are those of
// the object that was written; of a write that an earlier call made, only the one that the object has now.
func (a *adjuster) Do(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string,
) (incident.Versions, error) {
	if writeID == "" {
		return incident.Versions{}, live.Refused("a write needs an id")
	}
	// Where the version of the object stands for an absent value, the status of a workload in trouble can come in
	// between. Nothing was written then, and the value is what the person saw, so all of it is looked at and tried
	// again.
	var last error
	var versions incident.Versions
	err := retry.Do(ctx, retry.WithMaxRetries(3, retry.NewConstant(50*time.Millisecond)), func(ctx context.Context) error {
		versions, last = a.do(ctx, pool, step, op, writeID)
		if errors.Is(last, errTouched) {
			return retry.RetryableError(last)
		}
		return last
	})
	if touched, ok := errors.AsType[*incident.DriftError](last); ok {
		return incident.Versions{}, touched
	}
	return versions, cmp.Or(last, err)
}

func (a *adjuster) do(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string,
) (none incident.Versions, _ error) {
	s, err := a.findForWrite(ctx, pool, step, op)
	if err != nil {
		return none, err
	}
	from, to := ends(step, op)
	now := s.Live()
	switch {
	case now.Holds(to) && now.WrittenBy(writeID):
		return incident.Versions{After: now.Version}, nil
	case !a.dryRun && now.Carries(writeID):
		return none, errMade
	case now.Value != from:
		return none, &incident.DriftError{Target: step.Target, Want: from, Got: now.Value}
	}
	if op == incident.OpApply {
		if err := now.CheckAssumed(step); err != nil {
			return none, err
		}
		if err := s.Admit(to); err != nil {
			return none, err
		}
	}
	after, err := a.send(ctx, a.writer, s, to, writeID)
	switch {
	case errors.Is(err, errMoved):
		return a.lostRace(ctx, pool, step, op, writeID, now.Version)
	case errors.Is(err, errForbidden) && a.dryRun && step.Checked.By != "" && !step.Checked.OK:
		return none, a.unchecked(ctx, s, err)
	case errors.Is(err, errForbidden):
		return none, a.forbidden(ctx, s, err)
	case err != nil:
		return none, err
	}
	if a.dryRun {
		return incident.Versions{Before: now.Version}, nil // nothing was kept: there is no version after it
	}
	a.logger.InfoContext(ctx, "a knob was adjusted", "pool", pool.Name, "step", step.ID, "reason", writeID)
	return incident.Versions{Before: now.Version, After: after}, nil
}

// findForWrite finds the field for a write. A step goes where the configuration points now, and that must be what the
// human saw; an undo goes back to where the step was, even if the knob is no longer configured.
func (a *adjuster) findForWrite(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op,
) (live.Setting, error) {
	if op == incident.OpUndo {
		return a.same(ctx, pool, step, step.Target)
	}
	if err := configured(pool, step.Kind); err != nil {
		return nil, err
	}
	return a.same(ctx, pool, step, incident.Target{})
}

// send makes one write and classifies its answer: nil, errMoved, *incident.RefusedError, a forbidden error, or not
// known. It returns the version that the write made.
func (a *adjuster) send(
	ctx context.Context, w kube.Writer, s live.Setting, to incident.Value, id string,
) (version string, _ error) {
	patch, err := live.Patch(s, to, id)
	if err != nil {
		return "", err
	}
	now := s.Live()
	answer, err := w.Patch(ctx, now.Place(), patch)
	if err != nil {
		return "", writeError(err, now)
	}
	got, err := now.Read(answer)
	switch {
	case err != nil && w.DryRun():
		return "", fmt.Errorf("what the API server would keep: %w", err)
	case err != nil:
		// Only its words: a refusal promises that nothing was written, and this was.
		return "", fmt.Errorf("%w: %s", errElsewhere, err.Error())
	}
	now.Value = got
	if now.Holds(to) {
		return answer.GetResourceVersion(), nil
	}
	if w.DryRun() {
		return "", live.Refused("the API server would keep %s in place of %s: something in the cluster rewrites the change",
			got, to)
	}
	return "", fmt.Errorf("%w: %s in place of %s", errElsewhere, got, to)
}

// writeError sorts the API server's answers to a write. What is not known to be a refusal may have taken effect.
func writeError(err error, now live.Field) error {
	safe := withoutSecrets(err, now.Secrets)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), failedTest(err):
		return fmt.Errorf("%w: %w", errMoved, safe)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", errForbidden, safe)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsUnsupportedMediaType(err), apierrors.IsUnauthorized(err):
		return live.Refused("the API server refuses it: %s", safe)
	case errors.Is(err, kube.ErrNotSent):
		return live.Refused("%s", safe)
	}
	return safe
}

// failedTest recognises a patch that does not fit the object: a failed test, or a path that is not there. It is a 422
// without a kind and causes, unlike one for a value that is not valid (k8s.io/apiserver
// pkg/endpoints/handlers/patch.go, applyJSPatch).
func failedTest(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d == nil || d.Kind == "" && len(d.Causes) == 0
}

// lostRace finds out who was faster: an earlier try of this very write, or somebody else.
func (a *adjuster) lostRace(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID, version string,
) (none incident.Versions, _ error) {
	s, err := a.findForWrite(ctx, pool, step, op)
	if drift, ok := errors.AsType[*incident.DriftError](err); ok {
		return none, drift
	}
	changed := &incident.DriftError{Target: step.Target, Why: "somebody else changed the object in the same moment"}
	if err != nil {
		return none, changed // it cannot be looked at, but nothing was written
	}
	from, to := ends(step, op)
	now := s.Live()
	switch {
	case now.Holds(to) && now.WrittenBy(writeID):
		return incident.Versions{After: now.Version}, nil
	case !a.dryRun && now.Carries(writeID):
		return none, errMade
	case now.Value != from:
		return none, &incident.DriftError{Target: step.Target, Want: from, Got: now.Value}
	case now.Version == version:
		return none, live.Refused("the API server refuses the patch of %s, and the object has not changed", step.Target)
	}
	return none, fmt.Errorf("%w: %w", errTouched, changed)
}

// forbidden says whether a right is missing or something else in the cluster forbids the change, as quotas and
// admission policies do.
func (a *adjuster) forbidden(ctx context.Context, s live.Setting, err error) error {
	r := s.Live().Place().Right("patch")
	if may, asked := a.cluster.May(ctx, r); asked == nil && !may {
		return live.Refused("%s", kube.Lacks(r))
	}
	return live.Refused("the API server refuses it: %s", err)
}

// unchecked lets a dry run go on that was told from the beginning that it has no right to ask the API server.
func (a *adjuster) unchecked(ctx context.Context, s live.Setting, err error) error {
	if may, asked := a.cluster.May(ctx, s.Live().Place().Right("patch")); asked == nil && !may {
		return nil
	}
	return a.forbidden(ctx, s, err)
}

// Observe looks at the target after a write whose answer is not known; before is what the field was like when the
// write was claimed. It writes nothing.
func (a *adjuster) Observe(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op, writeID string, before *incident.Mark,
) (incident.Observation, error) {
	s, err := a.find(ctx, step.Kind, pool, step.Target)
	if errors.Is(err, kube.ErrGone) {
		return incident.Observation{
			Made: incident.Undecided, Reversal: gone("the object was deleted"),
			Note: "The object does not exist any more.",
		}, nil
	}
	if err != nil {
		return incident.Observation{}, fmt.Errorf("observe %s: %w", step.Target, err)
	}
	_, to := ends(step, op)
	now := s.Live()
	o := incident.Observation{Value: now.Value, Version: now.Version, Made: now.Made(writeID, before)}
	switch {
	case now.Target.UID != step.Target.UID:
		o.Note, o.Reversal, o.Made = "The object was deleted and made again.", gone("the object was deleted and made "+
			"again"), incident.Undecided
	case now.Unread: // what cannot be read is not absent
		o.Note, o.Reversal = now.Broken.Reason+".", gone("the value cannot be read any more: "+now.Broken.Reason)
	case now.Holds(to) && now.WrittenBy(writeID):
		o.Ours, o.Made = true, incident.True
	case now.Holds(to):
		o.Note = now.LastChange()
	default:
		o.Note, o.Reversal = now.LastChange(), now.Reversal()
	}
	return o, nil
}

// Rollout looks at how far the workload has followed a step, or its undo. It looks once and does not wait. A field
// that no longer holds the value is a failed rollout that says who changed it.
func (a *adjuster) Rollout(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op,
) (incident.Rollout, error) {
	s, err := a.find(ctx, step.Kind, pool, step.Target)
	if errors.Is(err, kube.ErrGone) {
		r := live.RolloutFailed("%s does not exist any more", step.Target)
		r.Reversal = gone("the object was deleted")
		return r, nil
	}
	if err != nil {
		return incident.Rollout{}, fmt.Errorf("rollout of %s: %w", step.Target, err)
	}
	_, to := ends(step, op)
	now := s.Live()
	switch {
	case now.Target.UID != step.Target.UID:
		r := live.RolloutFailed("%s was deleted and made again", step.Target)
		r.Reversal = gone("the object was deleted and made again")
		return r, nil
	case now.Unread:
		return live.RolloutFailed("%s cannot be read any more: %s", step.Target, now.Broken.Reason), nil
	case !now.Holds(to):
		r := live.RolloutFailed("%s is %s and no longer %s. %s", step.Target, now.Value, to, now.LastChange())
		r.Reversal = now.Reversal()
		return r, nil
	}
	return s.Rollout(ctx, op, to)
}
