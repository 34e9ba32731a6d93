package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// errGone says that an object does not exist. It always comes with a *incident.RefusedError.
var errGone = errors.New("not found")

// kube reads and tries out. It cannot write.
type kube struct {
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
	reviews   authorization.SelfSubjectAccessReviewInterface
	dry       writer
}

// gated returns a copy of a client configuration whose connections let through what their gate lets.
func gated(rc *rest.Config, live bool) *rest.Config {
	rc = rest.CopyConfig(rc)
	rc.WarningHandler = rest.NoWarnings{} // client-go would print them to standard error
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return gate{next: next, live: live} })
	return rc
}

func newKube(rc *rest.Config) (*kube, error) {
	rc = gated(rc, false)
	dyn, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	auth, err := authorization.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	return &kube{
		dynamic: dyn, discovery: disco, reviews: auth.SelfSubjectAccessReviews(), dry: writer{client: dyn, dryRun: true},
	}, nil
}

// writer sends patches: real ones, or with dryRun none that is kept.
type writer struct {
	client dynamic.Interface
	dryRun bool
}

// newWriter returns the one writer whose patches are kept.
func newWriter(rc *rest.Config) (writer, error) {
	dyn, err := dynamic.NewForConfig(gated(rc, true))
	if err != nil {
		return writer{}, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	return writer{client: dyn}, nil
}

// patch sends one JSON Patch, once, and returns the object that the API server answers with.
func (w writer) patch(ctx context.Context, at live, ops []operation) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, &incident.RefusedError{Reason: "the patch cannot be written down: " + err.Error()}
	}
	opts := metav1.PatchOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict}
	if w.dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	var sub []string
	if at.subresource != "" {
		sub = []string{at.subresource}
	}
	return w.client.Resource(at.resource).Namespace(at.target.Namespace).Patch(ctx, at.target.Name, types.JSONPatchType, body, opts, sub...)
}

// get reads an object. That it is not there is errGone.
func (c *kube) get(ctx context.Context, r schema.GroupVersionResource, ref incident.WorkloadRef) (*unstructured.Unstructured, error) {
	o, err := c.dynamic.Resource(r).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %w", errGone, refused("%s does not exist", ref))
	}
	if err != nil {
		return nil, readError(err, right{
			verb: "get", group: r.Group, resource: r.Resource, namespace: ref.Namespace, name: ref.Name,
		})
	}
	return o, nil
}

// list reads the objects of a kind in a namespace.
func (c *kube) list(ctx context.Context, r schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	l, err := c.dynamic.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, readError(err, right{verb: "list", group: r.Group, resource: r.Resource, namespace: namespace})
	}
	return l.Items, nil
}

// readError says what could not be read. A missing right is a refusal, because a person has to grant it.
func readError(err error, r right) error {
	if apierrors.IsForbidden(err) {
		return &incident.RefusedError{Cause: incident.CauseRight, Reason: lacks(r), Hint: "Grant it to the bot; the page of each knob in docs/actions lists the rights that it needs."}
	}
	return fmt.Errorf("%s: %w", r, err)
}

// kind finds where the objects of a kind are. found is false when this cluster has no such kind; that it cannot be asked is an error. It asks each
// time: kinds come and go with the operators that bring them.
func (c *kube) kind(ctx context.Context, apiVersion, kind string) (r schema.GroupVersionResource, found bool, err error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" {
		return r, false, refused("the apiVersion of %s cannot be read: %q", kind, apiVersion)
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

// resource is kind for one that has to be there.
func (c *kube) resource(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error) {
	r, found, err := c.kind(ctx, apiVersion, kind)
	if err == nil && !found {
		return r, refused("this cluster has no kind %s in %s", kind, apiVersion)
	}
	return r, err
}
