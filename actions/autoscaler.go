package actions

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// scaler is the object that owns a workload's replicas: a HorizontalPodAutoscaler, a KEDA ScaledObject or an AIBrix PodAutoscaler, or a KubeAI Model,
// which is its own.
type scaler struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	// minField and maxField are its fields under spec; without them it means minDefault and maxDefault.
	minField, maxField     string
	minDefault, maxDefault int64
	// cap is a further upper limit and capWhy what sets it; 0 for none.
	cap    int64
	capWhy string
	// filled is what the API server fills in for an absent minimum; empty when nothing.
	filled string
	// stopped says why a higher minimum would have no effect.
	stopped string
}

// String is "HorizontalPodAutoscaler llama-70b".
func (s *scaler) String() string { return s.object.GetKind() + " " + s.object.GetName() }

func hpaScaler(o *unstructured.Unstructured) *scaler {
	// minReplicas defaults to 1 in the API server (k8s.io/api autoscaling/v2); maxReplicas is required.
	return &scaler{resource: cluster.HPAs, object: o, minField: "minReplicas", maxField: "maxReplicas", minDefault: 1, filled: "1"}
}

func kedaScaler(o *unstructured.Unstructured) *scaler {
	// minReplicaCount defaults to 0 and maxReplicaCount to 100, in KEDA itself (apis/keda/v1alpha1 scaledobject_types.go).
	return &scaler{resource: cluster.ScaledObjects, object: o, minField: "minReplicaCount", maxField: "maxReplicaCount", maxDefault: 100, stopped: pausedBy(o)}
}

// scalerOf finds who owns the workload's replicas; nil when nobody does. That it cannot be known, or that several do, is an error.
func (c *kube) scalerOf(ctx context.Context, w *scaled) (*scaler, error) {
	keda, err := c.installed(ctx, cluster.ScaledObjects, cluster.ScaledObjectKind, w.ref.Namespace)
	if err != nil {
		return nil, err
	}
	pods, err := c.podScalers(ctx, w)
	if err != nil {
		return nil, err
	}
	hpas, err := c.list(ctx, cluster.HPAs, w.ref.Namespace)
	if err != nil {
		return nil, err
	}
	return chosen(*w, cluster.Candidates{ScaledObjects: keda, PodAutoscalers: pods, HPAs: hpas})
}

// chosen is the one autoscaler of a workload among those of its namespace. An autoscaler that another one made is not turned: its maker would take the
// change back.
func chosen(w scaled, among cluster.Candidates) (*scaler, error) {
	var all []cluster.Autoscaler
	orphan := ""
	for _, a := range cluster.AutoscalersOf(w.ref, w.object, among) {
		if a.Object == nil {
			orphan = fmt.Sprintf("%s %s was made by %s %s, which does not scale %s: put that in order first", cluster.HPAKind, a.HPA, a.Kind, a.Name, w.ref)
			continue
		}
		all = append(all, a)
	}
	switch {
	case len(all) > 1:
		return nil, refused("%s is scaled by several autoscalers (%s): leave one of them", w.ref, names(all))
	case orphan != "":
		return nil, refused("%s", orphan)
	case len(all) == 1:
		return asScaler(all[0]), nil
	}
	return nil, nil
}

// asScaler adds what a kind of autoscaler calls its limits.
func asScaler(a cluster.Autoscaler) *scaler {
	switch a.Kind {
	case cluster.ScaledObjectKind:
		return kedaScaler(a.Object)
	case cluster.PodAutoscalerKind:
		return podScaler(a.Object)
	case cluster.ModelKind:
		return modelScaler(a.Object)
	}
	return hpaScaler(a.Object)
}

// installed lists the objects of a kind that a cluster need not have; then there are none.
func (c *kube) installed(ctx context.Context, r schema.GroupVersionResource, kind, namespace string) ([]unstructured.Unstructured, error) {
	at, found, err := c.kind(ctx, r.GroupVersion().String(), kind)
	if err != nil || !found {
		return nil, err
	}
	return c.list(ctx, at, namespace)
}

// pausedBy says why KEDA does not scale out now (keda-docs, "Pausing autoscaling"): paused-replicas counts whatever it holds, the others unless they
// are false.
func pausedBy(o *unstructured.Unstructured) string {
	for _, key := range []string{"autoscaling.keda.sh/paused-replicas", "autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-scale-out"} {
		v, ok := o.GetAnnotations()[key]
		if !ok {
			continue
		}
		if on, err := strconv.ParseBool(v); key != "autoscaling.keda.sh/paused-replicas" && err == nil && !on {
			continue
		}
		return fmt.Sprintf("ScaledObject %s is paused (%s: %s): somebody holds the replicas on purpose", o.GetName(), key, v)
	}
	return ""
}

func names(all []cluster.Autoscaler) string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.Kind + " " + a.Name
	}
	return strings.Join(out, ", ")
}
