package actions

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// minimum sets the least number of replicas of the autoscaler that owns a workload's replicas. Its maximum is never touched.
type minimum struct {
	c    *kube
	pool incident.Pool
	scaled
	of scaler
	// least and most are its limits now; set says whether the least is there, or only means its default.
	least, most int64
	set         bool
}

func newMinimum(c *kube, pool incident.Pool, w scaled, of scaler) (*minimum, error) {
	m := &minimum{c: c, pool: pool, scaled: w, of: of}
	least, set, err := unstructured.NestedInt64(of.object.Object, "spec", of.minField)
	if err != nil {
		return nil, refused("spec.%s of %s cannot be read: %s", of.minField, m.owner(), err)
	}
	most, hasMost, err := unstructured.NestedInt64(of.object.Object, "spec", of.maxField)
	if err != nil {
		return nil, refused("spec.%s of %s cannot be read: %s", of.maxField, m.owner(), err)
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

// owner is "HorizontalPodAutoscaler llama-70b".
func (m *minimum) owner() string { return m.of.String() }

func (m *minimum) path() []string { return []string{"f:spec", "f:" + m.of.minField} }

func (m *minimum) live() live {
	return live{
		target: targetOf(m.of.object, incident.Target{Field: "spec." + m.of.minField, Setting: m.of.minField}), value: m.value(m.of.object), resource: m.of.resource, object: m.of.object,
		version: m.of.object.GetResourceVersion(), path: m.path(), whenAbsent: m.of.filled,
		read: func(o *unstructured.Unstructured) (incident.Value, error) { return m.value(o), nil },
	}
}

func (m *minimum) value(o *unstructured.Unstructured) incident.Value {
	n, found, err := unstructured.NestedInt64(o.Object, "spec", m.of.minField)
	if err != nil || !found {
		return incident.Value{}
	}
	return intValue(n)
}

func (m *minimum) propose(req incident.StepRequest) (incident.Step, error) {
	if err := m.startable(); err != nil {
		return incident.Step{}, err
	}
	// A minimum below what runs now would change nothing, so the step starts from what runs.
	now := max(m.replicas, m.least)
	to, bounds, err := more(now, req, m.limits())
	if err != nil {
		return incident.Step{}, err
	}
	from := ""
	if m.set {
		from = fmt.Sprintf("spec.%s: %d", m.of.minField, m.least)
	}
	return incident.Step{
		To:    intValue(to),
		Title: fmt.Sprintf("Raise the minimum of %s from %d to %d replicas (%s has %d)", m.owner(), m.least, to, m.ref.Name, m.replicas),
		Diff:  unified(m.live().target, from, fmt.Sprintf("spec.%s: %d", m.of.minField, to)),
		Cost: fmt.Sprintf("%s owns the replicas, so its minimum is raised; %s. %s, if the cluster has the GPUs, and the autoscaler "+
			"cannot go below %d until this is undone. The new pods start with cold caches.", m.owner(), m.maximum(), count(to-m.replicas, m.unit()), to),
		Speed:      scaleSpeed,
		Risk:       "Low: running pods are not touched. Without free GPUs the new pods stay pending and nothing gets better.",
		Guardrails: slices.Concat([]incident.Guardrail{bounds, m.ownership()}, m.failing(), m.hidden()),
	}, nil
}

func (m *minimum) maximum() string {
	if m.most == biggest {
		return "it has no maximum"
	}
	return fmt.Sprintf("its maximum of %d stays", m.most)
}

// limits are the pool's, and the autoscaler's own maximum.
func (m *minimum) limits() limits {
	l := replicaLimits(m.pool).lower(m.most, fmt.Sprintf("spec.%s of %s", m.of.maxField, m.owner()))
	if m.of.cap > 0 {
		l = l.lower(m.of.cap, m.of.capWhy)
	}
	return l
}

// failing warns of an autoscaler that says that it does not work: its failing trigger may be what the incident is about, and the raised minimum may not be
// followed (KEDA's conditions Ready and Fallback, autoscaling/v2 AbleToScale and ScalingActive, which AIBrix has too).
func (m *minimum) failing() []incident.Guardrail {
	for _, bad := range []struct{ kind, status string }{{"Ready", "False"}, {"Fallback", "True"}, {"AbleToScale", "False"}, {"ScalingActive", "False"}} {
		if c := cluster.ConditionOf(m.of.object, bad.kind); c.Status == bad.status {
			return []incident.Guardrail{caution("autoscaler", "%s does not work as it should (%s=%s): %s: %s", m.owner(), bad.kind, c.Status, c.Reason, c.Message)}
		}
	}
	return nil
}

func (m *minimum) ownership() incident.Guardrail {
	g := ownership(m.live(), keptMinimum)
	if g.Verdict != incident.GuardRefuse {
		g.Reason = fmt.Sprintf("%s owns the replicas of %s; its minimum is turned in their place; %s", m.owner(), m.ref.Name, g.Reason)
	}
	return g
}

func (m *minimum) startable() error {
	if m.of.stopped != "" {
		return refused("%s", m.of.stopped)
	}
	if err := m.asleep(); err != nil {
		return err
	}
	if m.replicas < m.least {
		return fornow("spec.%s of %s is %d, and %s has %d replicas so far: the last raise has to be reached first.%s",
			m.of.minField, m.owner(), m.least, m.ref.Name, m.replicas, m.trouble())
	}
	return nil
}

func (m *minimum) admit(to incident.Value) error {
	n, err := whole(to)
	if err != nil {
		return err
	}
	if err := m.startable(); err != nil {
		return err
	}
	if g := m.ownership(); g.Verdict == incident.GuardRefuse {
		return refused("%s", g.Reason)
	}
	return m.limits().within(n)
}

func (m *minimum) change(to incident.Value) ([]operation, error) {
	at := "/spec/" + m.of.minField
	var out []operation
	if m.set {
		out = append(out, operation{"test", at, m.least})
	}
	if !to.Present {
		return append(out, operation{Op: "remove", Path: at}), nil
	}
	n, err := whole(to)
	if err != nil {
		return nil, err
	}
	return append(out, operation{"add", at, n}), nil
}

// rollout of an undo ends with the write: when replicas go is the autoscaler's decision.
func (m *minimum) rollout(ctx context.Context, op incident.Op, want incident.Value) (incident.Rollout, error) {
	if op == incident.OpUndo {
		return done("%s decides again when replicas go.", m.owner()), nil
	}
	n, err := whole(want)
	if err != nil {
		return incident.Rollout{}, err
	}
	if m.replicas < n {
		return running("%s wants %d of at least %d replicas so far.%s", m.owner(), m.replicas, n, m.trouble()), nil
	}
	return m.scaled.rollout(ctx, m.c, m.replicas)
}

// trouble is what the autoscaler says when it cannot scale (autoscaling/v2 condition AbleToScale, KEDA's condition Ready).
func (m *minimum) trouble() string {
	for _, kind := range []string{"AbleToScale", "Ready"} {
		if c := cluster.ConditionOf(m.of.object, kind); c.Status == "False" {
			return fmt.Sprintf(" It says: %s: %s.", c.Reason, c.Message)
		}
	}
	return ""
}
