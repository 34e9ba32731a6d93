package evidence

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ErrNoWorkload says that it was looked and that no workload is there. Asking again gives the same until something changes. Any other error
// means that it could not be asked.
var ErrNoWorkload = errors.New("no workload")

// ErrAmbiguous says that several workloads fit. It always comes with ErrNoWorkload.
var ErrAmbiguous = errors.New("more than one fits")

// maxOwners bounds a chain of owners; the longest real ones have four.
const maxOwners = 10

// Owners implements Kube.
func (k *kubeClient) Owners(ctx context.Context, namespace, pod string) ([]incident.WorkloadRef, error) {
	here := incident.WorkloadRef{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: pod}
	p, err := k.typed.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return nil, objectError(err, corev1.Resource("pods"), here)
	}
	var chain []incident.WorkloadRef
	refs := p.OwnerReferences
	for {
		owner, err := onlyOwner(here, refs)
		if err != nil {
			return nil, err
		}
		if owner == nil {
			break
		}
		if len(chain) == maxOwners {
			return nil, fmt.Errorf("%w: %s in namespace %s has more than %d owners above it", ErrNoWorkload, pod, namespace, maxOwners)
		}
		here = incident.WorkloadRef{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: namespace, Name: owner.Name}
		obj, _, err := k.get(ctx, here)
		if err != nil {
			return nil, fmt.Errorf("follow the owners of pod %s/%s: %w", namespace, pod, err)
		}
		if obj.GetUID() != owner.UID {
			return nil, fmt.Errorf("%w: %s was replaced by another object of that name, pod %s/%s belongs to the old one", ErrNoWorkload, here, namespace, pod)
		}
		chain = append(chain, here)
		refs = obj.GetOwnerReferences()
	}
	if len(chain) == 0 {
		chain = append(chain, here)
	}
	return chain, nil
}

// onlyOwner returns the controller, or the only owner; nil at the top. A Node above a static pod is no workload.
func onlyOwner(of incident.WorkloadRef, refs []metav1.OwnerReference) (*metav1.OwnerReference, error) {
	if c := metav1.GetControllerOf(&metav1.ObjectMeta{OwnerReferences: refs}); c != nil {
		if c.Kind == "Node" && c.APIVersion == "v1" {
			return nil, nil
		}
		return c, nil
	}
	switch len(refs) {
	case 0:
		return nil, nil
	case 1:
		return &refs[0], nil
	}
	return nil, fmt.Errorf("%w: %w: %s has %d owners and none of them is its controller", ErrNoWorkload, ErrAmbiguous, of, len(refs))
}

// objectError is readError with "not found" as ErrNoWorkload.
func objectError(err error, gr schema.GroupResource, ref incident.WorkloadRef) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %s does not exist", ErrNoWorkload, ref)
	}
	return readError(err, "get", gr, ref.Namespace)
}

// hasNoScale says that a kind has no scale subresource.
func hasNoScale(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}
