package workloads

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

const replicaSetController = "replicaset-controller"

func aboutReplicaSet(rs *appsv1.ReplicaSet) thing {
	return thing{appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), rs}
}

// replicate makes each ReplicaSet have as many pods as it wants.
func (c *Cluster) replicate() error {
	sets, err := kubeapi.All[appsv1.ReplicaSet](c.manager(), replicaSetKind)
	if err != nil {
		return err
	}
	pods, err := kubeapi.All[corev1.Pod](c.manager(), podKind)
	if err != nil {
		return err
	}
	var errs []error
	for _, rs := range sets {
		own := slices.DeleteFunc(controlledBy(pods, rs), func(p *corev1.Pod) bool { return !active(p) })
		if rs.DeletionTimestamp == nil {
			errs = append(errs, c.fillSet(rs, own))
		}
		errs = append(errs, c.setStatus(rs, own))
	}
	return lasting(errs...)
}

// active says that a pod counts: it has not ended, and is not about to go.
func active(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

func (c *Cluster) fillSet(rs *appsv1.ReplicaSet, own []*corev1.Pod) error {
	want := int(*rs.Spec.Replicas)
	for range want - len(own) {
		p := podFrom(rs)
		if err := kubeapi.Create(c.manager(), podKind, p); err != nil {
			return err
		}
		if err := c.tell(replicaSetController, corev1.EventTypeNormal, aboutReplicaSet(rs), "SuccessfulCreate",
			"Created pod: %s", p.Name); err != nil {
			return err
		}
	}
	if len(own) <= want {
		return nil
	}
	slices.SortStableFunc(own, expendable)
	for _, p := range own[:len(own)-want] {
		if err := c.manager().Delete(podKind, p, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := c.tell(replicaSetController, corev1.EventTypeNormal, aboutReplicaSet(rs), "SuccessfulDelete",
			"Deleted pod: %s", p.Name); err != nil {
			return err
		}
	}
	return nil
}

func podFrom(rs *appsv1.ReplicaSet) *corev1.Pod {
	t := rs.Spec.Template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: rs.Name + "-", Namespace: rs.Namespace, Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
			},
		},
		Spec: t.Spec,
	}
}

// expendable is the order in which pods go: those that run nowhere, then those that are not ready, then the younger.
func expendable(a, b *corev1.Pod) int {
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(yes(a.Spec.NodeName != ""), yes(b.Spec.NodeName != "")),
		cmp.Compare(yes(ready(a)), yes(ready(b))),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func ready(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// available says that a pod has been ready for long enough.
func (c *Cluster) available(p *corev1.Pod, least int32) bool {
	if !ready(p) {
		return false
	}
	since := condition(p, corev1.PodReady).LastTransitionTime
	return least == 0 || !c.opts.Now().Before(since.Add(time.Duration(least)*time.Second))
}

func (c *Cluster) setStatus(rs *appsv1.ReplicaSet, own []*corev1.Pod) error {
	next := appsv1.ReplicaSetStatus{
		Replicas: count(own, func(*corev1.Pod) bool { return true }), ReadyReplicas: count(own, ready),
		AvailableReplicas: count(own, func(p *corev1.Pod) bool {
			return c.available(p, rs.Spec.MinReadySeconds)
		}),
		ObservedGeneration: rs.Generation,
	}
	next.FullyLabeledReplicas = next.Replicas
	return kubeapi.Change(c.manager(), replicaSetKind, "status", rs, func(now *appsv1.ReplicaSet) error {
		next.Conditions = now.Status.Conditions
		now.Status = next
		return nil
	})
}

func count(pods []*corev1.Pod, which func(*corev1.Pod) bool) (n int32) {
	for _, p := range pods {
		if which(p) {
			n++
		}
	}
	return n
}
