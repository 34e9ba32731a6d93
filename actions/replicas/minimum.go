package replicas

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ownerMinimum sets the least number of replicas of the autoscaler that owns a workload's replicas. Its maximum is
// never touched.
type ownerMinimum struct {
	c    *kube.Reader
	pool incident.Pool
	workload
	of owner
	// least and most are its limits now; set says whether the least is there, or only means its default.
	least, most int64
	set         bool
}

func newOwnerMinimum(c *kube.Reader, pool incident.Pool, w workload, of owner) (*ownerMinimum, error) {
	m := &ownerMinimum{c: c, pool: pool, workload: w, of: of}
	least, set, err := unstructured.NestedInt64(of.object.Object, "spec", of.minField)
	if err != nil {
		return nil, live.Refused("spec.%s of %s cannot be read: %s", of.minField, m.ownerName(), err)
	}
	most, hasMost, err := unstructured.NestedInt64(of.object.Object, "spec", of.maxField)
	if err != nil {
		return nil, live.Refused("spec.%s of %s cannot be read: %s", of.maxField, m.ownerName(), err)
	}
	m.least, m.set, m.most = least, set, most
	if !set {
		m.least = of.minDefault
	}
	if !hasMost {
		m.most = of.maxDefault
	}
	return m, nil
}

// ownerName is "HorizontalPodAutoscaler llama-70b".
func (m *ownerMinimum) ownerName() string { return m.of.String() }

func (m *ownerMinimum) path() []string { return []string{"f:spec", "f:" + m.of.minField} }

func (m *ownerMinimum) Live() live.Field {
	return live.Field{
		Target: live.TargetOf(m.of.object, incident.Target{
			Field:   "spec." + m.of.minField,
			Setting: m.of.minField,
		}), Value: m.value(m.of.object), Resource: m.of.resource, Object: m.of.object,
		Version: m.of.object.GetResourceVersion(), Path: m.path(), WhenAbsent: m.of.filled, Limits: poolLimits(m.pool),
		Read: func(o *unstructured.Unstructured) (incident.Value, error) { return m.value(o), nil },
	}
}

func (m *ownerMinimum) value(o *unstructured.Unstructured) incident.Value {
	n, found, err := unstructured.NestedInt64(o.Object, "spec", m.of.minField)
	if err != nil || !found {
		return incident.Value{}
	}
	return live.Int(n)
}

func (m *ownerMinimum) Propose(req incident.StepRequest) (incident.Step, error) {
	if err := m.checkEffective(); err != nil {
		return incident.Step{}, err
	}
	// A minimum below what runs now would change nothing, so the step starts from what runs.
	now := max(m.replicas, m.least)
	to, bounds, err := addReplicas(now, req, m.limits())
	if err != nil {
		return incident.Step{}, err
	}
	from := ""
	if m.set {
		from = fmt.Sprintf("spec.%s: %d", m.of.minField, m.least)
	}
	return incident.Step{
		To: live.Int(to),
		Title: fmt.Sprintf("Raise the minimum of %s from %d to %d replicas (%s has %d)", m.ownerName(), m.least, to,
			m.ref.Name, m.replicas),
		Diff: live.Diff(m.Live().Target, from, fmt.Sprintf("spec.%s: %d", m.of.minField, to)),
		Cost: fmt.Sprintf("%s controls the replica count and can't go below %d until the rollback; %s. Needs GPUs for %s; "+
			"caches start cold.", m.ownerName(), to, m.maximumText(), m.more(to-m.replicas)),
		Speed:      scaleSpeed,
		Risk:       scaleRisk,
		Guardrails: slices.Concat([]incident.Guardrail{bounds, m.ownership()}, m.warnFailing(), m.cautionUnlisted()),
		Worked:     m.limits().Worked(now, to),
	}, nil
}

func (m *ownerMinimum) maximumText() string {
	if m.most == live.Biggest {
		return "it has no maximum"
	}
	return fmt.Sprintf("its maximum stays at %d", m.most)
}

