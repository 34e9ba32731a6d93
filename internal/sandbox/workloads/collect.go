package workloads

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// owned is an object that others may own, or that owns others.
type owned struct {
	metav1.Object

	kind schema.GroupVersionResource
}

// collect takes away what belongs to an owner that is gone, pods of nodes that are gone, and old events, and lets go
// those owners that waited for what they own.
func (c *Cluster) collect() error {
	all, nodes, err := c.everything()
	if err != nil {
		return err
	}
	there := map[types.UID]bool{}
	for _, o := range all {
		there[o.GetUID()] = true
	}
	errs := []error{c.forget()}
	for _, o := range all {
		p, isPod := o.Object.(*corev1.Pod)
		switch {
		case isPod && p.Spec.NodeName != "" && !nodes[p.Spec.NodeName]:
			errs = append(errs, c.manager().Delete(o.kind, o, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		case o.GetDeletionTimestamp() == nil && orphaned(o, there):
			errs = append(errs, c.manager().Delete(o.kind, o, metav1.DeleteOptions{}))
		case slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents):
			errs = append(errs, c.release(o, all))
		case slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents):
			errs = append(errs, c.clear(o, all))
		}
	}
	return lasting(errs...)
}

// everything is what takes part in ownership here, and the nodes.
func (c *Cluster) everything() (all []owned, nodes map[string]bool, err error) {
	pods, errPods := kubeapi.All[corev1.Pod](c.manager(), podKind)
	sets, errSets := kubeapi.All[appsv1.ReplicaSet](c.manager(), replicaSetKind)
	deployments, errDeployments := kubeapi.All[appsv1.Deployment](c.manager(), deploymentKind)
	up, errNodes := kubeapi.All[corev1.Node](c.manager(), nodeKind)
	for _, d := range deployments {
		all = append(all, owned{d, deploymentKind})
	}
	for _, rs := range sets {
		all = append(all, owned{rs, replicaSetKind})
	}
	for _, p := range pods {
		all = append(all, owned{p, podKind})
	}
	nodes = map[string]bool{}
	for _, n := range up {
		nodes[n.Name] = true
	}
	return all, nodes, errors.Join(errPods, errSets, errDeployments, errNodes)
}

// orphaned says that all owners of an object, which are of the kinds that are looked at, are gone.
func orphaned(o owned, there map[types.UID]bool) bool {
	refs := o.GetOwnerReferences()
	return len(refs) > 0 && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool {
		return there[r.UID] || r.Kind != "ReplicaSet" && r.Kind != "Deployment"
	})
}

func owns(owner owned, o owned) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == owner.GetUID()
	})
}

// clear deletes what an object owns, and lets the object go when nothing is left.
func (c *Cluster) clear(owner owned, all []owned) error {
	left := false
	for _, o := range all {
		if !owns(owner, o) {
			continue
		}
		left = true
		if o.GetDeletionTimestamp() == nil {
			how := metav1.DeletePropagationForeground
			if o.kind == podKind {
				how = metav1.DeletePropagationBackground
			}
			if err := c.manager().Delete(o.kind, o, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
				return err
			}
		}
	}
	if left {
		return nil
	}
	return c.letGo(owner, metav1.FinalizerDeleteDependents)
}

// release leaves what an object owns to nobody, and lets the object go.
func (c *Cluster) release(owner owned, all []owned) error {
	for _, o := range all {
		if !owns(owner, o) {
			continue
		}
		err := c.edit(o, func(m metav1.Object) {
			m.SetOwnerReferences(slices.DeleteFunc(m.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
				return r.UID == owner.GetUID()
			}))
		})
		if err != nil {
			return err
		}
	}
	return c.letGo(owner, metav1.FinalizerOrphanDependents)
}

func (c *Cluster) letGo(o owned, finalizer string) error {
	return c.edit(o, func(m metav1.Object) {
		m.SetFinalizers(slices.DeleteFunc(m.GetFinalizers(), func(f string) bool { return f == finalizer }))
	})
}

// edit changes what all kinds have in common.
func (c *Cluster) edit(o owned, f func(metav1.Object)) error {
	switch o.kind {
	case podKind:
		return change[corev1.Pod](c, o, f)
	case replicaSetKind:
		return change[appsv1.ReplicaSet](c, o, f)
	}
	return change[appsv1.Deployment](c, o, f)
}

func change[T any, P interface {
	*T
	metav1.Object
}](c *Cluster, o owned, f func(metav1.Object)) error {
	return kubeapi.Change(c.manager(), o.kind, "", o, func(now *T) error {
		f(P(now))
		return nil
	})
}
