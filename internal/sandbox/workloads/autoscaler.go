package workloads

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// settle is for how long an autoscaler wants fewer replicas before it scales down, unless it says otherwise.
const settle = 5 * time.Minute

// wish is a number of replicas that an autoscaler's metrics asked for.
type wish struct {
	at time.Time
	n  int32
}

// verdict is what an autoscaler makes of its target.
type verdict struct {
	current, desired int32
	why              string
	able, valid      autoscalingv2.HorizontalPodAutoscalerCondition
	limited          autoscalingv2.HorizontalPodAutoscalerCondition
}

// autoscale lets each HorizontalPodAutoscaler of a Deployment look once.
func (c *Cluster) autoscale() error {
	all, err := kubeapi.All[autoscalingv2.HorizontalPodAutoscaler](c.manager(), autoscalerKind)
	if err != nil {
		return err
	}
	var errs []error
	seen := map[types.UID]bool{}
	for _, h := range all {
		seen[h.UID] = true
		errs = append(errs, c.autoscaleOne(h))
	}
	for uid := range c.wanted {
		if !seen[uid] {
			delete(c.wanted, uid)
		}
	}
	return lasting(errs...)
}

func (c *Cluster) autoscaleOne(h *autoscalingv2.HorizontalPodAutoscaler) error {
	to := h.Spec.ScaleTargetRef
	if to.Kind != "Deployment" {
		return nil // nothing here makes pods of another kind
	}
	d, err := kubeapi.Get[appsv1.Deployment](c.manager(), deploymentKind, h.Namespace, to.Name)
	if err != nil {
		v := verdict{current: h.Status.CurrentReplicas, desired: h.Status.DesiredReplicas}
		v.able = told(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale",
			"the HPA controller was unable to get the target's current scale: "+err.Error())
		return c.note(h, v, false)
	}
	v := c.judge(h, d)
	rescale := v.desired != v.current
	if rescale {
		if err := c.manager().Scale(deploymentKind, d, v.desired); err != nil {
			return err
		}
		about := thing{autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), h}
		if err := c.tell("horizontal-pod-autoscaler", corev1.EventTypeNormal, about, "SuccessfulRescale",
			"New size: %d; reason: %s", v.desired, v.why); err != nil {
			return err
		}
		v.able = told(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale",
			"the HPA controller was able to update the target scale to "+number(v.desired))
	}
	return c.note(h, v, rescale)
}

// judge works out how many replicas a target should have.
func (c *Cluster) judge(h *autoscalingv2.HorizontalPodAutoscaler, d *appsv1.Deployment) verdict {
	least, most := *h.Spec.MinReplicas, h.Spec.MaxReplicas
	v := verdict{current: *d.Spec.Replicas, desired: *d.Spec.Replicas}
	v.able = told(autoscalingv2.AbleToScale, corev1.ConditionTrue, "ReadyForNewScale",
		"recommended size matches current size")
	if v.current == 0 {
		v.valid = told(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled",
			"scaling is disabled since the replica count of the target is zero")
		return v
	}
	v.valid = told(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetResourceMetric",
		"the HPA was unable to compute the replica count: no metrics can be had")
	if c.opts.Desired != nil {
		n, why, err := c.opts.Desired(h, v.current)
		if err != nil {
			v.valid.Message = "the HPA was unable to compute the replica count: " + err.Error()
		} else {
			v.valid = told(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound",
				"the HPA was able to successfully calculate a replica count from "+why)
			v.desired, v.why = c.steady(h, n, v.current), why
		}
	}
	v.limited = told(autoscalingv2.ScalingLimited, corev1.ConditionFalse, "DesiredWithinRange",
		"the desired count is within the acceptable range")
	switch {
	case v.desired > most:
		v.limited = told(autoscalingv2.ScalingLimited, corev1.ConditionTrue, "TooManyReplicas",
			"the desired replica count is more than the maximum replica count")
		if v.desired = most; v.current > most {
			v.why = "Current number of replicas above Spec.MaxReplicas"
		}
	case v.desired < least:
		v.limited = told(autoscalingv2.ScalingLimited, corev1.ConditionTrue, "TooFewReplicas",
			"the desired replica count is less than the minimum replica count")
		if v.desired = least; v.current < least {
			v.why = "Current number of replicas below Spec.MinReplicas"
		}
	}
	return v
}

// steady scales down only to the most that was asked for lately.
func (c *Cluster) steady(h *autoscalingv2.HorizontalPodAutoscaler, n, current int32) int32 {
	window := settle
	if b := h.Spec.Behavior; b != nil && b.ScaleDown != nil && b.ScaleDown.StabilizationWindowSeconds != nil {
		window = time.Duration(*b.ScaleDown.StabilizationWindowSeconds) * time.Second
	}
	now := c.opts.Now()
	all, known := c.wanted[h.UID]
	if !known {
		all = []wish{{now, current}}
	}
	recent := []wish{{now, n}}
	highest := n
	for _, w := range all {
		if now.Sub(w.at) < window && (w.n != n || w.at != now) {
			recent = append(recent, w)
			highest = max(highest, w.n)
		}
	}
	c.wanted[h.UID] = recent
	if n < current {
		return min(highest, current)
	}
	return n
}

func told(kind autoscalingv2.HorizontalPodAutoscalerConditionType, is corev1.ConditionStatus, reason, message string,
) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind, Status: is, Reason: reason, Message: message}
}

// note writes what an autoscaler found into its status.
func (c *Cluster) note(h *autoscalingv2.HorizontalPodAutoscaler, v verdict, rescaled bool) error {
	at := c.now()
	return kubeapi.Change(c.manager(), autoscalerKind, "status", h, func(h *autoscalingv2.HorizontalPodAutoscaler) error {
		s := &h.Status
		s.CurrentReplicas, s.DesiredReplicas, s.ObservedGeneration = v.current, v.desired, &h.Generation
		if rescaled {
			s.LastScaleTime = &at
		}
		before := s.Conditions
		s.Conditions = nil
		for _, next := range []autoscalingv2.HorizontalPodAutoscalerCondition{v.able, v.valid, v.limited} {
			if next.Type != "" {
				s.Conditions = append(s.Conditions, since(before, next, at))
			}
		}
		return nil
	})
}

// since dates a condition by when it became what it is.
func since(before []autoscalingv2.HorizontalPodAutoscalerCondition,
	next autoscalingv2.HorizontalPodAutoscalerCondition, at metav1.Time,
) autoscalingv2.HorizontalPodAutoscalerCondition {
	next.LastTransitionTime = at
	for _, old := range before {
		if old.Type == next.Type && old.Status == next.Status {
			next.LastTransitionTime = old.LastTransitionTime
		}
	}
	return next
}
