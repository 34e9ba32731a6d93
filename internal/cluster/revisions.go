package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxRevisions bounds what is read of a history; Kubernetes keeps ten by default.
const maxRevisions = 100

// maxHistories bounds how many histories one workload may have: an operator's object may own several Deployments.
const maxHistories = 3

// revisionAnnotation is the number that the Deployment controller gives a ReplicaSet.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// history is what a workload's controller keeps of its templates.
type history struct {
	// of has the templates: the workload itself, or a Deployment below it.
	of incident.WorkloadRef
	// running says that a rollout is under way; finished is when the last one ended, zero when that is not known.
	running   bool
	finished  time.Time
	revisions []revision // the oldest first
}

// revision is one template, or several where a workload has more kinds of pods than one.
type revision struct {
	number int64
	// object is what keeps it: a ReplicaSet or a ControllerRevision.
	object  string
	created time.Time
	// renewed is when it became the newest one again; zero when that is not known.
	renewed   time.Time
	templates map[string]*corev1.PodTemplateSpec
}

// histories reads the revisions of a workload: those of the Deployments by which it makes its pods, else its own.
func (k *Reader) histories(
	ctx context.Context,
	ref incident.WorkloadRef,
	obj *unstructured.Unstructured,
	sel labels.Selector,
	pods []corev1.Pod,
) ([]history, error) {
	if sel == nil || obj.GetKind() == "ReplicaSet" {
		return nil, nil
	}
	if obj.GetKind() == "Deployment" {
		sets, err := k.replicaSets(ctx, ref.Namespace, sel)
		out := deploymentHistory(obj, sets)
		return []history{out}, err
	}
	owners := controllers(pods, "ReplicaSet")
	if len(owners) == 0 {
		out, err := k.controllerRevisions(ctx, obj, sel)
		if len(out.revisions) == 0 {
			return nil, err
		}
		return []history{out}, err
	}
	sets, err := k.replicaSets(ctx, ref.Namespace, sel)
	if err != nil {
		return nil, err
	}
	var (
		out  []history
		errs []error
	)
	for _, name := range deploymentsOf(sets, owners) {
		if len(out) == maxHistories {
			return out, errors.Join(
				append(errs, fmt.Errorf("%s has more than %d Deployments, the others were not looked at", ref, maxHistories))...)
		}
		d, _, err := k.get(
			ctx,
			incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ref.Namespace, Name: name},
		)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, deploymentHistory(d, sets))
	}
	return out, errors.Join(errs...)
}

// controllers are the UIDs of the objects of a kind that control pods.
func controllers(pods []corev1.Pod, kind string) map[types.UID]bool {
	out := make(map[types.UID]bool)
	for i := range pods {
		if c := metav1.GetControllerOf(&pods[i]); c != nil && c.Kind == kind {
			out[c.UID] = true
		}
	}
	return out
}

// deploymentsOf names the Deployments above ReplicaSets.
func deploymentsOf(sets []appsv1.ReplicaSet, uids map[types.UID]bool) []string {
	var out []string
	for i := range sets {
		c := metav1.GetControllerOf(&sets[i])
		if uids[sets[i].UID] && c != nil && c.Kind == "Deployment" && !slices.Contains(out, c.Name) {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (k *Reader) replicaSets(ctx context.Context, namespace string, sel labels.Selector) ([]appsv1.ReplicaSet, error) {
	sets, err := k.typed.AppsV1().
		ReplicaSets(namespace).
		List(ctx, metav1.ListOptions{LabelSelector: sel.String(), Limit: maxRevisions})
	if err != nil {
		return nil, readError(err, "list", appsv1.Resource("replicasets"), namespace)
	}
	if sets.Continue != "" {
		return nil, fmt.Errorf(
			"there are more than %d ReplicaSets in namespace %s, so they were not compared",
			maxRevisions,
			namespace,
		)
	}
	return sets.Items, nil
}

// deploymentHistory takes the ReplicaSets that a Deployment controls.
func deploymentHistory(d *unstructured.Unstructured, sets []appsv1.ReplicaSet) history {
	out := history{
		of: incident.WorkloadRef{
			APIVersion: "apps/v1",
			Kind:       "Deployment",
			Namespace:  d.GetNamespace(),
			Name:       d.GetName(),
		},
		running: rolloutRunning(d, Number(d, "spec", "replicas")), finished: rolloutFinished(d),
	}
	for i := range sets {
		rs := &sets[i]
		number, err := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
		if c := metav1.GetControllerOf(rs); c == nil || c.UID != d.GetUID() || err != nil {
			continue // not its own, or not numbered yet: the controller is about to
		}
		out.revisions = append(out.revisions, revision{
			number: number, object: "ReplicaSet " + rs.Name, created: rs.CreationTimestamp.UTC(),
			templates: map[string]*corev1.PodTemplateSpec{"": &rs.Spec.Template},
		})
	}
	out.sort()
	return out
}

func (h *history) sort() {
	slices.SortFunc(h.revisions, func(a, b revision) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.object, b.object))
	})
}

