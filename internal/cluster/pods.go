package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxPods bounds what is read of one workload, and podPage how many pods are asked for at one time: the API server puts
// a page together before it answers, however large its pods are.
const (
	maxPods = 250
	podPage = 50
)

// pods lists a workload's pods by its selector. A kind without a selector is searched through what it owns.
func (k *Reader) pods(ctx context.Context, ref incident.WorkloadRef, sel labels.Selector) ([]corev1.Pod, error) {
	if ref.Kind == "Pod" && ref.APIVersion == "v1" {
		pod, err := k.typed.CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, objectError(err, corev1.Resource("pods"), ref)
		}
		return []corev1.Pod{*pod}, nil
	}
	if sel == nil {
		return nil, &noSelectorError{ref}
	}
	pods, more := []corev1.Pod{}, false
	err := answer.Pages(ctx, func(ctx context.Context, from string) (string, error) {
		list, err := k.typed.CoreV1().
			Pods(ref.Namespace).
			List(ctx, metav1.ListOptions{LabelSelector: sel.String(), Limit: podPage, Continue: from})
		if err != nil {
			return "", readError(err, "list", corev1.Resource("pods"), ref.Namespace)
		}
		pods = append(pods, list.Items...)
		if more = len(pods) >= maxPods && list.Continue != ""; more {
			return "", nil
		}
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	if more {
		return pods, fmt.Errorf("%s has more than %d pods, the others were not looked at", ref, maxPods)
	}
	return pods, nil
}

// noSelectorError says that a kind does not tell which pods are its own.
type noSelectorError struct{ ref incident.WorkloadRef }

// Error names the object.
func (e *noSelectorError) Error() string {
	return fmt.Sprintf("%s has no selector, so its pods were not looked at", e.ref)
}

// podsFacts are the pods that serve or should. Those that ended for good are no pods any more: they are told among the
// changes.
func podsFacts(pods []corev1.Pod, container string) []incident.Pod {
	if pods == nil {
		return nil
	}
	out := make([]incident.Pod, 0, len(pods))
	for i := range pods {
		if !endedForGood(&pods[i]) {
			out = append(out, podFacts(&pods[i], container))
		}
	}
	return out
}

// podFacts takes restarts and reasons from the containers of the engine, and from init containers that keep the pod
// from starting. Of the containers beside the engine only what they wait for is said, each with its name: their ends
// are no ends of an engine, and they may be why the pod is not ready.
func podFacts(pod *corev1.Pod, container string) incident.Pod {
	out := incident.Pod{
		Name:        pod.Name,
		Node:        pod.Spec.NodeName,
		Phase:       string(pod.Status.Phase),
		Ready:       podReady(pod),
		Terminating: pod.DeletionTimestamp != nil,
		Version:     versionOf(pod, container),
		Role:        roleOf(pod, container),
	}
	if pod.Status.StartTime != nil {
		out.Started = pod.Status.StartTime.UTC()
	}
	out.GPUs, out.ServedAfter = devices(pod, container), servedAfter(pod, container)
	var reasons []string
	if pod.DeletionTimestamp != nil {
		reasons = append(reasons, "terminating")
	}
	if pod.Status.Reason != "" {
		reasons = append(reasons, redact.Shown(pod.Status.Reason))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			out.Unscheduled = c.LastTransitionTime.UTC()
			if c.LastTransitionTime.IsZero() {
				out.Unscheduled = pod.CreationTimestamp.UTC()
			}
			out.Unschedulable = strings.TrimSpace(redact.Shown(c.Reason) + " " + redact.Shown(c.Message))
			reasons = append(reasons, out.Unschedulable)
		}
	}
	for _, s := range engineStatuses(pod, container) {
		out.Restarts += int64(s.RestartCount)
		waits(&out, s)
		reasons = append(reasons, containerReasons(s)...)
	}
	for _, s := range failingInits(pod) {
		waits(&out, s)
		for _, r := range containerReasons(s) {
			reasons = append(reasons, "init container "+s.Name+": "+r)
		}
	}
	engine := engineNames(pod, container)
	for _, s := range pod.Status.ContainerStatuses {
		if !slices.Contains(engine, s.Name) && s.State.Waiting != nil && !isStart(s.State.Waiting.Reason) {
			reasons = append(reasons, "container "+s.Name+": "+redact.Shown(s.State.Waiting.Reason))
		}
	}
	out.Reason = strings.Join(reasons, "; ")
	return out
}

// waits takes over what a container waits for that keeps the engine from serving. One that starts again and again is
// named before one that waits for something else.
func waits(p *incident.Pod, s corev1.ContainerStatus) {
	if s.State.Waiting == nil || p.CrashLooping {
		return
	}
	// k8s.io/kubernetes pkg/kubelet/images and container: a back-off, whatever the exit code was.
	const crashLoop = "CrashLoopBackOff"
	if why := redact.Shown(s.State.Waiting.Reason); why == crashLoop || p.Waiting == "" {
		p.Waiting, p.CrashLooping = why, why == crashLoop
	}
}

// isStart says that a container waits because its pod is being started, which is no trouble of its own.
func isStart(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

// containerReasons says why a container waits and how it ended the last time.
func containerReasons(s corev1.ContainerStatus) []string {
	var out []string
	if w := s.State.Waiting; w != nil && w.Reason != "" {
		out = append(out, redact.Shown(w.Reason))
	}
	for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if t != nil {
			out = append(
				out,
				strings.TrimSpace(
					fmt.Sprintf("last ended: %s, exit code %d", cmp.Or(redact.Shown(t.Reason), "no reason given"), t.ExitCode),
				),
			)
			break
		}
	}
	return out
}

// PodCount is how many pods of a workload are ready, and how many are not, where they could be counted.
type PodCount struct {
	Known          bool
	Ready, Unready int64
}

// CountPods counts pods. Those that have ended or are about to go are neither ready nor unready.
func CountPods(pods []corev1.Pod) PodCount {
	out := PodCount{Known: true}
	for i := range pods {
		switch p := &pods[i]; {
		case p.DeletionTimestamp != nil, p.Status.Phase == corev1.PodSucceeded, p.Status.Phase == corev1.PodFailed:
		case podReady(p):
			out.Ready++
		default:
			out.Unready++
		}
	}
	return out
}

// podReady says whether a pod takes requests: one that is about to go does not.
func podReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// PodsAt lists the pods that have this IP now; namespace may be empty for all. Ended pods are left out.
func (k *Reader) PodsAt(ctx context.Context, namespace, ip string) ([]PodAddress, error) {
	at := fields.OneTermEqualSelector("status.podIP", ip).String()
	var out []PodAddress
	err := answer.Pages(ctx, func(ctx context.Context, from string) (string, error) {
		list, err := k.typed.CoreV1().
			Pods(namespace).
			List(ctx, metav1.ListOptions{FieldSelector: at, Limit: podPage, Continue: from})
		if err != nil {
			return "", readError(err, "list", corev1.Resource("pods"), namespace)
		}
		for i := range list.Items {
			if !isOver(&list.Items[i]) { // the address of one that is may belong to another pod by now
				out = append(out, addressOf(&list.Items[i]))
			}
		}
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func addressOf(pod *corev1.Pod) PodAddress {
	a := PodAddress{Namespace: pod.Namespace, Name: pod.Name}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			a.Ports = append(a.Ports, p.ContainerPort)
		}
	}
	return a
}
