package workloads

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// scale sets the number of pods of a ReplicaSet, and says so.
func (c *Cluster) scale(d *appsv1.Deployment, rs *appsv1.ReplicaSet, to int32) error {
	from := *rs.Spec.Replicas
	if from == to {
		return nil
	}
	err := kubeapi.Change(c.manager(), replicaSetKind, "", rs, func(rs *appsv1.ReplicaSet) error {
		rs.Spec.Replicas = &to
		return nil
	})
	if err != nil {
		return err
	}
	rs.Spec.Replicas = &to
	way := "up"
	if to < from {
		way = "down"
	}
	return c.tell(deploymentController, corev1.EventTypeNormal, aboutDeployment(d), "ScalingReplicaSet",
		"Scaled %s replica set %s from %d to %d", way, rs.Name, from, to)
}

// scalePaused follows the number of replicas while no rollout may happen: the one ReplicaSet that has pods gets it.
func (c *Cluster) scalePaused(d *appsv1.Deployment, own []*appsv1.ReplicaSet) error {
	var running []*appsv1.ReplicaSet
	for _, rs := range own {
		if *rs.Spec.Replicas > 0 {
			running = append(running, rs)
		}
	}
	if len(running) != 1 {
		return nil // in the middle of a rollout, all stay as they are
	}
	return c.scale(d, running[0], *d.Spec.Replicas)
}

// recreate lets all old pods end before the first new one begins.
func (c *Cluster) recreate(d *appsv1.Deployment, newest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	for _, rs := range old {
		if err := c.scale(d, rs, 0); err != nil {
			return err
		}
	}
	pods, err := kubeapi.All[corev1.Pod](c.manager(), podKind)
	if err != nil {
		return err
	}
	for _, rs := range old {
		if len(controlledBy(pods, rs)) > 0 {
			return nil
		}
	}
	return c.scale(d, newest, *d.Spec.Replicas)
}

// room is how far a rollout may go beyond the number of replicas, and below it.
func room(d *appsv1.Deployment) (surge, missing int32, err error) {
	r := d.Spec.Strategy.RollingUpdate
	if r == nil {
		return 0, 0, fmt.Errorf("strategy of Deployment %s is not set", d.Name)
	}
	n := int(*d.Spec.Replicas)
	up, err := intstr.GetScaledValueFromIntOrPercent(r.MaxSurge, n, true)
	if err != nil {
		return 0, 0, fmt.Errorf("maxSurge of Deployment %s: %w", d.Name, err)
	}
	down, err := intstr.GetScaledValueFromIntOrPercent(r.MaxUnavailable, n, false)
	if err != nil {
		return 0, 0, fmt.Errorf("maxUnavailable of Deployment %s: %w", d.Name, err)
	}
	if up == 0 && down == 0 {
		down = 1 // percents of few replicas round to nothing, and something has to move
	}
	return int32(up), int32(min(down, n)), nil
}

// roll replaces old pods by new ones within the room that the strategy leaves.
func (c *Cluster) roll(d *appsv1.Deployment, newest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) error {
	surge, missing, err := room(d)
	if err != nil {
		return err
	}
	want, all, available := *d.Spec.Replicas, *newest.Spec.Replicas, newest.Status.AvailableReplicas
	for _, rs := range old {
		all += *rs.Spec.Replicas
		available += rs.Status.AvailableReplicas
	}
	most := want + surge
	if n := *newest.Spec.Replicas; n > want || n < want && all < most {
		return c.scale(d, newest, min(want, n+max(0, most-all)))
	}
	least := want - missing
	// New pods that are not available yet may not be counted on.
	spare := all - least - (*newest.Spec.Replicas - newest.Status.AvailableReplicas)
	if spare <= 0 {
		return nil
	}
	for _, rs := range old { // first those that do not serve
		idle := min(*rs.Spec.Replicas-rs.Status.AvailableReplicas, spare)
		if idle > 0 {
			spare -= idle
			if err := c.scale(d, rs, *rs.Spec.Replicas-idle); err != nil {
				return err
			}
		}
	}
	spare = min(spare, available-least)
	for _, rs := range old {
		if n := min(*rs.Spec.Replicas, spare); n > 0 {
			spare -= n
			if err := c.scale(d, rs, *rs.Spec.Replicas-n); err != nil {
				return err
			}
		}
	}
	return nil
}
