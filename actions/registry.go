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

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/actions/replicas"
	"github.com/vllm-medic/vllm-medic/actions/throttle"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Manager is the field manager of every write, by which the bot's own writes are recognised.
const Manager = incident.FieldManager

// Annotation carries the id of the bot's last write, on objects that can carry it.
const Annotation = live.Annotation

// OwnershipGuard is the name of the guardrail that says who owns a field.
const OwnershipGuard = live.OwnershipGuard

// RightsGuard is the name of the guardrail that says whether the bot is allowed to change the object.
const RightsGuard = "rights"

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
type Registry struct{ adjuster }

// DryRun is a Registry whose writes are all dry-runs: Do answers nil when the API server would have accepted the
// write. Without the right to write, the step says that it was not checked, and Do only compares what is there with
// what the human saw.
type DryRun struct{ adjuster }

// New returns a Registry for a cluster. Nothing is asked yet; rc is not changed.
func New(cfg Config, rc *rest.Config, logger *slog.Logger) (*Registry, error) {
	if rc == nil || logger == nil {
		return nil, errors.New("actions: a client configuration and a logger are needed")
	}
	rc = rest.CopyConfig(rc)
	rc.QPS = cmp.Or(cfg.QPS, 20)
	rc.Burst = int(2 * rc.QPS)
	rc.Timeout = cmp.Or(cfg.Timeout, 15*time.Second)
	to, err := kube.Connect(rc)
	if err != nil {
		return nil, err
	}
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	return &Registry{adjuster{
		knobs: knobs(), cluster: to.Reader, dry: to.DryRun, writer: to.Live, logger: logger, now: now,
	}}, nil
}

// DryRun returns the DryRun for the same cluster. It shares nothing with the Registry that could write.
func (r *Registry) DryRun() *DryRun {
	return &DryRun{adjuster{
		knobs: r.knobs, cluster: r.cluster, dry: r.dry, writer: r.dry, logger: r.logger, now: r.now, dryRun: true,
	}}
}

// adjuster is what Registry and DryRun have in common; they differ in their writer.
type adjuster struct {
	knobs   map[incident.StepKind]Knob
	cluster *kube.Reader
	// dry is for dry runs. In a DryRun it is the writer, too.
	dry, writer kube.Writer
	logger      *slog.Logger
	now         func() time.Time
	dryRun      bool
}

// find reads the live field that a step of this kind touches, as Knob.Find says.
func (a *adjuster) find(
	ctx context.Context, kind incident.StepKind, pool incident.Pool, at incident.Target,
) (live.Setting, error) {
	knob, ok := a.knobs[kind]
	if !ok {
		return nil, live.Refused("%q is not a step that the bot can run", kind)
	}
	return knob.Find(ctx, a.cluster, pool, at)
}

// Propose reads the live value and works out the step. *incident.RefusedError says why there is none; any other error
// means that the cluster could not be asked. It writes nothing and may be called any number of times. The step's ID
// is left empty.
func (a *adjuster) Propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error) {
	if err := configured(pool, req.Kind); err != nil {
		return incident.Step{}, err
	}
	var step incident.Step
	err := retryMoved(ctx, func(ctx context.Context) (err error) {
		step, err = a.propose(ctx, pool, req)
		return err
	})
	if err != nil {
		return incident.Step{}, err
	}
	return step, nil
}

