package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// maxStrangers bounds how many pods are read by name.
const maxStrangers = 16

// Named reads pods that are not a workload's, by their names. Pods that are not there any more are left out. More pods
// than can be read one by one are an error, and so is what Kubernetes did not answer.
func (k *Reader) Named(ctx context.Context, namespace string, pods []string) ([]incident.Pod, error) {
	if len(pods) > maxStrangers {
		return nil, fmt.Errorf("%d pods of %s are not the workload's, and at most %d are read", len(pods), namespace,
			maxStrangers)
	}
	var out []incident.Pod
	var errs []error
	for _, name := range pods {
		if !CanNamePod(namespace, name) {
			continue
		}
		pod, err := k.typed.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, readError(err, "get", corev1.Resource("pods"), namespace))
		default:
			out = append(out, podFacts(pod, ""))
		}
	}
	return out, errors.Join(errs...)
}
