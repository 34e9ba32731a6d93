package actions

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scaled is a workload with its scale, as both were just read.
type scaled struct {
	ref      incident.WorkloadRef
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	scale    *unstructured.Unstructured
	replicas int64
	// path is where the kind keeps the replicas.
	path scalePath
	// unseen says why autoscalers of other namespaces could not be looked for; empty when they were.
	unseen string
}

// findReplicas finds what sets a workload's replicas: its scale subresource, or the minimum of the autoscaler that owns them. With a target it reads
// that one.
func findReplicas(ctx context.Context, c *kube, pool incident.Pool, at incident.Target) (subject, error) {
	w, err := c.workload(ctx, pool.Workload)
	if err != nil {
		return nil, err
	}
	if at.Name == "" {
		if err := w.unsafe(); err != nil {
			return nil, err
		}
	}
	if err := c.readScale(ctx, &w); err != nil {
		return nil, err
	}
	owner, err := c.scalerOf(ctx, &w)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no) && at.Name != "":
		// The owner only matters for the warning below; the field that was written is there all the same.
		owner = nil
	case err != nil:
		return nil, err
	}
	if at.Name == "" || owner != nil && at.Key() == targetOf(owner.object, incident.Target{}).Key() {
		if owner != nil {
			return newMinimum(c, pool, w, *owner)
		}
		return c.newScale(ctx, pool, w, at), nil
	}
	return c.replicasAt(ctx, pool, w, owner, at)
}

// replicasAt reads the field that a step has written, which is no longer the one that a new step would take.
func (c *kube) replicasAt(ctx context.Context, pool incident.Pool, w scaled, owner *scaler, at incident.Target) (subject, error) {
	if cluster.IsModel(w.object) && at.Key() == targetOf(w.object, incident.Target{}).Key() && at.Subresource != incident.SubresourceScale {
		return newMinimum(c, pool, w, *modelScaler(w.object))
	}
	if at.Key() == targetOf(w.object, incident.Target{}).Key() {
		s := c.newScale(ctx, pool, w, at)
		if owner != nil {
			s.broken = refused("%s %s owns the replicas of %s now", owner.object.GetKind(), owner.object.GetName(), w.ref)
		}
		return s, nil
	}
	var of *scaler
	var err error
	switch at.Kind {
	case cluster.ScaledObjectKind:
		of, err = c.scalerAt(ctx, cluster.ScaledObjects, at, kedaScaler)
	case cluster.PodAutoscalerKind:
		of, err = c.scalerAt(ctx, cluster.PodAutoscalers, at, podScaler)
	case "HorizontalPodAutoscaler":
		of, err = c.scalerAt(ctx, cluster.HPAs, at, hpaScaler)
	default:
		return nil, refused("the pool's workload is %s now, and the step was made for %s", w.ref, at)
	}
	if err != nil {
		return nil, err
	}
	return newMinimum(c, pool, w, *of)
}

// scalerAt reads one autoscaler by its name. It lists, because that is the right which the bot has for autoscalers.
func (c *kube) scalerAt(ctx context.Context, r schema.GroupVersionResource, at incident.Target, wrap func(*unstructured.Unstructured) *scaler) (*scaler, error) {
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

// workload reads a workload, without its scale.
func (c *kube) workload(ctx context.Context, ref incident.WorkloadRef) (scaled, error) {
	w := scaled{ref: ref}
	if ref.IsZero() {
		return w, refused("the pool names no workload")
	}
	var err error
	if w.resource, err = c.resource(ctx, ref.APIVersion, ref.Kind); err != nil {
		return w, err
	}
	w.object, err = c.get(ctx, w.resource, ref)
	return w, err
}

// readScale fills in the scale.
func (c *kube) readScale(ctx context.Context, w *scaled) error {
	var err error
	if w.path, err = c.scalePath(ctx, w.resource, w.object); err != nil {
		return err
	}
	if w.path.unset(w.object) {
		if cluster.ScalesItself(w.object) { // KubeAI has not started it
			return w.asleep()
		}
		return refused("%s of %s is not set, so its scale cannot be read: set it once, to the number that runs", w.path, w.ref)
	}
	w.scale, err = c.dynamic.Resource(w.resource).Namespace(w.ref.Namespace).Get(ctx, w.ref.Name, metav1.GetOptions{}, "scale")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return unscalable(w.ref)
	case err != nil:
		return readError(err, right{
			verb: "get", group: w.resource.Group, resource: w.resource.Resource, subresource: "scale", namespace: w.ref.Namespace, name: w.ref.Name,
		})
	}
	if w.replicas, err = cluster.ScaleReplicas(w.scale); err != nil {
		return refused("the scale of %s cannot be read: %s", w.ref, err)
	}
	return nil
}

// unscalable refuses a kind without a scale subresource, with the field that its operator follows where it is known.
func unscalable(ref incident.WorkloadRef) *incident.RefusedError {
	no := refused("%s has no scale subresource, so its replicas cannot be set safely", ref)
	if field := keptBy(ref.APIVersion, ref.Kind).replicas; field != "" {
		no.Hint = fmt.Sprintf("Its operator follows %s: change it there.", field)
	}
	return no
}

// asleep refuses to scale a workload from nothing: somebody has put it to sleep, or an autoscaler has, and both must stay so.
func (w scaled) asleep() error {
	if w.replicas == 0 {
		return fornow("%s has 0 replicas: it sleeps on purpose, and waking it is for a person", w.ref)
	}
	return nil
}

// unsafe refuses workloads for which the number of replicas means more than a number.
func (w scaled) unsafe() error {
	if w.ref.Kind == "StormService" {
		return w.pooled()
	}
	return w.ranked()
}

// pooled refuses a StormService whose one RoleSet has all replicas of its roles. An unset mode with one replica, which is also what an absent number means,
// is Pooled, and becomes Replica with a second one (aibrix api/orchestration/v1alpha1 stormservice_types.go).
func (w scaled) pooled() error {
	const where = "its roles are what scales: change spec.template.spec.roles[].replicas, or spec.minReplicas of the role's PodAutoscaler"
	mode, _, err := unstructured.NestedString(w.object.Object, "spec", "mode")
	if err != nil {
		return refused("spec.mode of %s cannot be read: %s", w.ref, err)
	}
	n, found, err := unstructured.NestedInt64(w.object.Object, "spec", "replicas")
	switch {
	case mode == "Pooled":
		return refused("%s is in mode Pooled, which means one RoleSet; %s", w.ref, where)
	case mode == "" && (err != nil || !found || n <= 1):
		return refused("%s has no spec.mode, and a second RoleSet would change it from Pooled to Replica; as Pooled, %s", w.ref, where)
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
