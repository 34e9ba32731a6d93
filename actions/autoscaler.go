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

// autoscaler is the object that owns a workload's replicas: a HorizontalPodAutoscaler, or the KEDA ScaledObject behind it.
type autoscaler struct {
	resource      schema.GroupVersionResource
	object        *unstructured.Unstructured
	least, most   string // the names of its fields under spec
	leastIfAbsent int64  // what an absent minimum means
	mostIfAbsent  int64
}

// findAutoscaler returns the owner of the workload's replicas, nil when there is none, and an error when that cannot be known or there are several.
func findAutoscaler(ctx context.Context, c *client, w incident.WorkloadRef) (*autoscaler, error) {
	scaled, err := findScaledObject(ctx, c, w)
	if err != nil || scaled != nil {
		return scaled, err
	}
	hpas, err := c.list(ctx, hpaResource, w.Namespace)
	if err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	for _, h := range hpas {
		if scales(h, "scaleTargetRef", w, "") {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		// minReplicas defaults to 1 (autoscaling/v2); the API server fills it in.
		return &autoscaler{resource: hpaResource, object: &found[0], least: "minReplicas", most: "maxReplicas", leastIfAbsent: 1}, nil
	default:
		return nil, &incident.RefusedError{Reason: fmt.Sprintf("%d HorizontalPodAutoscalers want to scale %s; that must be put in order first", len(found), w)}
	}
}

// findScaledObject looks for KEDA's object. A cluster without KEDA has none.
func findScaledObject(ctx context.Context, c *client, w incident.WorkloadRef) (*autoscaler, error) {
	r, err := c.resource("keda.sh/v1alpha1", "ScaledObject")
	if refused := (*incident.RefusedError)(nil); errors.As(err, &refused) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := c.list(ctx, r, w.Namespace)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if !scales(o, "scaleTargetRef", w, "Deployment") {
			continue
		}
		for _, k := range []string{"autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"} {
			if v, ok := o.GetAnnotations()[k]; ok {
				return nil, &incident.RefusedError{Reason: fmt.Sprintf("ScaledObject %s is paused (%s: %s); somebody holds the replicas on purpose", o.GetName(), k, v)}
			}
		}
		// minReplicaCount defaults to 0 and maxReplicaCount to 100 (keda.sh/v1alpha1 ScaledObjectSpec).
		return &autoscaler{resource: r, object: &o, least: "minReplicaCount", most: "maxReplicaCount", mostIfAbsent: 100}, nil
	}
	return nil, nil
}

// scales says whether an autoscaler's target is the workload. KEDA's kind may be left out and then means Deployment.
func scales(o unstructured.Unstructured, ref string, w incident.WorkloadRef, kindIfAbsent string) bool {
	name, _, err1 := unstructured.NestedString(o.Object, "spec", ref, "name")
	kind, found, err2 := unstructured.NestedString(o.Object, "spec", ref, "kind")
	if !found || kind == "" {
		kind = kindIfAbsent
	}
	return err1 == nil && err2 == nil && name == w.Name && kind == w.Kind
}

// field is the autoscaler's minimum. present is how many replicas there are now: a minimum below that would change nothing.
func (a autoscaler) field(_ context.Context, _ *client, w incident.WorkloadRef, present int64) (field, error) {
	o := a.object
	least, hasLeast, err := unstructured.NestedInt64(o.Object, "spec", a.least)
	if err != nil {
		return field{}, &incident.RefusedError{Reason: fmt.Sprintf("spec.%s of %s %s cannot be read", a.least, o.GetKind(), o.GetName())}
	}
	most, hasMost, err := unstructured.NestedInt64(o.Object, "spec", a.most)
	if err != nil {
		return field{}, &incident.RefusedError{Reason: fmt.Sprintf("spec.%s of %s %s cannot be read", a.most, o.GetKind(), o.GetName())}
	}
	if !hasMost {
		most = a.mostIfAbsent
	}
	now := incident.Value{}
	if hasLeast {
		now = value(least)
	}
	path := "/spec/" + a.least
	return field{
		resource: a.resource, object: o, target: targetOf(o, "spec."+a.least), value: now, ownership: gitOps(o),
		extra: map[string]string{"present": strconv.FormatInt(max(present, least, a.leastIfAbsent), 10), "max": strconv.FormatInt(most, 10), "workload": w.Name},
		set: func(to incident.Value) ([]patchOp, error) {
			if !to.Present {
				return []patchOp{{"test", path, least}, {Op: "remove", Path: path}}, nil
			}
			n, err := number(to)
			if err != nil {
				return nil, err
			}
			if hasLeast {
				return []patchOp{{"test", path, least}, {"replace", path, n}}, nil
			}
			return []patchOp{{"add", path, n}}, nil
		},
	}, nil
}
