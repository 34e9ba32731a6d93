package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ErrGone says that an object does not exist. It always comes with a *incident.RefusedError.
var ErrGone = errors.New("not found")

// Reader reads objects and asks for permissions. It cannot write.
type Reader struct {
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
	reviews   authorization.SelfSubjectAccessReviewInterface
}

// Clients are the connections to one cluster.
type Clients struct {
	Reader *Reader
	// DryRun is the Writer whose patches are all dry runs, Live the one whose patches are kept.
	DryRun, Live Writer
}

// Connect returns the connections to a cluster. Nothing is asked yet; rc is not changed.
func Connect(rc *rest.Config) (Clients, error) {
	reads := restrict(rc, dryRunOnly)
	dyn, err := dynamic.NewForConfig(reads)
	if err != nil {
		return Clients{}, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(reads)
	if err != nil {
		return Clients{}, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	auth, err := authorization.NewForConfig(reads)
	if err != nil {
		return Clients{}, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	live, err := dynamic.NewForConfig(restrict(rc, patchOnly))
	if err != nil {
		return Clients{}, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	return Clients{
		Reader: &Reader{dynamic: dyn, discovery: disco, reviews: auth.SelfSubjectAccessReviews()},
		DryRun: Writer{client: dyn, dryRun: true}, Live: Writer{client: live},
	}, nil
}

// Get reads an object, or one of its subresources. That it does not exist is ErrGone.
func (c *Reader) Get(
	ctx context.Context, r schema.GroupVersionResource, ref incident.WorkloadRef, subresource ...string,
) (*unstructured.Unstructured, error) {
	o, err := c.dynamic.Resource(r).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{}, subresource...)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %w", ErrGone, &incident.RefusedError{Reason: fmt.Sprintf("%s does not exist", ref)})
	}
	if err != nil {
		return nil, readError(err, Right{
			Verb: "get", Group: r.Group, Resource: r.Resource, Subresource: strings.Join(subresource, "/"),
			Namespace: ref.Namespace, Name: ref.Name,
		})
	}
	return o, nil
}

// List reads the objects of a kind in a namespace; in all of them when it is empty.
func (c *Reader) List(
	ctx context.Context, r schema.GroupVersionResource, namespace string,
) ([]unstructured.Unstructured, error) {
	return c.Select(ctx, r, namespace, "")
}

// listPage is how many objects of a list are asked for at one time.
const listPage = 500

// Select reads the objects of a kind that have the labels. That they are more than is read is *answer.TooLargeError.
func (c *Reader) Select(
	ctx context.Context, r schema.GroupVersionResource, namespace, labels string,
) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	err := answer.Pages(ctx, func(ctx context.Context, from string) (string, error) {
		l, err := c.dynamic.Resource(r).
			Namespace(namespace).
			List(ctx, metav1.ListOptions{LabelSelector: labels, Limit: listPage, Continue: from})
		if err != nil {
			return "", readError(err, Right{Verb: "list", Group: r.Group, Resource: r.Resource, Namespace: namespace})
		}
		out = append(out, l.Items...)
		return l.GetContinue(), nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Installed lists the objects of a kind that a cluster need not have; then there are none.
func (c *Reader) Installed(
	ctx context.Context, r schema.GroupVersionResource, kind, namespace string,
) ([]unstructured.Unstructured, error) {
	at, found, err := c.Kind(ctx, r.GroupVersion().String(), kind)
	if err != nil || !found {
		return nil, err
	}
	return c.List(ctx, at, namespace)
}

// readError says what could not be read. A missing right is a refusal, because a person has to grant it.
func readError(err error, r Right) error {
	if apierrors.IsForbidden(err) {
		return &incident.RefusedError{
			Cause: incident.CauseRight, Reason: Lacks(r),
			Hint: "Grant it to the bot; the page of each knob in docs/actions lists the rights that it needs.",
		}
	}
	if tooLarge, ok := errors.AsType[*answer.TooLargeError](err); ok {
		err = tooLarge // client-go's words around it say that the request be sent again
	}
	return fmt.Errorf("%s: %w", r, err)
}

// Kind finds where the objects of a kind are. found is false when this cluster has no such kind; that it cannot be
// asked is an error. It asks each time: kinds come and go with the operators that bring them.
func (c *Reader) Kind(
	ctx context.Context, apiVersion, kind string,
) (r schema.GroupVersionResource, found bool, err error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" {
		return r, false, &incident.RefusedError{
			Reason: fmt.Sprintf("the apiVersion of %s cannot be read: %q", kind, apiVersion),
		}
	}
	list, err := c.discovery.ServerResourcesForGroupVersionWithContext(ctx, apiVersion)
	if apierrors.IsNotFound(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("ask which kinds %s has: %w", apiVersion, err)
	}
	for _, known := range list.APIResources {
		if known.Kind == kind && known.Namespaced && !strings.Contains(known.Name, "/") {
			return gv.WithResource(known.Name), true, nil
		}
	}
	return r, false, nil
}

// Resource is Kind for one that has to be there.
func (c *Reader) Resource(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error) {
	r, found, err := c.Kind(ctx, apiVersion, kind)
	if err == nil && !found {
		return r, &incident.RefusedError{Reason: fmt.Sprintf("this cluster has no kind %s in %s", kind, apiVersion)}
	}
	return r, err
}

// Workload is where a pool's workload is, for a right. The cluster is asked only about kinds that are not Kubernetes'
// own.
func (c *Reader) Workload(ctx context.Context, w incident.WorkloadRef) (Place, error) {
	r, own := ownKind(w.APIVersion, w.Kind)
	if !own {
		var err error
		if r, err = c.Resource(ctx, w.APIVersion, w.Kind); err != nil {
			return Place{}, err
		}
	}
	return Place{Resource: r, Namespace: w.Namespace, Name: w.Name}, nil
}