// retryMoved tries again when somebody changed the object between the read and the dry-run. Nothing is decided yet,
// so reading once more is harmless.
func retryMoved(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := retry.Do(ctx, retry.WithMaxRetries(2, retry.NewConstant(50*time.Millisecond)), func(ctx context.Context) error {
		if last = try(ctx); errors.Is(last, errMoved) {
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

func (a *adjuster) propose(ctx context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error) {
	s, err := a.find(ctx, req.Kind, pool, incident.Target{})
	if err != nil {
		return incident.Step{}, err
	}
	now := s.Live()
	if now.Broken != nil {
		return incident.Step{}, now.Broken
	}
	step, err := s.Propose(req)
	if err != nil {
		return incident.Step{}, err
	}
	if want := live.Int(req.Chosen); req.Chosen != 0 && step.To != want {
		return incident.Step{}, live.Refused("%s is out of bounds; the closest value is %s", want, step.To)
	}
	step.Kind, step.Why, step.WarmUp, step.State = req.Kind, req.Why, req.WarmUp, incident.StepProposed
	step.RevertAfter = cmp.Or(step.RevertAfter, req.RevertAfter)
	step.Target, step.From, step.Undo = now.Target, now.Value, now.Value
	step.Assumed = now.Assumed
	guards, checked, err := a.checkByServer(ctx, s, step.To)
	if err != nil {
		return incident.Step{}, err
	}
	step.Checked = checked
	step.Guardrails = slices.Concat(step.Guardrails, now.OtherWriter(a.now()), guards)
	step.Digest = step.ComputeDigest()
	return step, nil
}

// Throttles names the limits that are set in a namespace and that a pool's throttle could adjust, without bounds.
func (a *adjuster) Throttles(ctx context.Context, namespace string) ([]incident.ThrottleKnob, error) {
	return throttle.List(ctx, a.cluster, namespace)
}

// Autoscaler is what scales the workload of a pool, and the pool would have to name; zero where nothing does, or the
// workload itself.
func (a *adjuster) Autoscaler(ctx context.Context, pool incident.Pool) (incident.AutoscalerRef, error) {
	return replicas.AutoscalerOf(ctx, a.cluster, pool)
}

// configured refuses a knob that the pool does not name.
func configured(pool incident.Pool, kind incident.StepKind) error {
	if _, knob := kind.Knob(); knob && !pool.Knobs.Has(kind) {
		return live.NotConfigured(pool, kind)
	}
	return nil
}

// proposalID stands in a dry-run for the id that a write will have.
const proposalID = "proposal"

// checkByServer lets the API server check the change, as far as the bot has the right to ask.
func (a *adjuster) checkByServer(
	ctx context.Context, s live.Setting, to incident.Value,
) ([]incident.Guardrail, incident.Checked, error) {
	checked := incident.Checked{OK: true, By: incident.CheckedByServer}
	now := s.Live()
	right := now.Place().Right("patch")
	may, err := a.cluster.May(ctx, right)
	switch {
	case err != nil:
		return nil, incident.Checked{}, err
	case !may:
		checked.OK, checked.Why = false, kube.Lacks(right)
		if a.dryRun {
			return []incident.Guardrail{live.Caution(RightsGuard, "%s; a dry run does without it", checked.Why)}, checked, nil
		}
		return []incident.Guardrail{live.Refuse(RightsGuard, "%s; the page of this knob in docs/actions lists what it needs",
			checked.Why)}, checked, nil
	}
	have := live.Pass(RightsGuard, "the bot is allowed to %s", right)
	_, err = a.send(ctx, a.dry, s, to, proposalID)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no):
		return []incident.Guardrail{have, live.Refuse("api server", "%s", no.Reason)}, checked, nil
	case errors.Is(err, errForbidden):
		return []incident.Guardrail{have, live.Refuse("api server", "the API server refuses it: %s", err)}, checked, nil
	case err != nil:
		return nil, incident.Checked{}, fmt.Errorf("try out %s: %w", now.Target, err)
	}
	return []incident.Guardrail{have, live.Pass("api server", "it accepts the change as a dry-run")}, checked, nil
}

// Recheck asks everything again that the human saw: the same object with the same owner, the same value, the limits,
// and the API server. *incident.DriftError and *incident.RefusedError say what has changed; any other error means
// that the cluster could not be asked. It writes nothing.
func (a *adjuster) Recheck(ctx context.Context, pool incident.Pool, step incident.Step) error {
	return retryMoved(ctx, func(ctx context.Context) error { return a.recheck(ctx, pool, step) })
}

func (a *adjuster) recheck(ctx context.Context, pool incident.Pool, step incident.Step) error {
	if err := configured(pool, step.Kind); err != nil {
		return err
	}
	s, err := a.same(ctx, pool, step, incident.Target{})
	if err != nil {
		return err
	}
	now := s.Live()
	if now.Value != step.From {
		return &incident.DriftError{Target: step.Target, Want: step.From, Got: now.Value}
	}
	if err := now.CheckAssumed(step); err != nil {
		return err
	}
	if err := s.Admit(step.To); err != nil {
		return err
	}
	guards, _, err := a.checkByServer(ctx, s, step.To)
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
func (a *adjuster) same(
	ctx context.Context, pool incident.Pool, step incident.Step, at incident.Target,
) (live.Setting, error) {
	s, err := a.find(ctx, step.Kind, pool, at)
	if errors.Is(err, kube.ErrGone) {
		return nil, &incident.DriftError{Target: step.Target, Why: "it does not exist any more"}
	}
	if err != nil {
		return nil, err
	}
	now := s.Live()
	switch {
	case now.Target.Key() != step.Target.Key() || now.Target.Field != step.Target.Field:
		return nil, &incident.DriftError{
			Target: step.Target,
			Why:    "the value is in another place now: " + now.Target.String(),
		}
	case now.Target.UID != step.Target.UID:
		return nil, &incident.DriftError{Target: step.Target, Why: "the object was deleted and made again"}
	case now.Broken != nil:
		return nil, &incident.DriftError{Target: step.Target, Why: now.Broken.Reason}
	}
	return s, nil
}
