package actions

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// stormMode is the annotation by which a PodAutoscaler of a role scales the whole StormService (aibrix workload_scale.go).
const stormMode = "autoscaling.aibrix.ai/storm-service-mode"

// podScalers lists the PodAutoscalers of the workload's namespace. One of another namespace is refused when it names the workload: with KPA and APA AIBrix
// writes to spec.scaleTargetRef.namespace, but reads how many run in its own (workload_scale.go SetDesiredReplicas, podautoscaler_controller.go
// getScaleResource), so that no minimum of it is certain to be followed. Without the right to list all, what is not seen is said.
func (c *kube) podScalers(ctx context.Context, w *scaled) ([]unstructured.Unstructured, error) {
	all, err := c.installed(ctx, cluster.PodAutoscalers, cluster.PodAutoscalerKind, "")
	var no *incident.RefusedError
	if errors.As(err, &no) && no.Cause == incident.CauseRight {
		w.unseen = no.Reason
		return c.list(ctx, cluster.PodAutoscalers, w.ref.Namespace)
	}
	if err != nil {
		return nil, err
	}
	var here []unstructured.Unstructured
	for _, o := range all {
		switch {
		case o.GetNamespace() == w.ref.Namespace:
			here = append(here, o)
		case cluster.Text(&o, "spec", "scaleTargetRef", "namespace") != w.ref.Namespace || cluster.Text(&o, "spec", "scalingStrategy") == "HPA":
		case len(cluster.AimedAt(w.ref, []unstructured.Unstructured{o})) > 0:
			return nil, refused("%s %s/%s sets the replicas of %s from another namespace, and AIBrix reads there how many run: put that in order first",
				cluster.PodAutoscalerKind, o.GetNamespace(), o.GetName(), w.ref)
		}
	}
	return here, nil
}

// hidden warns that autoscalers of other namespaces could not be looked for.
func (w scaled) hidden() []incident.Guardrail {
	if w.unseen == "" {
		return nil
	}
	return []incident.Guardrail{caution("other autoscalers", "whether a %s of another namespace scales %s is not known: %s in all namespaces",
		cluster.PodAutoscalerKind, w.ref.Name, w.unseen)}
}

// podScaler is a PodAutoscaler (aibrix api/autoscaling/v1alpha1 podautoscaler_types.go). With the strategies KPA and APA AIBrix writes spec.replicas
// itself, with HPA it makes a HorizontalPodAutoscaler and writes its own bounds into it; spec.minReplicas is the knob of all of them.
func podScaler(o *unstructured.Unstructured) *scaler {
	// minReplicas defaults to 1 (aibrix paschedules, BaseBounds); maxReplicas is required.
	s := &scaler{resource: cluster.PodAutoscalers, object: o, minField: "minReplicas", maxField: "maxReplicas", minDefault: 1}
	s.stopped = podScalerStops(o)
	schedules, _, err := unstructured.NestedSlice(o.Object, "spec", "schedules")
	if err != nil {
		s.stopped = fmt.Sprintf("spec.schedules of %s cannot be read", s)
		return s
	}
	for _, one := range schedules {
		m, ok := one.(map[string]any)
		if !ok {
			continue
		}
		if m["minReplicas"] != nil {
			s.stopped = fmt.Sprintf("schedule %v of %s has a minReplicas of its own, which counts in place of spec.minReplicas while it is active: change it there",
				m["name"], s)
		}
		// A minimum above a schedule's maximum makes AIBrix refuse the whole object.
		if most, ok := m["maxReplicas"].(int64); ok && (s.cap == 0 || most < s.cap) {
			s.cap, s.capWhy = most, fmt.Sprintf("maxReplicas of schedule %v of %s", m["name"], s)
		}
	}
	return s
}

// podScalerStops says why a higher minimum would have no effect.
func podScalerStops(o *unstructured.Unstructured) string {
	name := o.GetKind() + " " + o.GetName()
	if role := cluster.Text(o, "spec", "subTargetSelector", "roleName"); role != "" && o.GetAnnotations()[stormMode] != "replica" {
		return fmt.Sprintf("%s scales the role %s of %s: change spec.minReplicas there", name, role, cluster.Text(o, "spec", "scaleTargetRef", "name"))
	}
	if c := cluster.ConditionOf(o, "ValidSpec"); c.Status == "False" {
		return fmt.Sprintf("%s is not in force: %s: %s", name, c.Reason, c.Message)
	}
	return ""
}
