package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sethvargo/go-retry"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Manager is the field manager of every write, by which the bot's own writes are recognised.
const Manager = incident.FieldManager

// Annotation carries the id of the bot's last write, on objects that can carry it.
const Annotation = "vllm-medic.io/last-write"

// Config changes how the cluster is asked. The zero value is right.
type Config struct {
	// QPS bounds requests per second; 20 when zero. Twice as many may come at once.
	QPS float32
	// Timeout bounds one request; 15 s when zero.
	Timeout time.Duration
	// Now is the clock that the age of other clients' writes is measured by; time.Now when nil.
	Now func() time.Time
}

// Registry turns knobs. Use New.
type Registry struct{ turner }

// DryRun is a Registry whose writes are all dry-runs: Do answers nil when the API server would have accepted the write. Without the right to write, the
// step says that it was not checked, and Do only compares what is there with what the human saw.
type DryRun struct{ turner }

// New returns a Registry for a cluster. Nothing is asked yet; rc is not changed.
func New(cfg Config, rc *rest.Config, logger *slog.Logger) (*Registry, error) {
	if rc == nil || logger == nil {
		return nil, errors.New("actions: a client configuration and a logger are needed")
	}
	rc = rest.CopyConfig(rc)
	rc.QPS = cmp.Or(cfg.QPS, 20)
	rc.Burst = int(2 * rc.QPS)
	rc.Timeout = cmp.Or(cfg.Timeout, 15*time.Second)
	c, err := newKube(rc)
	if err != nil {
		return nil, err
	}
	live, err := newWriter(rc)
	if err != nil {
		return nil, err
	}
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	return &Registry{turner{cluster: c, writer: live, logger: logger, now: now}}, nil
}

// DryRun returns the DryRun for the same cluster. It shares nothing with the Registry that could write.
func (r *Registry) DryRun() *DryRun {
	return &DryRun{turner{cluster: r.cluster, writer: r.cluster.dry, logger: r.logger, now: r.now, dryRun: true}}
}

// turner is what Registry and DryRun have in common; they differ in their writer.
type turner struct {
	cluster *kube
	writer  writer
	logger  *slog.Logger
	now     func() time.Time
	dryRun  bool
}

// find reads the live field that a step of this kind touches. With the zero target it looks for it where the pool's configuration says; else it reads
// the named target, whatever the configuration says now. errGone, wrapped, says that the object does not exist.
func (t *turner) find(ctx context.Context, kind incident.StepKind, pool incident.Pool, at incident.Target) (subject, error) {
	switch kind {
	case incident.StepReplicas:
		return findReplicas(ctx, t.cluster, pool, at)
	case incident.StepMaxNumBatchedTokens:
		return findTokens(ctx, t.cluster, pool, at)
	case incident.StepThrottle:
		return findThrottle(ctx, t.cluster, pool, at)
	case incident.StepManual:
	}
	return nil, refused("%q is not a step that the bot can run", kind)
}

// Propose reads the live value and works out the step. *incident.RefusedError says why there is none; any other error means that the cluster could not
// be asked. It writes nothing and may be called any number of times. The step's ID is left empty.
func (t *turner) Propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error) {
	if err := configured(pool, req.Kind); err != nil {
		return incident.Step{}, err
	}
	var step incident.Step
	err := settledLook(ctx, func(ctx context.Context) (err error) {
		step, err = t.propose(ctx, pool, req)
		return err
	})
	if err != nil {
		return incident.Step{}, err
	}
	return step, nil
}

// settledLook looks again when somebody changed the object between the look and the dry-run. Nothing is decided yet, so looking once more is harmless.
func settledLook(ctx context.Context, look func(context.Context) error) error {
	var last error
	err := retry.Do(ctx, retry.WithMaxRetries(2, retry.NewConstant(50*time.Millisecond)), func(ctx context.Context) error {
		if last = look(ctx); errors.Is(last, errMoved) {
			return retry.RetryableError(last)
		}
		return last
	})
	if err == nil {
		return nil
	}
	// Do forgets the real error when the context ends, and has none when it had ended before.
	return cmp.Or(last, err)
}

func (t *turner) propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error) {
	s, err := t.find(ctx, req.Kind, pool, incident.Target{})
	if err != nil {
		return incident.Step{}, err
	}
	now := s.live()
	if now.broken != nil {
		return incident.Step{}, now.broken
	}
	step, err := s.propose(req)
	if err != nil {
		return incident.Step{}, err
	}
	step.Kind, step.Why, step.WarmUp, step.State = req.Kind, req.Why, req.WarmUp, incident.StepProposed
	step.LiftAfter = cmp.Or(step.LiftAfter, req.LiftAfter)
	step.Target, step.From, step.Undo = now.target, now.value, now.value
	step.Assumed = now.assumed
	guards, checked, err := t.tryOut(ctx, s, step.To)
	if err != nil {
		return incident.Step{}, err
	}
	step.Checked = checked
	step.Guardrails = slices.Concat(step.Guardrails, now.otherWriter(t.now()), guards)
	step.Digest = step.ComputeDigest()
	return step, nil
}

