package kubeapi

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file has the defaults of Kubernetes' kinds, as their API reference documents them.

// or sets what is not set.
func or[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

func orText[T ~string](at *T, value T) {
	if *at == "" {
		*at = value
	}
}

func fillDeployment(o runtime.Object) {
	d, ok := o.(*appsv1.Deployment)
	if !ok {
		return
	}
	const history, deadline = 10, 600
	or(&d.Spec.Replicas, 1)
	or(&d.Spec.RevisionHistoryLimit, history)
	or(&d.Spec.ProgressDeadlineSeconds, deadline)
	orText(&d.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		or(&d.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		or(&d.Spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
		or(&d.Spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
	}
	fillPodSpec(&d.Spec.Template.Spec)
}

func fillReplicaSet(o runtime.Object) {
	if rs, ok := o.(*appsv1.ReplicaSet); ok {
		or(&rs.Spec.Replicas, 1)
		fillPodSpec(&rs.Spec.Template.Spec)
	}
}

func fillPod(o runtime.Object) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	fillPodSpec(&p.Spec)
	or(&p.Spec.EnableServiceLinks, true)
	// What a container may use at most is what it asks for, where it does not say.
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i].Resources
		for name, most := range c.Limits {
			if _, says := c.Requests[name]; !says {
				if c.Requests == nil {
					c.Requests = corev1.ResourceList{}
				}
				c.Requests[name] = most
			}
		}
	}
}

func fillPodSpec(s *corev1.PodSpec) {
	orText(&s.RestartPolicy, corev1.RestartPolicyAlways)
	orText(&s.DNSPolicy, corev1.DNSClusterFirst)
	orText(&s.SchedulerName, corev1.DefaultSchedulerName)
	or(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	or(&s.SecurityContext, corev1.PodSecurityContext{})
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			fillContainer(&list[i])
		}
	}
}

func fillContainer(c *corev1.Container) {
	orText(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orText(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicy(c.Image)
	}
	for i := range c.Ports {
		orText(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		for _, n := range []struct {
			at    *int32
			value int32
		}{{&p.TimeoutSeconds, 1}, {&p.PeriodSeconds, 10}, {&p.SuccessThreshold, 1}, {&p.FailureThreshold, 3}} {
			if *n.at == 0 {
				*n.at = n.value
			}
		}
		if p.HTTPGet != nil {
			orText(&p.HTTPGet.Path, "/")
			orText(&p.HTTPGet.Scheme, corev1.URISchemeHTTP)
		}
	}
}

// fillAutoscaler writes the defaults of an autoscaler that has metrics of its own.
func fillAutoscaler(o runtime.Object) {
	h, ok := o.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return
	}
	const utilization = 80
	or(&h.Spec.MinReplicas, 1)
	if len(h.Spec.Metrics) == 0 {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(utilization)),
				},
			},
		}}
	}
}
