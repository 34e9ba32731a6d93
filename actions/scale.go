package actions

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const scaleField = "spec.replicas (scale)"

// scale sets a workload's replicas through its scale subresource, of any kind that has one.
type scale struct {
	c    *cluster
	pool incident.Pool
	scaled
	broken *incident.RefusedError
}

func newScale(c *cluster, pool incident.Pool, w scaled) *scale {
	return &scale{c: c, pool: pool, scaled: w}
}

func (s *scale) live() live {
	return live{
		target: targetOf(s.object, scaleField), value: intValue(s.replicas), resource: s.resource, subresource: "scale", object: s.object,
		version: s.scale.GetResourceVersion(), path: []string{"f:spec", "f:replicas"}, broken: s.broken,
		read: func(o *unstructured.Unstructured) (incident.Value, error) {
			n, err := scaleReplicas(o)
			return intValue(n), err
		},
	}
}

func (s *scale) propose(req incident.StepRequest) (incident.Step, error) {
	if err := s.startable(); err != nil {
		return incident.Step{}, err
	}
	to, bounds, err := more(s.replicas, req, replicaLimits(s.pool))
	if err != nil {
		return incident.Step{}, err
	}
	return incident.Step{
		To:    intValue(to),
		Title: fmt.Sprintf("Scale %s from %d to %d replicas", s.ref.Name, s.replicas, to),
		Diff:  unified(s.live().target, fmt.Sprintf("spec.replicas: %d", s.replicas), fmt.Sprintf("spec.replicas: %d", to)),
		Cost:  fmt.Sprintf("%s, if the cluster has the GPUs. The new pods start with cold caches.", count(to-s.replicas, s.unit())),
		Speed: scaleSpeed,
		Risk:  "Low: running pods are not touched. Without free GPUs the new pods stay pending and nothing gets better.",
		Guardrails: []incident.Guardrail{
			bounds, ownership(s.object, s.live().path),
		},
	}, nil
}

const scaleSpeed = "Minutes: a new pod has to be scheduled, pull its image, load the weights and compile."

// unit is what one replica is.
func (w scaled) unit() string {
	switch w.ref.Kind {
	case "LeaderWorkerSet", "StormService":
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

func (s *scale) startable() error {
	if err := s.asleep(); err != nil {
		return err
	}
	return s.unsafe()
}

func (s *scale) admit(to incident.Value) error {
	n, err := whole(to)
	if err != nil {
		return err
	}
	if err := s.startable(); err != nil {
		return err
	}
	if g := ownership(s.object, s.live().path); g.Verdict == incident.GuardRefuse {
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

func (s *scale) rollout(_ context.Context, _ incident.Op, want incident.Value) (incident.Rollout, error) {
	n, err := whole(want)
	if err != nil {
		return incident.Rollout{}, err
	}
	return follows(s.object, n, s.scale), nil
}
