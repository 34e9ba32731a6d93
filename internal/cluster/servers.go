package cluster

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Server is a pod that seems to run vLLM, or that somebody asked for by its address.
type Server struct {
	Namespace, Pod, IP string
	Labels             map[string]string
	// Owners are those that could be read: the nearest first, the top one last.
	Owners []incident.WorkloadRef
	// Unfollowed says why the owners above these are not known; nil when they are.
	Unfollowed error
	// Scaler is the object by which the operator above lets its pods be scaled; zero where none was seen. Unscaled says
	// why that is not known.
	Scaler   incident.WorkloadRef
	Unscaled error
	// Containers are those that seem to run vLLM. Where none does, they are all of the pod's, and Guessed says so.
	Containers []string
	Guessed    bool
	// ModelNames are those that vLLM's command line gives, the one that its metrics carry first; a guess.
	ModelNames []string
}

// Servers lists the pods of these namespaces, or of all when there are none, that seem to run vLLM, and those that also
// wants. Pods that have ended, and those of Jobs, are left out. An error says that pods could not be listed at all;
// what is not known of a single pod stands at it.
func (k *Reader) Servers(
	ctx context.Context, namespaces []string, also func(namespace, pod, ip string) bool,
) ([]Server, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var out []Server
	chains, scalers := map[types.UID]chain{}, map[string]objectList{}
	for _, namespace := range namespaces {
		err := k.eachPod(ctx, namespace, func(pod *corev1.Pod) {
			if s, is := serverOf(pod); is || !isOver(pod) && also(pod.Namespace, pod.Name, pod.Status.PodIP) {
				s.Owners, s.Unfollowed = k.ownersOnce(ctx, pod, chains)
				s.Scaler, s.Unscaled = k.scalerAbove(ctx, s, scalers)
				out = append(out, s)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(out, func(s Server) bool { return ofJob(s.Owners) }), nil
}

// eachPod hands over the pods of a namespace, page by page, and keeps none. A page that is too large is asked for in
// smaller ones.
func (k *Reader) eachPod(ctx context.Context, namespace string, do func(*corev1.Pod)) error {
	opts := metav1.ListOptions{Limit: 2 * podPage}
	for {
		page, err := k.typed.CoreV1().Pods(namespace).List(ctx, opts)
		if _, tooLarge := errors.AsType[*answer.TooLargeError](err); tooLarge && opts.Limit > 1 {
			opts.Limit /= 2
			continue
		}
		if err != nil {
			return readError(err, "list", corev1.Resource("pods"), namespace)
		}
		for i := range page.Items {
			do(&page.Items[i])
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// serverOf is what a pod itself says; is says that it seems to run vLLM.
func serverOf(pod *corev1.Pod) (s Server, is bool) {
	s = Server{Namespace: pod.Namespace, Pod: pod.Name, IP: pod.Status.PodIP, Labels: pod.Labels}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		line := commandLine(c)
		if !line.LooksLikeVLLM() {
			continue
		}
		s.Containers = append(s.Containers, c.Name)
		if len(s.ModelNames) == 0 {
			s.ModelNames = line.ModelNames()
		}
	}
	if len(s.Containers) > 0 {
		return s, !isOver(pod)
	}
	s.Guessed = true
	for _, c := range pod.Spec.Containers {
		s.Containers = append(s.Containers, c.Name)
	}
	return s, false
}

func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// chain are the owners of pods that share the nearest of them.
type chain struct {
	refs []incident.WorkloadRef
	err  error
}

// ownersOnce is Owners, asked once for all pods of one owner.
func (k *Reader) ownersOnce(
	ctx context.Context, pod *corev1.Pod, known map[types.UID]chain,
) ([]incident.WorkloadRef, error) {
	owner, _ := OwnerAmong(pod.OwnerReferences)
	if owner == nil {
		return k.Owners(ctx, pod.Namespace, pod.Name)
	}
	c, ok := known[owner.UID]
	if !ok {
		c.refs, c.err = k.Owners(ctx, pod.Namespace, pod.Name)
		known[owner.UID] = c
	}
	return c.refs, c.err
}

// ofJob says that a pod runs to its end: a benchmark or a batch, which serves nobody.
func ofJob(owners []incident.WorkloadRef) bool {
	return slices.ContainsFunc(owners, func(o incident.WorkloadRef) bool {
		return Group(o.APIVersion) == "batch"
	})
}
