package replicas

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// stormMode is the annotation by which a PodAutoscaler of a role scales the whole StormService (aibrix
// workload_scale.go).
const stormMode = "autoscaling.aibrix.ai/storm-service-mode"

// podAutoscalers lists the PodAutoscalers of the workload's namespace. One of another namespace is refused when it
// names the workload: with KPA and APA AIBrix writes to spec.scaleTargetRef.namespace, but reads how many run in its
// own (workload_scale.go SetDesiredReplicas, podautoscaler_controller.go getScaleResource), so that no minimum of it
// is certain to be followed. Where all of them may not be listed, or are more than is read, what is not seen is said.
func podAutoscalers(ctx context.Context, c *kube.Reader, w *workload) ([]unstructured.Unstructured, error) {
	all, err := c.Installed(ctx, cluster.PodAutoscalers, cluster.PodAutoscalerKind, "")
	var (
		no       *incident.RefusedError
		tooLarge *answer.TooLargeError
	)
	switch {
	case errors.As(err, &no) && no.Cause == incident.CauseRight:
		w.unlisted = no.Reason + " in all namespaces"
	case errors.As(err, &tooLarge): // whoever fills another namespace must not stop the pools of this one
		w.unlisted = err.Error()
	}
	if w.unlisted != "" {
		return c.List(ctx, cluster.PodAutoscalers, w.ref.Namespace)
	}
	if err != nil {
		return nil, err
	}
	var here []unstructured.Unstructured
	for _, o := range all {
		switch {
		case o.GetNamespace() == w.ref.Namespace:
			here = append(here, o)
		case cluster.Text(&o, "spec", "scaleTargetRef", "namespace") != w.ref.Namespace ||
			cluster.Text(&o, "spec", "scalingStrategy") == "HPA":
		case len(cluster.AimedAt(w.ref, []unstructured.Unstructured{o})) > 0:
			return nil, live.Refused("%s %s/%s sets the replicas of %s from another namespace, and AIBrix reads there how "+
				"many run: fix that first",
				cluster.PodAutoscalerKind, o.GetNamespace(), o.GetName(), w.ref)
		}
	}
	return here, nil
}

// cautionUnlisted warns that autoscalers of other namespaces could not be looked for.
func (w workload) cautionUnlisted() []incident.Guardrail {
	if w.unlisted == "" {
		return nil
	}
	return []incident.Guardrail{live.Caution("other autoscalers",
		"whether a %s of another namespace scales %s is not known: %s",
		cluster.PodAutoscalerKind, w.ref.Name, w.unlisted)}
}

// aibrix is AIBrix' PodAutoscaler.
func aibrix() ownerKind {
	return ownerKind{AutoscalerKind: cluster.AIBrix, list: podAutoscalers, owner: podAutoscaler}
}

// podAutoscaler is a PodAutoscaler (aibrix api/autoscaling/v1alpha1 podautoscaler_types.go). With the strategies KPA
// and APA AIBrix writes spec.replicas itself, with HPA it makes a HorizontalPodAutoscaler and writes its own bounds
// into it; spec.minReplicas is the knob of all of them.
func podAutoscaler(o *unstructured.Unstructured) *owner {
	// minReplicas defaults to 1 (aibrix paschedules, BaseBounds); maxReplicas is required.
	s := &owner{
		resource: cluster.PodAutoscalers, object: o, minField: "minReplicas", maxField: "maxReplicas",
		minDefault: 1,
	}
	s.stopped = ineffectivePodAutoscaler(o)
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
			s.stopped = fmt.Sprintf("schedule %v of %s has a minReplicas of its own, which counts in place of "+
				"spec.minReplicas while it is active: change it there",
				m["name"], s)
		}
		// A minimum above a schedule's maximum makes AIBrix refuse the whole object.
		if most, ok := m["maxReplicas"].(int64); ok && (s.cap == 0 || most < s.cap) {
			s.cap, s.capWhy = most, fmt.Sprintf("maxReplicas of schedule %v of %s", m["name"], s)
		}
	}
	return s
}

// ineffectivePodAutoscaler says why a higher minimum would have no effect.
func ineffectivePodAutoscaler(o *unstructured.Unstructured) string {
	name := o.GetKind() + " " + o.GetName()
	if role := cluster.Text(o, "spec", "subTargetSelector", "roleName"); role != "" &&
		o.GetAnnotations()[stormMode] != "replica" {
		return fmt.Sprintf("%s scales the role %s of %s: change spec.minReplicas there", name, role,
			cluster.Text(o, "spec", "scaleTargetRef", "name"))
	}
	if c := cluster.ConditionOf(o, "ValidSpec"); c.Status == "False" {
		return fmt.Sprintf("%s is not in force: %s: %s", name, c.Reason, c.Message)
	}
	return ""
}

// checkNotPooled refuses a StormService whose one RoleSet has all replicas of its roles. An unset mode with one
// replica, which is also what an absent number means, is Pooled, and becomes Replica with a second one (aibrix
// api/orchestration/v1alpha1 stormservice_types.go).
func (w workload) checkNotPooled() error {
	const where = "its roles are what scales: change spec.template.spec.roles[].replicas, or spec.minReplicas of the " +
		"role's PodAutoscaler"
	mode, _, err := unstructured.NestedString(w.object.Object, "spec", "mode")
	if err != nil {
		return live.Refused("spec.mode of %s cannot be read: %s", w.ref, err)
	}
	n, found, err := unstructured.NestedInt64(w.object.Object, "spec", "replicas")
	switch {
	case mode == "Pooled":
		return live.Refused("%s is in mode Pooled, which means one RoleSet; %s", w.ref, where)
	case mode == "" && (err != nil || !found || n <= 1):
		return live.Refused("%s has no spec.mode, and a second RoleSet would change it from Pooled to Replica; as "+
			"Pooled, %s", w.ref, where)
	}
	return nil
}