// configured refuses a knob that the pool does not name.
func configured(pool incident.Pool, kind incident.StepKind) error {
	k := pool.Knobs
	missing := map[incident.StepKind]bool{
		incident.StepReplicas: k.Replicas == nil, incident.StepMaxNumBatchedTokens: k.MaxNumBatchedTokens == nil, incident.StepThrottle: k.Throttle == nil,
	}
	if missing[kind] {
		return &incident.RefusedError{
			Reason: fmt.Sprintf("the knob %s of pool %s is not configured", kind, pool.Name),
			Hint:   fmt.Sprintf("Allow it with its bounds: pools[].knobs.%s of pool %s.", kind, pool.Name),
		}
	}
	return nil
}

// proposalID stands in a dry-run for the id that a write will have.
const proposalID = "proposal"

// tryOut lets the API server check the change, as far as the bot has the right to ask.
func (t *turner) tryOut(ctx context.Context, s subject, to incident.Value) ([]incident.Guardrail, incident.Checked, error) {
	checked := incident.Checked{OK: true, By: incident.CheckedByServer}
	now := s.live()
	right := now.right()
	may, err := t.cluster.may(ctx, right)
	switch {
	case err != nil:
		return nil, incident.Checked{}, err
	case !may:
		checked.OK, checked.Why = false, lacks(right)
		if t.dryRun {
			return []incident.Guardrail{caution("rights", "%s; a dry run does without it", checked.Why)}, checked, nil
		}
		return []incident.Guardrail{deny("rights", "%s; the page of this knob in docs/actions lists what it needs", checked.Why)}, checked, nil
	}
	have := pass("rights", "the bot may %s", right)
	err = t.send(ctx, t.cluster.dry, s, to, proposalID)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no):
		return []incident.Guardrail{have, deny("api server", "%s", no.Reason)}, checked, nil
	case errors.Is(err, errForbidden):
		return []incident.Guardrail{have, deny("api server", "the API server refuses it: %s", err)}, checked, nil
	case err != nil:
		return nil, incident.Checked{}, fmt.Errorf("try out %s: %w", now.target, err)
	}
	return []incident.Guardrail{have, pass("api server", "it accepts the change as a dry-run")}, checked, nil
}

// Recheck asks everything again that the human saw: the same object with the same owner, the same value, the limits, and the API server.
// *incident.DriftError and *incident.RefusedError say what has changed; any other error means that the cluster could not be asked. It writes nothing.
func (t *turner) Recheck(ctx context.Context, pool incident.Pool, step incident.Step) error {
	return settledLook(ctx, func(ctx context.Context) error { return t.recheck(ctx, pool, step) })
}

func (t *turner) recheck(ctx context.Context, pool incident.Pool, step incident.Step) error {
	if err := configured(pool, step.Kind); err != nil {
		return err
	}
	s, err := t.same(ctx, pool, step, incident.Target{})
	if err != nil {
		return err
	}
	now := s.live()
	if now.value != step.From {
		return &incident.DriftError{Target: step.Target, Want: step.From, Got: now.value}
	}
	if err := now.assumes(step); err != nil {
		return err
	}
	if err := s.admit(step.To); err != nil {
		return err
	}
	guards, _, err := t.tryOut(ctx, s, step.To)
	if err != nil {
		return err
	}
	for _, g := range guards {
		if g.Verdict == incident.GuardRefuse {
			return &incident.RefusedError{Reason: g.Reason}
		}
	}
	return nil
}

// same finds the field again and answers *incident.DriftError when it is another object, another field or out of reach.
func (t *turner) same(ctx context.Context, pool incident.Pool, step incident.Step, at incident.Target) (subject, error) {
	s, err := t.find(ctx, step.Kind, pool, at)
	if errors.Is(err, errGone) {
		return nil, &incident.DriftError{Target: step.Target, Why: "it does not exist any more"}
	}
	if err != nil {
		return nil, err
	}
	now := s.live()
	switch {
	case now.target.Key() != step.Target.Key() || now.target.Field != step.Target.Field:
		return nil, &incident.DriftError{Target: step.Target, Why: "the value is in another place now: " + now.target.String()}
	case now.target.UID != step.Target.UID:
		return nil, &incident.DriftError{Target: step.Target, Why: "the object was deleted and made again"}
	case now.broken != nil:
		return nil, &incident.DriftError{Target: step.Target, Why: now.broken.Reason}
	}
	return s, nil
}

func pass(name, format string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardPass, Reason: fmt.Sprintf(format, args...)}
}

// caution lets a step run, but an approver should know the reason first.
func caution(name, format string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardCaution, Reason: fmt.Sprintf(format, args...)}
}

func deny(name, format string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Reason: fmt.Sprintf(format, args...)}
}

func refused(format string, args ...any) *incident.RefusedError {
	return &incident.RefusedError{Reason: fmt.Sprintf(format, args...)}
}
