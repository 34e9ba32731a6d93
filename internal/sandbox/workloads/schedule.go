package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

func aboutPod(p *corev1.Pod) thing { return thing{corev1.SchemeGroupVersion.WithKind("Pod"), p} }

// schedule gives each pod a node that has what it asks for, the oldest pod first. One for which there is none waits and
// says why.
func (c *Cluster) schedule() error {
	pods, err := kubeapi.All[corev1.Pod](c.server.As(scheduler), podKind)
	if err != nil {
		return err
	}
	nodes, err := kubeapi.All[corev1.Node](c.server.As(scheduler), nodeKind)
	if err != nil {
		return err
	}
	free := map[string]corev1.ResourceList{}
	for _, n := range nodes {
		free[n.Name] = n.Status.Allocatable.DeepCopy()
	}
	for _, p := range pods {
		if p.Spec.NodeName != "" && !over(p) {
			take(free[p.Spec.NodeName], p)
		}
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var errs []error
	for _, p := range pods {
		if p.Spec.NodeName == "" && active(p) {
			errs = append(errs, c.bind(p, nodes, free))
		}
	}
	return lasting(errs...)
}

// over says that a pod has ended for good.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// asked is what a pod asks for, itself included.
func asked(p *corev1.Pod) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, container := range p.Spec.Containers {
		for name, n := range container.Resources.Requests {
			sum := out[name]
			sum.Add(n)
			out[name] = sum
		}
	}
	return out
}

func take(from corev1.ResourceList, p *corev1.Pod) {
	for name, n := range asked(p) {
		if left, has := from[name]; has {
			left.Sub(n)
			from[name] = left
		}
	}
}

// bind finds a node for a pod.
func (c *Cluster) bind(p *corev1.Pod, nodes []*corev1.Node, free map[string]corev1.ResourceList) error {
	why := map[string]int{}
	for _, n := range nodes {
		reason := unfit(p, n, free[n.Name])
		if reason != "" {
			why[reason]++
			continue
		}
		take(free[n.Name], p)
		err := kubeapi.Change(c.server.As(scheduler), podKind, "", p, func(p *corev1.Pod) error {
			p.Spec.NodeName = n.Name
			return nil
		})
		if err != nil {
			return err
		}
		err = kubeapi.Change(c.server.As(scheduler), podKind, "status", p, func(p *corev1.Pod) error {
			c.mark(p, corev1.PodScheduled, corev1.ConditionTrue, "", "")
			return nil
		})
		if err != nil {
			return err
		}
		return c.tell("default-scheduler", corev1.EventTypeNormal, aboutPod(p), "Scheduled",
			"Successfully assigned %s/%s to %s", p.Namespace, p.Name, n.Name)
	}
	message := nowhere(len(nodes), why)
	if now := condition(p, corev1.PodScheduled); now != nil && now.Message == message {
		return nil
	}
	err := kubeapi.Change(c.server.As(scheduler), podKind, "status", p, func(p *corev1.Pod) error {
		c.mark(p, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message)
		return nil
	})
	if err != nil {
		return err
	}
	return c.tell("default-scheduler", corev1.EventTypeWarning, aboutPod(p), "FailedScheduling", "%s", message)
}

// nowhere says why no node fits, in the scheduler's words.
func nowhere(nodes int, why map[string]int) string {
	if nodes == 0 {
		return "no nodes available to schedule pods"
	}
	var parts []string
	for reason, n := range why {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}

// unfit is why a pod cannot run on a node; empty when it can.
func unfit(p *corev1.Pod, n *corev1.Node, free corev1.ResourceList) string {
	switch {
	case n.Spec.Unschedulable:
		return "node(s) were unschedulable"
	case !nodeReady(n):
		return "node(s) had untolerated taint(s)"
	case !labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(n.Labels)):
		return "node(s) didn't match Pod's node affinity/selector"
	}
	want := asked(p)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		need := want[name]
		if left := free[name]; left.Cmp(need) < 0 {
			return "Insufficient " + string(name)
		}
	}
	return ""
}

// nodeReady says whether a node takes pods: one that says nothing does.
func nodeReady(n *corev1.Node) bool {
	for _, one := range n.Status.Conditions {
		if one.Type == corev1.NodeReady {
			return one.Status == corev1.ConditionTrue
		}
	}
	return true
}

// mark writes a condition of a pod.
func (c *Cluster) mark(p *corev1.Pod, kind corev1.PodConditionType, is corev1.ConditionStatus, reason, message string) {
	next := corev1.PodCondition{
		Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: c.now(),
		ObservedGeneration: p.Generation,
	}
	for i, old := range p.Status.Conditions {
		if old.Type != kind {
			continue
		}
		if old.Status == is {
			next.LastTransitionTime = old.LastTransitionTime
		}
		p.Status.Conditions[i] = next
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, next)
}
