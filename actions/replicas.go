package actions

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// replicas turns the number of replicas through the scale subresource of any kind that has one; when an autoscaler owns them it turns the
// autoscaler's minimum instead, because it would take a change of the workload back within seconds.
type replicas struct{}

func (replicas) find(ctx context.Context, c *client, pool incident.Pool) (field, error) {
	if pool.Knobs.Replicas == nil {
		return field{}, notConfigured(pool, "replicas")
	}
	w := pool.Workload
	r, err := c.resource(w.APIVersion, w.Kind)
	if err != nil {
		return field{}, err
	}
	object, err := c.get(ctx, r, w.Namespace, w.Name)
	if err != nil {
		return field{}, err
	}
	scale, err := c.get(ctx, r, w.Namespace, w.Name, "scale")
	if missing := (*notFoundError)(nil); errors.As(err, &missing) {
		return field{}, &incident.RefusedError{Reason: fmt.Sprintf("%s has no scale subresource, so its replicas cannot be set safely", w)}
	}
	if err != nil {
		return field{}, err
	}
	now, found, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return field{}, &incident.RefusedError{Reason: fmt.Sprintf("the scale of %s cannot be read", w)}
	}
	if !found || now == 0 {
		return field{}, &incident.RefusedError{Reason: fmt.Sprintf("%s is scaled to 0 on purpose; the bot does not wake it", w)}
	}
	owner, err := findAutoscaler(ctx, c, w)
	if err != nil {
		return field{}, err
	}
	if owner != nil {
		return owner.field(ctx, c, w, now)
	}
	return field{
		resource: r, subresource: "scale", object: object, target: targetOf(object, "spec.replicas (scale)"), value: value(now), ownership: gitOps(object),
		set: func(to incident.Value) ([]patchOp, error) {
			n, err := number(to)
			if err != nil {
				return nil, err
			}
			return []patchOp{{"test", "/spec/replicas", now}, {"replace", "/spec/replicas", n}}, nil
		},
	}, nil
}

func (replicas) next(now field, pool incident.Pool, req incident.StepRequest) (incident.Value, []incident.Guardrail, error) {
	n, err := strconv.ParseInt(now.extra["present"], 10, 64)
	if now.extra == nil {
		n, err = number(now.value)
	}
	if err != nil {
		return incident.Value{}, nil, err
	}
	to, err := wanted(n, req)
	if err != nil {
		return incident.Value{}, nil, err
	}
	if to < n {
		return incident.Value{}, nil, &incident.RefusedError{Reason: "replicas are only taken away by undoing a step: scaling in under load ends running streams"}
	}
	knob := *pool.Knobs.Replicas
	if limit, ok := now.extra["max"]; ok {
		most, err := strconv.ParseInt(limit, 10, 64)
		if err != nil {
			return incident.Value{}, nil, &incident.RefusedError{Reason: fmt.Sprintf("the maximum of the autoscaler, %q, cannot be read", limit)}
		}
		knob.Max = min(knob.Max, most)
	}
	return bounded(n, to, knob)
}

func (replicas) describe(s *incident.Step, now field, pool incident.Pool) {
	s.Title = fmt.Sprintf("Scale %s from %s to %s replicas", pool.Workload.Name, s.From, s.To)
	s.Cost = "one more GPU set for each replica, if one is free; a new replica starts with a cold cache"
	s.Speed = "minutes: scheduling, image, weights and compilation"
	s.Risk = "low: nothing running is touched"
	if now.extra != nil {
		s.Title = fmt.Sprintf("Raise the minimum of %s %s from %s to %s replicas", now.target.Kind, now.target.Name, s.From, s.To)
		s.Cost = fmt.Sprintf("%s owns the replicas (%s now), so its minimum is raised; %s", now.target.Kind, now.extra["present"], s.Cost)
	}
}

// rollout is done when the workload has the replicas and all are ready.
func (replicas) rollout(ctx context.Context, c *client, pool incident.Pool, step incident.Step, want incident.Value) (incident.Rollout, error) {
	r, err := c.resource(pool.Workload.APIVersion, pool.Workload.Kind)
	if err != nil {
		return incident.Rollout{}, err
	}
	o, err := c.get(ctx, r, pool.Workload.Namespace, pool.Workload.Name)
	if err != nil {
		return incident.Rollout{}, err
	}
	least := int64(0)
	if want.Present {
		if least, err = number(want); err != nil {
			return incident.Rollout{}, err
		}
	}
	spec, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil {
		return incident.Rollout{}, fmt.Errorf("replicas of %s: %w", pool.Workload, err)
	}
	if spec < least {
		return incident.Rollout{State: incident.RolloutRunning, Note: fmt.Sprintf("%d of %d replicas wanted so far", spec, least)}, nil
	}
	return workloadRollout(o), nil
}

// hpaResource is where HorizontalPodAutoscalers are.
var hpaResource = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
