package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
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
	return &scaler{resource: hpaResource, object: o, minField: "minReplicas", maxField: "maxReplicas", minDefault: 1, filled: "1"}
}

func kedaScaler(o *unstructured.Unstructured) *scaler {
	// minReplicaCount defaults to 0 and maxReplicaCount to 100, in KEDA itself (apis/keda/v1alpha1 scaledobject_types.go).
	return &scaler{resource: kedaResource, object: o, minField: "minReplicaCount", maxField: "maxReplicaCount", maxDefault: 100, stopped: pausedBy(o)}
}

// The resources of autoscalers, and KEDA's label on those it makes.
var (
	hpaResource  = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	kedaResource = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
)

const (
	kedaKind  = "ScaledObject"
	kedaLabel = "scaledobject.keda.sh/name"
)

// scalerOf finds who owns the workload's replicas; nil when nobody does. That it cannot be known, or that several do, is an error.
func (c *kube) scalerOf(ctx context.Context, w *scaled) (*scaler, error) {
	keda, err := c.installed(ctx, kedaResource, kedaKind, w.ref.Namespace)
	if err != nil {
		return nil, err
	}
	pods, err := c.podScalers(ctx, w)
	if err != nil {
		return nil, err
	}
	hpas, err := c.list(ctx, hpaResource, w.ref.Namespace)
	if err != nil {
		return nil, err
	}
	return chosen(*w, keda, pods, hpas)
}

// chosen is the one autoscaler of a workload among those of its namespace. An autoscaler that another one made is not turned: its maker would take the
// change back.
func chosen(w scaled, keda, pods, hpas []unstructured.Unstructured) (*scaler, error) {
	var all []*scaler
	for _, o := range aimed(w.ref, keda) {
		all = append(all, kedaScaler(&o))
	}
	for _, o := range aimed(w.ref, pods) {
		all = append(all, podScaler(&o))
	}
	if scalesItself(w.object) {
		all = append(all, modelScaler(w.object))
	}
	orphan := ""
	for _, o := range aimed(w.ref, hpas) {
		kind, name := madeBy(&o)
		switch {
		case kind == "":
			all = append(all, hpaScaler(&o))
		case !slices.ContainsFunc(all, func(s *scaler) bool { return s.object.GetKind() == kind }):
			orphan = fmt.Sprintf("HorizontalPodAutoscaler %s was made by %s %s, which does not scale %s: put that in order first", o.GetName(), kind, name, w.ref)
		}
	}
	switch {
	case len(all) > 1:
		return nil, refused("%s is scaled by several autoscalers (%s): leave one of them", w.ref, names(all))
	case orphan != "":
		return nil, refused("%s", orphan)
	case len(all) == 1:
		return all[0], nil
	}
	return nil, nil
}

// installed lists the objects of a kind that a cluster need not have; then there are none.
func (c *kube) installed(ctx context.Context, r schema.GroupVersionResource, kind, namespace string) ([]unstructured.Unstructured, error) {
	at, found, err := c.kind(ctx, r.GroupVersion().String(), kind)
	if err != nil || !found {
		return nil, err
	}
	return c.list(ctx, at, namespace)
}

// aimed keeps the autoscalers whose target is the workload. A target without kind or version is a Deployment of apps/v1 (KEDA's defaults); AIBrix' may
// name a namespace.
func aimed(w incident.WorkloadRef, all []unstructured.Unstructured) []unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(all), func(o unstructured.Unstructured) bool {
		ref := func(field, missing string) string {
			s, found, err := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", field)
			if err != nil || !found || s == "" {
				return missing
			}
			return s
		}
		return ref("name", "") != w.Name || ref("namespace", w.Namespace) != w.Namespace || ref("kind", "Deployment") != w.Kind ||
			cluster.Group(ref("apiVersion", "apps/v1")) != cluster.Group(w.APIVersion)
	})
}

// madeBy names the ScaledObject or PodAutoscaler that made an autoscaler; empty when none did.
func madeBy(hpa *unstructured.Unstructured) (kind, name string) {
	for _, o := range hpa.GetOwnerReferences() {
		if o.Kind == kedaKind && cluster.Group(o.APIVersion) == kedaResource.Group || o.Kind == podScalerKind && cluster.Group(o.APIVersion) == podScalerResource.Group {
			return o.Kind, o.Name
		}
	}
	if name := hpa.GetLabels()[kedaLabel]; name != "" {
		return kedaKind, name
	}
	return "", ""
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

func names(all []*scaler) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.String()
	}
	return strings.Join(out, ", ")
}
