package actions

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scaled is a workload with its scale, as both were just read.
type scaled struct {
	ref      incident.WorkloadRef
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	scale    *unstructured.Unstructured
	replicas int64
}

// findReplicas finds what sets a workload's replicas: its scale subresource, or the minimum of the autoscaler that owns them. With a target it reads
// that one.
func findReplicas(ctx context.Context, c *cluster, pool incident.Pool, at incident.Target) (subject, error) {
	w, err := c.scaled(ctx, pool.Workload)
	if err != nil {
		return nil, err
	}
	owner, err := c.scalerOf(ctx, pool.Workload)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no) && at.Name != "":
		// The owner only matters for the warning below; the field that was written is there all the same.
		owner = nil
	case err != nil:
		return nil, err
	}
	if at.Name == "" || owner != nil && at.Key() == targetOf(owner.object, "").Key() {
		if owner != nil {
			return newMinimum(c, pool, w, *owner)
		}
		return newScale(c, pool, w), nil
	}
	return c.replicasAt(ctx, pool, w, owner, at)
}

// replicasAt reads the field that a step has written, which is no longer the one that a new step would take.
func (c *cluster) replicasAt(ctx context.Context, pool incident.Pool, w scaled, owner *scaler, at incident.Target) (subject, error) {
	if at.Key() == targetOf(w.object, "").Key() {
		s := newScale(c, pool, w)
		if owner != nil {
			s.broken = refused("%s %s owns the replicas of %s now", owner.object.GetKind(), owner.object.GetName(), w.ref)
		}
		return s, nil
	}
	var of *scaler
	var err error
	switch at.Kind {
	case kedaKind:
		of, err = c.scalerAt(ctx, kedaResource, at, kedaScaler)
	case "HorizontalPodAutoscaler":
		of, err = c.scalerAt(ctx, hpaResource, at, hpaScaler)
	default:
		return nil, refused("the pool's workload is %s now, and the step was made for %s", w.ref, at)
	}
	if err != nil {
		return nil, err
	}
	return newMinimum(c, pool, w, *of)
}

// scalerAt reads one autoscaler by its name. It lists, because that is the right which the bot has for autoscalers.
func (c *cluster) scalerAt(ctx context.Context, r schema.GroupVersionResource, at incident.Target, wrap func(*unstructured.Unstructured) *scaler) (*scaler, error) {
	all, err := c.list(ctx, r, at.Namespace)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].GetName() == at.Name {
			return wrap(&all[i]), nil
		}
	}
	return nil, fmt.Errorf("%w: %w", errGone, refused("%s %s/%s does not exist", at.Kind, at.Namespace, at.Name))
}

// scaled reads a workload and its scale.
func (c *cluster) scaled(ctx context.Context, ref incident.WorkloadRef) (scaled, error) {
	w := scaled{ref: ref}
	if ref.IsZero() {
		return w, refused("the pool names no workload")
	}
	var err error
	if w.resource, err = c.resource(ctx, ref.APIVersion, ref.Kind); err != nil {
		return w, err
	}
	if w.object, err = c.get(ctx, w.resource, ref); err != nil {
		return w, err
	}
	w.scale, err = c.dynamic.Resource(w.resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{}, "scale")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return w, refused("%s has no scale subresource, so its replicas cannot be set safely", ref)
	case err != nil:
		return w, readError(err, right{
			verb: "get", group: w.resource.Group, resource: w.resource.Resource, subresource: "scale", namespace: ref.Namespace, name: ref.Name,
		})
	}
	if w.replicas, err = scaleReplicas(w.scale); err != nil {
		return w, refused("the scale of %s cannot be read: %s", ref, err)
	}
	return w, nil
}

// scaleReplicas reads spec.replicas of a Scale, which is left out when it is zero (k8s.io/api autoscaling/v1).
func scaleReplicas(scale *unstructured.Unstructured) (int64, error) {
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return n, err
}

// asleep refuses to scale a workload from nothing: somebody has put it to sleep, or an autoscaler has, and both must stay so.
func (w scaled) asleep() error {
	if w.replicas == 0 {
		return refused("%s has 0 replicas: it sleeps on purpose, and waking it is for a person", w.ref)
	}
	return nil
}

// unsafe refuses kinds for which the number of replicas means more than a number.
func (w scaled) unsafe() error {
	if w.ref.Kind == "StormService" && w.replicas == 1 {
		if mode, _, err := unstructured.NestedString(w.object.Object, "spec", "mode"); err != nil || mode == "" {
			// aibrix api/orchestration/v1alpha1 stormservice_types.go: unset, 1 means Pooled and more means Replica.
			return refused("%s has no spec.mode, so a second replica would change its mode from Pooled to Replica: set spec.mode first", w.ref)
		}
	}
	return nil
}

// more works out how many replicas a request leads to.
func more(now int64, req incident.StepRequest, l limits) (int64, incident.Guardrail, error) {
	if req.Factor != 0 || req.Add <= 0 || req.Add > biggest {
		return 0, incident.Guardrail{}, refused("replicas are added by a positive number; they are taken away only by undoing a step, because that ends running requests")
	}
	return l.turn(now, now+req.Add)
}

func replicaLimits(pool incident.Pool) limits {
	k := pool.Knobs.Replicas
	if k == nil {
		return limits{}
	}
	return limits{min: k.Min, max: k.Max, step: k.MaxStep}
}
