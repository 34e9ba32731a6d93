package cluster

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// defaultContainer is the annotation by which a pod says which of its containers is meant when none is named
// (kubectl.kubernetes.io).
const defaultContainer = "kubectl.kubernetes.io/default-container"

// engineNames are the containers of a pod whose restarts and ends are the engine's: the one that is named; else those
// that ask for a GPU, else those that look like vLLM, else the one that the pod itself names as its default, else the
// first. So a proxy or an exporter beside the engine that ends is no dead engine. It is a guess where none is named,
// and therefore never used to read or change arguments: see engineContainer.
func engineNames(pod *corev1.Pod, named string) []string {
	all := pod.Spec.Containers
	pick := func(want func(*corev1.Container) bool) []string {
		var out []string
		for i := range all {
			if want(&all[i]) {
				out = append(out, all[i].Name)
			}
		}
		return out
	}
	byDefault := pod.Annotations[defaultContainer]
	for _, want := range []func(*corev1.Container) bool{
		func(c *corev1.Container) bool { return c.Name == named },
		asksForGPU,
		looksLikeVLLM,
		func(c *corev1.Container) bool { return c.Name == byDefault },
	} {
		if found := pick(want); len(found) > 0 {
			return found
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{all[0].Name}
}

// asksForGPU goes by the names of devices: nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915, nvidia.com/mig-1g.5gb.
func asksForGPU(c *corev1.Container) bool {
	for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
		for name, n := range list {
			if !n.IsZero() && isGPU(string(name)) {
				return true
			}
		}
	}
	return false
}

func isGPU(device string) bool {
	return strings.Contains(device, "gpu") || strings.Contains(device, "nvidia.com/mig-")
}

// devices is how many whole GPUs a pod's engines have. A slice of one (MIG) is none.
func devices(pod *corev1.Pod, named string) (n int64) {
	engines := engineNames(pod, named)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		for name, q := range c.Resources.Limits { // a device is always limited: Kubernetes requires it
			if slices.Contains(engines, c.Name) && strings.HasSuffix(string(name), "/gpu") {
				n += q.Value()
			}
		}
	}
	return n
}

// servedAfter is how long a pod took from its start until it was ready; 0 where its engine has started more than once.
func servedAfter(pod *corev1.Pod, named string) time.Duration {
	for _, s := range engineStatuses(pod, named) {
		if s.RestartCount > 0 {
			return 0
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.Status.StartTime != nil &&
			c.LastTransitionTime.After(pod.Status.StartTime.Time) {
			return c.LastTransitionTime.Sub(pod.Status.StartTime.Time)
		}
	}
	return 0
}

func looksLikeVLLM(c *corev1.Container) bool {
	return c.Name == "vllm" || commandLine(c).LooksLikeVLLM()
}

// engineStatuses are the states of those containers.
func engineStatuses(pod *corev1.Pod, named string) []corev1.ContainerStatus {
	names := engineNames(pod, named)
	return slices.DeleteFunc(
		slices.Clone(pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool { return !slices.Contains(names, s.Name) },
	)
}

// failingInits are the init containers that keep the pod from starting now: their last run failed, and they have not
// succeeded since. One that failed once and then did its work is history.
func failingInits(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.DeleteFunc(slices.Clone(pod.Status.InitContainerStatuses), func(s corev1.ContainerStatus) bool {
		if t := s.State.Terminated; t != nil {
			return t.ExitCode == 0
		}
		last := s.LastTerminationState.Terminated
		return last == nil || last.ExitCode == 0 || keepsRunning(pod, s.Name) && s.Started != nil && *s.Started
	})
}

// keepsRunning says whether an init container is a sidecar, which is done with its part when it has started.
func keepsRunning(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