// limits are the pool's, and the autoscaler's own maximum.
func (m *ownerMinimum) limits() live.Limits {
	l := poolLimits(m.pool).AtMost(m.most, fmt.Sprintf("spec.%s of %s", m.of.maxField, m.ownerName()))
	if m.of.cap > 0 {
		l = l.AtMost(m.of.cap, m.of.capWhy)
	}
	return l
}

// warnFailing warns of an autoscaler that says that it does not work: its failing trigger may be what the incident is
// about, and the raised minimum may not be followed (KEDA's conditions Ready and Fallback, autoscaling/v2 AbleToScale
// and ScalingActive, which AIBrix has too).
func (m *ownerMinimum) warnFailing() []incident.Guardrail {
	for _, bad := range []struct{ kind, status string }{
		{"Ready", "False"},
		{"Fallback", "True"},
		{"AbleToScale", "False"},
		{"ScalingActive", "False"},
	} {
		if c := cluster.ConditionOf(m.of.object, bad.kind); c.Status == bad.status {
			return []incident.Guardrail{live.Caution("autoscaler", "%s does not work as it should (%s=%s): %s: %s",
				m.ownerName(), bad.kind, c.Status, c.Reason, c.Message)}
		}
	}
	return nil
}

func (m *ownerMinimum) ownership() incident.Guardrail {
	g := live.Ownership(m.Live(), live.MinimumField)
	if g.Verdict != incident.GuardRefuse {
		g.Reason = fmt.Sprintf("%s controls the replica count of %s, so its minimum is adjusted; %s", m.ownerName(),
			m.ref.Name, g.Reason)
	}
	return g
}

func (m *ownerMinimum) checkEffective() error {
	if m.of.stopped != "" {
		return live.Refused("%s", m.of.stopped)
	}
	if err := m.checkAwake(); err != nil {
		return err
	}
	if m.replicas < m.least {
		return live.NotNow("spec.%s of %s is %d, and %s has %d replicas so far: the last raise has to be reached first.%s",
			m.of.minField, m.ownerName(), m.least, m.ref.Name, m.replicas, m.troubleText())
	}
	return nil
}

func (m *ownerMinimum) Admit(to incident.Value) error {
	n, err := live.Whole(to)
	if err != nil {
		return err
	}
	if err := m.checkEffective(); err != nil {
		return err
	}
	if g := m.ownership(); g.Verdict == incident.GuardRefuse {
		return live.Refused("%s", g.Reason)
	}
	return m.limits().Check(n)
}

func (m *ownerMinimum) Change(to incident.Value) ([]live.Operation, error) {
	at := "/spec/" + m.of.minField
	var out []live.Operation
	if m.set {
		out = append(out, live.Test(at, m.least))
	}
	if !to.Present {
		return append(out, live.Remove(at)), nil
	}
	n, err := live.Whole(to)
	if err != nil {
		return nil, err
	}
	return append(out, live.Add(at, n)), nil
}

// rollout of an undo ends with the write: when replicas go is the autoscaler's decision.
func (m *ownerMinimum) Rollout(ctx context.Context, op incident.Op, want incident.Value) (incident.Rollout, error) {
	if op == incident.OpUndo {
		return live.RolloutDone("%s decides again when replicas go.", m.ownerName()), nil
	}
	n, err := live.Whole(want)
	if err != nil {
		return incident.Rollout{}, err
	}
	if m.replicas < n {
		return live.RolloutRunning("%s wants %d of at least %d replicas so far.%s", m.ownerName(), m.replicas, n,
			m.troubleText()), nil
	}
	return m.rollout(ctx, m.c, m.replicas)
}

// troubleText is what the autoscaler says when it cannot scale (autoscaling/v2 condition AbleToScale, KEDA's
// condition Ready).
func (m *ownerMinimum) troubleText() string {
	for _, kind := range []string{"AbleToScale", "Ready"} {
		if c := cluster.ConditionOf(m.of.object, kind); c.Status == "False" {
			return fmt.Sprintf(" It says: %s: %s.", c.Reason, c.Message)
		}
	}
	return ""
}
