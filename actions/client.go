package actions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authz "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// requestTimeout bounds one request.
const requestTimeout = 15 * time.Second

// client asks and changes the cluster. One with dryOnly cannot send a write that is not a dry-run.
type client struct {
	dryOnly bool
	dynamic dynamic.Interface
	typed   kubernetes.Interface

	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newClient(rc *rest.Config, qps float32, dryOnly bool) (*client, error) {
	rc = rest.CopyConfig(rc)
	rc.QPS, rc.Burst, rc.Timeout, rc.RateLimiter = qps, int(2*qps), requestTimeout, nil
	if dryOnly {
		rc.Wrap(func(rt http.RoundTripper) http.RoundTripper { return dryTransport{rt} })
	}
	dyn, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	typed, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("actions: kubernetes client: %w", err)
	}
	return &client{dryOnly: dryOnly, dynamic: dyn, typed: typed, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// dryTransport makes "a drill writes nothing" a property of the connection: a writing verb leaves only as a server-side dry-run or as a review of rights.
type dryTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d dryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	review := r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/apis/authorization.k8s.io/")
	if r.Method != http.MethodGet && !review && r.URL.Query().Get("dryRun") != metav1.DryRunAll {
		return nil, fmt.Errorf("refused: this is a drill, and %s %s would write", r.Method, r.URL.Path)
	}
	return d.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport below.
func (d dryTransport) WrappedRoundTripper() http.RoundTripper { return d.next }

// resource finds the resource of a kind. A kind that is not known is looked for once more, because it may be new.
func (c *client) resource(apiVersion, kind string) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionResource{}, &incident.RefusedError{Reason: fmt.Sprintf("apiVersion %q cannot be read", apiVersion)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gk := schema.GroupKind{Group: gv.Group, Kind: kind}
	m, err := c.mapper.RESTMapping(gk, gv.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		m, err = c.mapper.RESTMapping(gk, gv.Version)
	}
	switch {
	case meta.IsNoMatchError(err):
		return schema.GroupVersionResource{}, &incident.RefusedError{Reason: fmt.Sprintf("the cluster does not know the kind %s of %s", kind, apiVersion)}
	case err != nil:
		return schema.GroupVersionResource{}, fmt.Errorf("find the kind %s: %w", kind, err)
	}
	return m.Resource, nil
}

// get reads an object. What a person has to do something about is a *incident.RefusedError.
func (c *client) get(ctx context.Context, r schema.GroupVersionResource, ns, name string, sub ...string) (*unstructured.Unstructured, error) {
	o, err := c.dynamic.Resource(r).Namespace(ns).Get(ctx, name, metav1.GetOptions{}, sub...)
	what := fmt.Sprintf("%s %s/%s", strings.Join(append([]string{r.Resource}, sub...), "/"), ns, name)
	switch {
	case err == nil:
		return o, nil
	case apierrors.IsNotFound(err):
		return nil, &notFoundError{what}
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, &incident.RefusedError{Reason: "the bot may not read " + what}
	default:
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
}

// notFoundError says that an object is not there.
type notFoundError struct{ what string }

// Error names the object.
func (e *notFoundError) Error() string { return e.what + " does not exist" }

// As makes it a refusal for those who do not care why.
func (e *notFoundError) As(target any) bool {
	if r, ok := target.(**incident.RefusedError); ok {
		*r = &incident.RefusedError{Reason: e.Error()}
		return true
	}
	return false
}

// list reads the objects of a kind in a namespace.
func (c *client) list(ctx context.Context, r schema.GroupVersionResource, ns string) ([]unstructured.Unstructured, error) {
	l, err := c.dynamic.Resource(r).Namespace(ns).List(ctx, metav1.ListOptions{})
	switch {
	case err == nil:
		return l.Items, nil
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, &incident.RefusedError{Reason: fmt.Sprintf("the bot may not list %s in %s, so it is not known who owns the replicas", r.Resource, ns)}
	default:
		return nil, fmt.Errorf("list %s in %s: %w", r.Resource, ns, err)
	}
}

// patch sends one JSON Patch, once.
func (c *client) patch(ctx context.Context, f field, ops []patchOp, dryRun bool) error {
	b, err := json.Marshal(ops)
	if err != nil {
		return &incident.RefusedError{Reason: "the patch cannot be written: " + err.Error()}
	}
	opts := metav1.PatchOptions{FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict}
	if dryRun || c.dryOnly {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	var sub []string
	if f.subresource != "" {
		sub = []string{f.subresource}
	}
	_, err = c.dynamic.Resource(f.resource).Namespace(f.object.GetNamespace()).Patch(ctx, f.object.GetName(), types.JSONPatchType, b, opts, sub...)
	return err
}

// mayPatch asks whether the bot has the right to write the field.
func (c *client) mayPatch(ctx context.Context, f field) (bool, string, error) {
	review := &authz.SelfSubjectAccessReview{Spec: authz.SelfSubjectAccessReviewSpec{ResourceAttributes: &authz.ResourceAttributes{
		Verb: "patch", Group: f.resource.Group, Version: f.resource.Version, Resource: f.resource.Resource, Subresource: f.subresource,
		Namespace: f.object.GetNamespace(), Name: f.object.GetName(),
	}}}
	got, err := c.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, "", fmt.Errorf("ask for the bot's own rights: %w", err)
	}
	why := ""
	if got.Status.Reason != "" {
		why = " (" + got.Status.Reason + ")"
	}
	return got.Status.Allowed && !got.Status.Denied, why, nil
}

// definite says whether an error of a write promises that nothing was written. A time-out, a broken connection or an error within the server does not.
func definite(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsUnsupportedMediaType(err) || apierrors.IsTooManyRequests(err)
}
