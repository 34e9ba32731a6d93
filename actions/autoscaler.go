package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scaler is the object that owns a workload's replicas: a HorizontalPodAutoscaler, or the KEDA ScaledObject that makes one.
type scaler struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	// minField and maxField are its fields under spec; without them it means minDefault and maxDefault.
	minField, maxField     string
	minDefault, maxDefault int64
	// filled is what the API server fills in for an absent minimum; empty when nothing.
	filled string
	// stopped says why a higher minimum would have no effect.
	stopped string
}

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
func (c *cluster) scalerOf(ctx context.Context, w incident.WorkloadRef) (*scaler, error) {
	scaled, err := c.scaledObjects(ctx, w.Namespace)
	if err != nil {
		return nil, err
	}
	hpas, err := c.list(ctx, hpaResource, w.Namespace)
	if err != nil {
		return nil, err
	}
	return owner(w, scaled, hpas)
}

// owner chooses among the ScaledObjects and HorizontalPodAutoscalers of the workload's namespace.
func owner(w incident.WorkloadRef, scaled, hpas []unstructured.Unstructured) (*scaler, error) {
	scaled, hpas = aimed(w, scaled), aimed(w, hpas)
	// An autoscaler that KEDA made is not turned: KEDA would take the change back.
	made := slices.DeleteFunc(slices.Clone(hpas), func(o unstructured.Unstructured) bool { return madeByKEDA(&o) == "" })
	others := slices.DeleteFunc(slices.Clone(hpas), func(o unstructured.Unstructured) bool { return madeByKEDA(&o) != "" })
	switch {
	case len(scaled)+len(others) > 1:
		return nil, refused("%s is scaled by several autoscalers (%s): leave one of them", w, names(append(scaled, others...)))
	case len(scaled) == 1:
		return kedaScaler(&scaled[0]), nil
	case len(made) > 0:
		return nil, refused("HorizontalPodAutoscaler %s was made by ScaledObject %s, which does not scale %s: put that in order first", made[0].GetName(), madeByKEDA(&made[0]), w)
	case len(others) == 1:
		return hpaScaler(&others[0]), nil
	}
	return nil, nil
}

// scaledObjects lists KEDA's objects. A cluster without KEDA has none.
func (c *cluster) scaledObjects(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	at, found, err := c.kind(ctx, kedaResource.GroupVersion().String(), kedaKind)
	if err != nil || !found {
		return nil, err
	}
	return c.list(ctx, at, namespace)
}

// aimed keeps the autoscalers whose target is the workload. A target without kind or version is a Deployment of apps/v1 (KEDA's defaults).
func aimed(w incident.WorkloadRef, all []unstructured.Unstructured) []unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(all), func(o unstructured.Unstructured) bool {
		ref := func(field, missing string) string {
			s, found, err := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", field)
			if err != nil || !found || s == "" {
				return missing
			}
			return s
		}
		return ref("name", "") != w.Name || ref("kind", "Deployment") != w.Kind || group(ref("apiVersion", "apps/v1")) != group(w.APIVersion)
	})
}

// group is the API group of an apiVersion; versions of one group are the same kind.
func group(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return "unreadable " + apiVersion
	}
	return gv.Group
}

// madeByKEDA names the ScaledObject that made an autoscaler; empty when none did.
func madeByKEDA(hpa *unstructured.Unstructured) string {
	for _, o := range hpa.GetOwnerReferences() {
		if o.Kind == kedaKind && group(o.APIVersion) == kedaResource.Group {
			return o.Name
		}
	}
	return hpa.GetLabels()[kedaLabel]
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

func names(all []unstructured.Unstructured) string {
	var out strings.Builder
	for i, o := range all {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(o.GetKind() + " " + o.GetName())
	}
	return out.String()
}
