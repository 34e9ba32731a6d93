package workloads

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// The reasons of the condition Progressing.
const (
	followed  = "NewReplicaSetAvailable"
	moving    = "ReplicaSetUpdated"
	exceeded  = "ProgressDeadlineExceeded"
	pausedFor = "DeploymentPaused"
	resumed   = "DeploymentResumed"
)

// report writes how far a Deployment is.
func (c *Cluster) report(d *appsv1.Deployment, newest *appsv1.ReplicaSet, own []*appsv1.ReplicaSet) error {
	next := appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
	for _, rs := range own {
		next.Replicas += rs.Status.Replicas
		next.ReadyReplicas += rs.Status.ReadyReplicas
		next.AvailableReplicas += rs.Status.AvailableReplicas
	}
	if newest != nil {
		next.UpdatedReplicas = newest.Status.Replicas
	}
	next.UnavailableReplicas = max(0, total(own)-next.AvailableReplicas)
	_, missing, err := room(d)
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		missing, err = 0, nil
	}
	if err != nil {
		return err
	}
	return kubeapi.Change(c.manager(), deploymentKind, "status", d, func(now *appsv1.Deployment) error {
		if now.Generation != d.Generation {
			return nil // it changed in this moment: the next round sees it
		}
		before := now.Status
		next.Conditions, next.CollisionCount = before.Conditions, before.CollisionCount
		c.setAvailable(&next, *d.Spec.Replicas-missing)
		c.setProgress(d, newest, &before, &next)
		now.Status = next
		return nil
	})
}

func total(sets []*appsv1.ReplicaSet) (n int32) {
	for _, rs := range sets {
		n += *rs.Spec.Replicas
	}
	return n
}

func (c *Cluster) setAvailable(s *appsv1.DeploymentStatus, least int32) {
	if s.AvailableReplicas >= least {
		c.set(s, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable",
			"Deployment has minimum availability.", false)
		return
	}
	c.set(s, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable",
		"Deployment does not have minimum availability.", false)
}

// setProgress says whether a rollout moves. After one has ended nothing is said until the next one begins, whatever
// becomes of the pods.
func (c *Cluster) setProgress(d *appsv1.Deployment, newest *appsv1.ReplicaSet, before, next *appsv1.DeploymentStatus) {
	now := find(next, appsv1.DeploymentProgressing)
	if d.Spec.Paused {
		if now == nil || now.Reason != pausedFor {
			c.set(next, appsv1.DeploymentProgressing, corev1.ConditionUnknown, pausedFor, "Deployment is paused", true)
		}
		return
	}
	if now != nil && now.Reason == pausedFor {
		c.set(next, appsv1.DeploymentProgressing, corev1.ConditionUnknown, resumed, "Deployment is resumed", true)
		return
	}
	if newest == nil || d.Spec.ProgressDeadlineSeconds == nil ||
		now != nil && now.Reason == followed && next.Replicas == next.UpdatedReplicas {
		return
	}
	want := *d.Spec.Replicas
	switch {
	case next.UpdatedReplicas == want && next.Replicas == want && next.AvailableReplicas == want:
		c.set(next, appsv1.DeploymentProgressing, corev1.ConditionTrue, followed,
			fmt.Sprintf("ReplicaSet %q has successfully progressed.", newest.Name), true)
	case now == nil || now.Reason == followed || next.UpdatedReplicas > before.UpdatedReplicas ||
		next.Replicas-next.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		next.ReadyReplicas > before.ReadyReplicas || next.AvailableReplicas > before.AvailableReplicas:
		c.set(next, appsv1.DeploymentProgressing, corev1.ConditionTrue, moving,
			fmt.Sprintf("ReplicaSet %q is progressing.", newest.Name), true)
	case now.Reason != exceeded && !c.opts.Now().Before(
		now.LastUpdateTime.Add(time.Duration(*d.Spec.ProgressDeadlineSeconds)*time.Second)):
		c.set(next, appsv1.DeploymentProgressing, corev1.ConditionFalse, exceeded,
			fmt.Sprintf("ReplicaSet %q has timed out progressing.", newest.Name), true)
	}
}

// progress writes the condition Progressing alone.
func (c *Cluster) progress(d *appsv1.Deployment, reason, message string) error {
	return kubeapi.Change(c.manager(), deploymentKind, "status", d, func(now *appsv1.Deployment) error {
		c.set(&now.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, reason, message, true)
		return nil
	})
}

func find(s *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

// set writes a condition. renew dates it anew though it stays as it is.
func (c *Cluster) set(s *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, is corev1.ConditionStatus,
	reason, message string, renew bool,
) {
	at := c.now()
	next := appsv1.DeploymentCondition{
		Type: kind, Status: is, Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: at,
	}
	out := make([]appsv1.DeploymentCondition, 0, len(s.Conditions)+1)
	for _, old := range s.Conditions {
		if old.Type != kind {
			out = append(out, old)
			continue
		}
		if old.Status == is {
			next.LastTransitionTime = old.LastTransitionTime
		}
		if old.Status == is && old.Reason == reason && !renew {
			next.LastUpdateTime = old.LastUpdateTime
		}
	}
	s.Conditions = append(out, next)
}