// rolloutFinished is when a Deployment's last rollout ended; its controller touches the condition only in a rollout.
func rolloutFinished(d *unstructured.Unstructured) time.Time {
	conditions, _, err := unstructured.NestedSlice(d.Object, "status", "conditions")
	if err != nil {
		return time.Time{}
	}
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if !ok || m["type"] != "Progressing" || m["reason"] != "NewReplicaSetAvailable" {
			continue
		}
		s, _ := m["lastUpdateTime"].(string)
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// controllerRevisions reads the history of a StatefulSet, a DaemonSet, a LeaderWorkerSet, or whatever else keeps one:
// their revisions carry the labels by which their pods are found.
func (k *Reader) controllerRevisions(
	ctx context.Context,
	obj *unstructured.Unstructured,
	sel labels.Selector,
) (history, error) {
	out := history{
		of: incident.WorkloadRef{
			APIVersion: obj.GetAPIVersion(),
			Kind:       obj.GetKind(),
			Namespace:  obj.GetNamespace(),
			Name:       obj.GetName(),
		},
		running: rolloutRunning(obj, Number(obj, "spec", "replicas")),
	}
	list, err := k.typed.AppsV1().
		ControllerRevisions(obj.GetNamespace()).
		List(ctx, metav1.ListOptions{LabelSelector: sel.String(), Limit: maxRevisions})
	if err != nil {
		return out, readError(err, "list", appsv1.Resource("controllerrevisions"), obj.GetNamespace())
	}
	for i := range list.Items {
		cr := &list.Items[i]
		if c := metav1.GetControllerOf(cr); c == nil || c.UID != obj.GetUID() {
			continue
		}
		r := revision{
			number:    cr.Revision,
			object:    "ControllerRevision " + cr.Name,
			created:   cr.CreationTimestamp.UTC(),
			templates: revisionTemplates(cr.Data.Raw),
		}
		for _, m := range cr.ManagedFields {
			if m.Time != nil && m.Time.After(r.renewed) {
				r.renewed = m.Time.UTC()
			}
		}
		out.revisions = append(out.revisions, r)
	}
	out.sort()
	if list.Continue != "" {
		return history{}, fmt.Errorf(
			"%s %s has more than %d revisions, so they were not compared",
			obj.GetKind(),
			obj.GetName(),
			maxRevisions,
		)
	}
	return out, nil
}

// revisionTemplates finds the templates in the patch that a ControllerRevision keeps; nil when it has another shape.
func revisionTemplates(raw []byte) map[string]*corev1.PodTemplateSpec {
	var data struct {
		Spec struct {
			Template             *corev1.PodTemplateSpec `json:"template"`
			LeaderWorkerTemplate struct {
				Leader *corev1.PodTemplateSpec `json:"leaderTemplate"`
				Worker *corev1.PodTemplateSpec `json:"workerTemplate"`
			} `json:"leaderWorkerTemplate"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		return nil
	}
	out := make(map[string]*corev1.PodTemplateSpec)
	for name, t := range map[string]*corev1.PodTemplateSpec{
		"": data.Spec.Template, "leader": data.Spec.LeaderWorkerTemplate.Leader,
		"worker": data.Spec.LeaderWorkerTemplate.Worker,
	} {
		if t != nil {
			out[name] = t
		}
	}
	return out
}

// maxRollouts bounds how many revisions of a history are told.
const maxRollouts = 3

// rollouts are the revisions that began lately, with what each changed.
func (h *history) rollouts(now time.Time, engine string) []incident.RecentChange {
	var out []incident.RecentChange
	for i := len(h.revisions) - 1; i >= 0 && len(out) < maxRollouts; i-- {
		at, back := h.began(i)
		if !recent(at, now) {
			continue
		}
		r := &h.revisions[i]
		text := fmt.Sprintf("revision %d (%s)", r.number, r.object)
		if back {
			text = fmt.Sprintf("back to an earlier template as revision %d (%s)", r.number, r.object)
		}
		out = append(
			out,
			incident.RecentChange{
				At:     at,
				Kind:   incident.ChangeRollout,
				Object: h.of.Kind + " " + h.of.Name,
				Text:   text + ": " + h.changed(i, engine),
			},
		)
	}
	return out
}

// began is when a revision became the newest one. A template that was used before keeps its object, so its age says
// nothing then.
func (h *history) began(i int) (at time.Time, back bool) {
	r := &h.revisions[i]
	for _, earlier := range h.revisions[:i] {
		if earlier.created.After(r.created) {
			back = true
		}
	}
	switch {
	case !back:
		return r.created, false
	case !r.renewed.IsZero():
		return r.renewed, true
	case i == len(h.revisions)-1:
		return h.finished, true
	}
	return time.Time{}, true
}

// before is the revision that was replaced by one; nil when it is not kept. One that came back later has another number
// now, and is known by its age.
func (h *history) before(i int) *revision {
	if i > 0 && h.revisions[i-1].number == h.revisions[i].number-1 {
		return &h.revisions[i-1]
	}
	var out *revision
	for j := range h.revisions {
		if r := &h.revisions[j]; r.created.Before(h.revisions[i].created) && (out == nil || r.created.After(out.created)) {
			out = r
		}
	}
	return out
}

// changed compares a revision with the one before.
func (h *history) changed(i int, engine string) string {
	before, after := h.before(i), &h.revisions[i]
	if before == nil {
		return "no earlier one is kept to compare it with"
	}
	var parts []string
	for _, name := range union(before.templates, after.templates) {
		a, b := before.templates[name], after.templates[name]
		prefix := ""
		if name != "" {
			prefix = name + ": "
		}
		if a == nil || b == nil {
			parts = append(parts, prefix+"the whole template was added or removed")
			continue
		}
		for _, p := range difference(a, b, engine) {
			parts = append(parts, prefix+p)
		}
	}
	switch {
	case len(before.templates) == 0 || len(after.templates) == 0:
		return "what changed cannot be read"
	case len(parts) == 0:
		return fmt.Sprintf("the template is the same as in revision %d", before.number)
	}
	return strings.Join(parts, "; ")
}

// specChange is all that can be said of a workload without a history: that its specification was written, when, and by
// whom.
func specChange(obj *unstructured.Unstructured, now time.Time) (incident.RecentChange, bool) {
	var last metav1.ManagedFieldsEntry
	for _, m := range obj.GetManagedFields() {
		if m.Time == nil || m.Subresource != "" || m.FieldsV1 == nil || !hasSpec(m.FieldsV1.GetRawBytes()) ||
			last.Time != nil && !m.Time.After(last.Time.Time) {
			continue
		}
		last = m
	}
	if last.Time == nil || !recent(last.Time.Time, now) {
		return incident.RecentChange{}, false
	}
	return incident.RecentChange{
		At: last.Time.UTC(), Kind: incident.ChangeRollout, Object: obj.GetKind() + " " + obj.GetName(),
		Text: fmt.Sprintf(
			"its specification was written by %s (generation %d); what changed is not kept",
			redact.Shown(last.Manager),
			obj.GetGeneration(),
		),
	}, true
}

func hasSpec(fields []byte) bool {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(fields, &top); err != nil {
		return false
	}
	_, ok := top["f:spec"]
	return ok
}
