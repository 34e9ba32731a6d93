package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// Cluster reads a workload, its pods, its autoscaler and their recent warnings. What could not be read is named in
// Error, the rest is filled in. It also reads what changed lately and the ends of crashed containers' logs; what of
// these could not be read is named in Unread only. No text in it holds a secret that can be recognised as one. now is
// for the age of events and changes; knobs say what the engine uses where an argument is certainly not given.
func (k *Reader) Cluster(
	ctx context.Context, ref incident.WorkloadRef, now time.Time, knobs incident.ArgumentKnobs,
) incident.Cluster {
	out := incident.Cluster{Workload: ref}
	obj, mapping, err := k.get(ctx, ref)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	var (
		wg                            rescue.Group
		podsErr, scalerErr, eventsErr error
		a                             = around{ref: ref, obj: obj, now: now}
	)
	wg.Go(func() { a.scalers, scalerErr = k.autoscalers(ctx, ref, obj) })
	sel, leaders, scaleErr := k.shape(ctx, obj, mapping, &out)
	if scaleErr == nil || sel != nil {
		a.pods, podsErr = k.pods(ctx, ref, sel)
	}
	wg.Wait()
	a.sel, out.Pods, out.Autoscaler = sel, podsFacts(a.pods, ref.Container), autoscalerNames(a.scalers)
	out.Args = a.args(knobs)
	wg.Go(func() { out.Events, eventsErr = k.events(ctx, ref, out.Pods, now) })
	// Who scales it is context here: a step that scales asks for itself.
	out.Unread = append(out.Unread, unread(unreadPart{incident.PartAutoscaler, scalerErr})...)
	if no, ok := errors.AsType[*noSelectorError](podsErr); ok { // that is how the kind is, and no failure
		out.Podless, podsErr = no.Error(), nil
		out.Unread = append(out.Unread, incident.Unread{Part: incident.PartCrashes, Why: out.Podless})
	} else if a.pods == nil {
		out.Unread = append(out.Unread, unread(unreadPart{incident.PartCrashes, errors.Join(scaleErr, podsErr)})...)
	}
	if out.ReadyReplicas == nil && leaders != nil {
		readyErr := podsErr
		if leaders.String() != sel.String() {
			out.ReadyReplicas, readyErr = k.ready(ctx, ref, leaders)
		} else if podsErr == nil {
			out.ReadyReplicas = countReady(out.Pods)
		}
		out.Unread = append(out.Unread, unread(unreadPart{incident.PartReady, readyErr})...)
	}
	k.changes(ctx, a, &out)
	wg.Wait()
	out.Unread = append(out.Unread, unread(unreadPart{incident.PartWarnings, eventsErr})...)
	out.Error = oneLine(errors.Join(scaleErr, podsErr))
	return out
}

// get reads the workload itself, of whatever kind.
func (k *Reader) get(
	ctx context.Context,
	ref incident.WorkloadRef,
) (*unstructured.Unstructured, *meta.RESTMapping, error) {
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

func (k *Reader) resource(m *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return k.dynamic.Resource(m.Resource)
	}
	return k.dynamic.Resource(m.Resource).Namespace(namespace)
}

// shape fills in replicas and rollout, and returns the selector of the workload's pods, and that of the pods that stand
// for one replica each, as its scale has it; nil when the kind has none. Kinds that do not hold these in the usual
// fields are asked for their scale subresource.
func (k *Reader) shape(
	ctx context.Context,
	obj *unstructured.Unstructured,
	m *meta.RESTMapping,
	out *incident.Cluster,
) (sel, leaders labels.Selector, err error) {
	out.Replicas, out.ReadyReplicas = Number(obj, "spec", "replicas"), ReadyReplicas(obj)
	defer func() { out.RolloutRunning = rolloutRunning(obj, out.Replicas) }()
	sel, err = selectorOf(obj)
	if err != nil || sel != nil && out.Replicas != nil && out.ReadyReplicas != nil {
		return sel, nil, err
	}
	scale, err := k.resource(m, obj.GetNamespace()).Get(ctx, obj.GetName(), metav1.GetOptions{}, "scale")
	if hasNoScale(err) {
		return sel, nil, nil
	}
	if out.Replicas == nil && replicasUnset(err) {
		out.Replicas = new(int64(1))
		if sel == nil {
			err = fmt.Errorf(
				"%s %s/%s does not set its number of replicas, which means 1, and its pods cannot be found until it does",
				obj.GetKind(),
				obj.GetNamespace(),
				obj.GetName(),
			)
			return nil, nil, err
		}
		return sel, nil, nil
	}
	if err != nil {
		gr := m.Resource.GroupResource()
		gr.Resource += "/scale"
		err = readError(err, "get", gr, obj.GetNamespace())
		if sel != nil && out.Replicas != nil { // only how many are ready is missing
			out.Unread = append(out.Unread, unread(unreadPart{incident.PartReady, err})...)
			return sel, nil, nil
		}
		return sel, nil, err
	}
	if out.Replicas == nil {
		n, err := ScaleReplicas(scale)
		if err != nil {
			return sel, nil, fmt.Errorf("the scale of %s %s/%s: %w", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err)
		}
		out.Replicas = &n
	}
	if leaders, err = scaleSelector(scale); err != nil {
		return sel, nil, err
	}
	if sel == nil {
		sel = leaders
	}
	return sel, leaders, nil
}

// replicasUnset says that a scale cannot be read because the object has no number of replicas: the API server answers
// that with an internal error (apiextensions-apiserver pkg/registry/customresource/etcd.go).
func replicasUnset(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "the spec replicas field")
}

// ReadyReplicas is how many replicas an object says are ready; nil when it does not say it. Kubernetes' own kinds leave
// the field out while it is zero; of any other kind an absent one says nothing. A KubeAI Model has it in a place of its
// own.
func ReadyReplicas(o *unstructured.Unstructured) *int64 {
	if Group(o.GetAPIVersion()) == "apps" && Number(o, "spec", "replicas") != nil {
		return new(Count(o, "status", "readyReplicas"))
	}
	for _, path := range [][]string{
		{"status", "readyReplicas"}, {"status", "availableReplicas"}, {"status", "replicas", "ready"},
	} {
		if n := Number(o, path...); n != nil {
			return n
		}
	}
	return nil
}

// ScaleReplicas reads spec.replicas of a Scale, which is left out while it is zero (k8s.io/api autoscaling/v1).
func ScaleReplicas(scale *unstructured.Unstructured) (int64, error) {
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return n, err
}

// ready counts the ready pods among those that stand for one replica each.
func (k *Reader) ready(ctx context.Context, ref incident.WorkloadRef, leaders labels.Selector) (*int64, error) {
	pods, err := k.pods(ctx, ref, leaders)
	if err != nil {
		return nil, err
	}
	return countReady(podsFacts(pods, ref.Container)), nil
}

func countReady(pods []incident.Pod) *int64 {
	n := new(int64)
	for _, p := range pods {
		if p.Ready {
			*n++
		}
	}
	return n
}

// selectorOf reads spec.selector in its two shapes. A LeaderWorkerSet's own selector covers leaders only and KubeAI's
// Model has none, so their labels are used.
func selectorOf(obj *unstructured.Unstructured) (labels.Selector, error) {
	if obj.GetKind() == "LeaderWorkerSet" {
		return labels.SelectorFromSet(labels.Set{"leaderworkerset.sigs.k8s.io/name": obj.GetName()}), nil
	}
	if IsModel(obj) {
		return labels.SelectorFromSet(labels.Set{"model": obj.GetName()}), nil
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
	selector := Text(scale, "status", "selector")
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
