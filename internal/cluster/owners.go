package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ErrAmbiguous says that several workloads fit. It always comes with incident.ErrNoWorkload.
var ErrAmbiguous = errors.New("more than one fits")

// maxOwners bounds a chain of owners; the longest real ones have four.
const maxOwners = 10

// UnfollowedError says that the owners above a certain one are not known.
type UnfollowedError struct {
	// After is the last owner that was read, or the pod.
	After incident.WorkloadRef
	// Unread is its owner, which is there as far as is known and could not be read; zero where that is not what is in the
	// way.
	Unread incident.WorkloadRef
	Err    error
}

// Error names the last owner and what is in the way.
func (e *UnfollowedError) Error() string {
	if !e.Unread.IsZero() {
		return fmt.Sprintf("%s, which owns %s, can't be read: %s", e.Unread, e.After, e.Err)
	}
	return fmt.Sprintf("the owners above %s are not known: %s", e.After, e.Err)
}

// Unwrap returns what is in the way.
func (e *UnfollowedError) Unwrap() error { return e.Err }

// CanNamePod says whether a pod can have this name in a namespace of this name at all.
func CanNamePod(namespace, name string) bool {
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// Owners follows a pod's owner references: the nearest owner first, the top one last; a pod without an owner is its
// own. The owners that were read come with the error too, which is *UnfollowedError when the pod is there; it is
// incident.ErrNoWorkload when the pod or an owner does not exist, and incident.ErrUnanswered when the API server did
// not answer.
func (k *Reader) Owners(ctx context.Context, namespace, pod string) ([]incident.WorkloadRef, error) {
	here := incident.WorkloadRef{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: pod}
	p, err := k.typed.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return nil, objectError(err, corev1.Resource("pods"), here)
	}
	var chain []incident.WorkloadRef
	refs := p.OwnerReferences
	for {
		next, above, err := k.owner(ctx, here, refs)
		switch {
		case err == nil && next.IsZero():
			if len(chain) == 0 {
				chain = append(chain, here)
			}
			return chain, nil
		case err == nil && len(chain) == maxOwners:
			err = fmt.Errorf("%w: there are more than %d", incident.ErrNoWorkload, maxOwners)
		}
		if err != nil {
			if errors.Is(err, incident.ErrNoWorkload) {
				next = incident.WorkloadRef{}
			}
			return chain, &UnfollowedError{After: here, Unread: next, Err: k.ofOneKind(ctx, err, namespace, pod)}
		}
		chain, here, refs = append(chain, next), next, above
	}
}

// ofOneKind makes an answer of an error of the API server that concerns one kind only: a conversion webhook or an API
// service of its operator is away, for hours perhaps, while the pod can be read as before. That may not stop what is
// asked about other objects.
func (k *Reader) ofOneKind(ctx context.Context, err error, namespace, pod string) error {
	silent, ok := errors.AsType[*incident.UnansweredError](err)
	var status apierrors.APIStatus
	if !ok || !errors.As(err, &status) || status.Status().Code < http.StatusInternalServerError {
		return err
	}
	if _, again := k.typed.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{}); again != nil {
		return err
	}
	return silent.Err
}

// owner reads the owner among the references of an object, and that one's own references; the zero WorkloadRef at the
// top. With an error it is the owner that could not be read, if one is named.
func (k *Reader) owner(
	ctx context.Context,
	of incident.WorkloadRef,
	refs []metav1.OwnerReference,
) (incident.WorkloadRef, []metav1.OwnerReference, error) {
	owner, several := OwnerAmong(refs)
	if several {
		err := fmt.Errorf(
			"%w: %w: %s has %d owners and none of them is its controller",
			incident.ErrNoWorkload,
			ErrAmbiguous,
			of,
			len(refs),
		)
		return incident.WorkloadRef{}, nil, err
	}
	if owner == nil {
		return incident.WorkloadRef{}, nil, nil
	}
	ref := incident.WorkloadRef{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: of.Namespace, Name: owner.Name}
	obj, _, err := k.get(ctx, ref)
	if err != nil {
		return ref, nil, err
	}
	if obj.GetUID() != owner.UID {
		return incident.WorkloadRef{}, nil, fmt.Errorf(
			"%w: %s was replaced by another object of that name, and %s belongs to the old one",
			incident.ErrNoWorkload,
			ref,
			of,
		)
	}
	return ref, obj.GetOwnerReferences(), nil
}

// OwnerAmong is the owner among the references of an object: its controller, or the only one. It is nil at the top, and
// where several own the object and none of them controls it, which several says. A Node above a static pod is no owner.
func OwnerAmong(refs []metav1.OwnerReference) (owner *metav1.OwnerReference, several bool) {
	if c := metav1.GetControllerOf(&metav1.ObjectMeta{OwnerReferences: refs}); c != nil {
		if c.Kind == "Node" && c.APIVersion == "v1" {
			return nil, false
		}
		return c, false
	}
	if len(refs) == 1 {
		return &refs[0], false
	}
	return nil, len(refs) > 1
}

// objectError is readError with "not found" as incident.ErrNoWorkload.
func objectError(err error, gr schema.GroupResource, ref incident.WorkloadRef) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %s does not exist", incident.ErrNoWorkload, ref)
	}
	return readError(err, "get", gr, ref.Namespace)
}

// hasNoScale says that a kind has no scale subresource.
func hasNoScale(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}
