package actions

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scaleField is the field that a scale subresource sets.
var scaleField = incident.Target{
	Field: "spec.replicas (scale)", Setting: incident.SettingReplicas, Subresource: incident.SubresourceScale,
}

// scale sets a workload's replicas through its scale subresource, of any kind that has one.
type scale struct {
	c    *kube
	pool incident.Pool
	scaled
	broken *incident.RefusedError
	// instead is live's.
	instead string
}

// newScale looks, for a new step on an object that an operator owns, for one that is made to be scaled in its place.
func (c *kube) newScale(ctx context.Context, pool incident.Pool, w scaled, at incident.Target) *scale {
	s := &scale{c: c, pool: pool, scaled: w}
	if owner, _ := cluster.OwnerAmong(w.object.GetOwnerReferences()); owner != nil && at.Name == "" && !isMadeToBeScaled(w.object) {
		s.instead = c.scalerBeside(ctx, w.object, owner.UID)
	}
	return s
}

// scalerBeside names an object of the same owner, and of the same role where both have one, that is made to be scaled. It only makes a refusal more useful,
// so what cannot be read is left out.
func (c *kube) scalerBeside(ctx context.Context, o *unstructured.Unstructured, owner types.UID) string {
	const role = "disaggregatedset.x-k8s.io/role"
	for _, k := range madeToBeScaled() {
		r, found, err := c.kind(ctx, k.GroupVersion().String(), k.Kind)
		if err != nil || !found {
			continue
		}
		all, err := c.list(ctx, r, o.GetNamespace())
		if err != nil {
			continue
		}
		for i := range all {
			above, _ := cluster.OwnerAmong(all[i].GetOwnerReferences())
			one := all[i].GetLabels()[role]
			if above != nil && above.UID == owner && (one == "" || o.GetLabels()[role] == "" || one == o.GetLabels()[role]) {
				return k.Kind + " " + all[i].GetName()
			}
		}
	}
	return ""
}

func (s *scale) live() live {
	return live{
		target: targetOf(s.object, scaleField), value: intValue(s.replicas), resource: s.resource, subresource: "scale", object: s.object,
		version: s.scale.GetResourceVersion(), path: s.path.fields, pathless: s.path.unknown, instead: s.instead, broken: s.broken,
		read: func(o *unstructured.Unstructured) (incident.Value, error) {
			n, err := cluster.ScaleReplicas(o)
			return intValue(n), err
		},
	}
}

func (s *scale) propose(req incident.StepRequest) (incident.Step, error) {
	if err := s.asleep(); err != nil {
		return incident.Step{}, err
	}
	to, bounds, err := more(s.replicas, req, replicaLimits(s.pool))
	if err != nil {
		return incident.Step{}, err
	}
	return incident.Step{
		To:         intValue(to),
		Title:      fmt.Sprintf("Scale %s from %d to %d replicas", s.ref.Name, s.replicas, to),
		Diff:       unified(s.live().target, fmt.Sprintf("spec.replicas: %d", s.replicas), fmt.Sprintf("spec.replicas: %d", to)),
		Cost:       fmt.Sprintf("%s, if the cluster has the GPUs. The new pods start with cold caches.", count(to-s.replicas, s.unit())),
		Speed:      scaleSpeed,
		Risk:       "Low: running pods are not touched. Without free GPUs the new pods stay pending and nothing gets better.",
		Guardrails: slices.Concat([]incident.Guardrail{bounds, ownership(s.live(), keptReplicas)}, s.hidden()),
	}, nil
}

const scaleSpeed = "Minutes: a new pod has to be scheduled, pull its image, load the weights and compile."

// unit is what one replica is.
func (w scaled) unit() string {
	if grouped(w.ref.Kind) {
		return "more group of pods"
	}
	return "more pod"
}

// count writes "1 more pod", "2 more pods".
func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	if unit == "more group of pods" {
		return fmt.Sprintf("%d more groups of pods", n)
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func (s *scale) admit(to incident.Value) error {
	n, err := whole(to)
	if err != nil {
		return err
	}
	if err := s.asleep(); err != nil {
		return err
	}
	if g := ownership(s.live(), keptReplicas); g.Verdict == incident.GuardRefuse {
		return refused("%s", g.Reason)
	}
	return replicaLimits(s.pool).within(n)
}

func (s *scale) change(to incident.Value) ([]operation, error) {
	n, err := whole(to)
	if err != nil {
		return nil, err
	}
	return []operation{{"test", "/spec/replicas", s.replicas}, {"replace", "/spec/replicas", n}}, nil
}

func (s *scale) rollout(ctx context.Context, _ incident.Op, want incident.Value) (incident.Rollout, error) {
	n, err := whole(want)
	if err != nil {
		return incident.Rollout{}, err
	}
	return s.scaled.rollout(ctx, s.c, n)
}
