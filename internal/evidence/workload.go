package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Cluster implements Kube.
func (k *kubeClient) Cluster(ctx context.Context, ref incident.WorkloadRef, now time.Time) incident.Cluster {
	out := incident.Cluster{Workload: ref}
	obj, mapping, err := k.get(ctx, ref)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	var (
		wg                            sync.WaitGroup
		podsErr, scalerErr, eventsErr error
		a                             = around{ref: ref, obj: obj, now: now}
	)
	wg.Go(func() { a.scaler, scalerErr = k.autoscaler(ctx, ref) })
	sel, scaleErr := k.shape(ctx, obj, mapping, &out)
	if scaleErr == nil || sel != nil {
		a.pods, podsErr = k.pods(ctx, ref, sel)
	}
	wg.Wait()
	a.sel, out.Pods, out.Autoscaler, out.Args = sel, podsFacts(a.pods, ref.Container), a.scaler.String(), a.args()
	wg.Go(func() { out.Events, eventsErr = k.events(ctx, ref, out.Pods, now) })
	// Who scales it is context here: a step that scales asks for itself.
	out.Unread = unread(unreadPart{"the autoscaler and its recent scaling", scalerErr})
	if a.pods == nil {
		out.Unread = append(out.Unread, unread(unreadPart{"crashes, and events of the nodes", errors.Join(scaleErr, podsErr)})...)
	}
	k.changes(ctx, a, &out)
	wg.Wait()
	out.Unread = append(out.Unread, unread(unreadPart{"recent warnings", eventsErr})...)
	out.Error = oneLine(errors.Join(scaleErr, podsErr))
	return out
}

// get reads the workload itself, of whatever kind.
func (k *kubeClient) get(ctx context.Context, ref incident.WorkloadRef) (*unstructured.Unstructured, *meta.RESTMapping, error) {
	m, err := k.kinds.mapping(ref.APIVersion, ref.Kind)
	if err != nil {
		return nil, nil, mapError(err, ref.APIVersion, ref.Kind)
	}
	obj, err := k.resource(m, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, objectError(err, m.Resource.GroupResource(), ref)
	}
	return obj, m, nil
}

func (k *kubeClient) resource(m *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return k.dynamic.Resource(m.Resource)
	}
	return k.dynamic.Resource(m.Resource).Namespace(namespace)
}

// shape fills in replicas and rollout, and returns the selector of the workload's pods; nil when the kind has none. Kinds that do not hold them in
// the usual fields are asked for their scale subresource.
func (k *kubeClient) shape(ctx context.Context, obj *unstructured.Unstructured, m *meta.RESTMapping, out *incident.Cluster) (labels.Selector, error) {
	out.RolloutRunning = rolloutRunning(obj)
	out.Replicas = number(obj, "spec", "replicas")
	out.ReadyReplicas = number(obj, "status", "readyReplicas")
	if out.ReadyReplicas == nil && out.Replicas != nil {
		out.ReadyReplicas = new(int64) // the API server leaves the field out while it is zero
	}
	sel, err := selectorOf(obj)
	if err != nil || sel != nil && out.Replicas != nil {
		return sel, err
	}
	scale, err := k.resource(m, obj.GetNamespace()).Get(ctx, obj.GetName(), metav1.GetOptions{}, "scale")
	if hasNoScale(err) {
		return sel, nil
	}
	if err != nil {
		gr := m.Resource.GroupResource()
		gr.Resource += "/scale"
		return sel, readError(err, "get", gr, obj.GetNamespace())
	}
	if out.Replicas == nil {
		out.Replicas = number(scale, "spec", "replicas")
	}
	if sel == nil {
		return scaleSelector(scale)
	}
	return sel, nil
}

// selectorOf reads spec.selector in its two shapes. A LeaderWorkerSet's own selector covers leaders only, so its label is used.
func selectorOf(obj *unstructured.Unstructured) (labels.Selector, error) {
	if obj.GetKind() == "LeaderWorkerSet" {
		return labels.SelectorFromSet(labels.Set{"leaderworkerset.sigs.k8s.io/name": obj.GetName()}), nil
	}
	if obj.GetKind() == "Pod" {
		return nil, nil
	}
	m, found, err := unstructured.NestedMap(obj.Object, "spec", "selector")
	if err != nil || !found || len(m) == 0 {
		return nil, nil //nolint:nilerr // another shape of the field: the scale subresource is asked instead
	}
	var ls metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &ls); err != nil {
		return nil, fmt.Errorf("the selector of %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	if len(ls.MatchLabels) == 0 && len(ls.MatchExpressions) == 0 {
		return nil, nil // an empty selector would take every pod of the namespace
	}
	sel, err := metav1.LabelSelectorAsSelector(&ls)
	if err != nil {
		return nil, fmt.Errorf("the selector of %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return sel, nil
}

// scaleSelector is nil when the scale says nothing about pods.
func scaleSelector(scale *unstructured.Unstructured) (labels.Selector, error) {
	selector := text(scale, "status", "selector")
	if selector == "" {
		return nil, nil
	}
	sel, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("the selector in the scale of %s: %w", scale.GetName(), err)
	}
	return sel, nil
}

// oneLine joins errors.Join's lines.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}
