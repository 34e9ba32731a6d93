package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Events are kept for an hour by default and are listed in no useful order, so pages are read up to a bound.
const (
	eventAge     = time.Hour
	eventPage    = 500
	maxPages     = 4
	maxEvents    = 10
	eventWarning = "type=" + corev1.EventTypeWarning
)

// events lists the warnings of the last hour about a workload, what it made and its pods: newest first, one line each.
func (k *kubeClient) events(ctx context.Context, ref incident.WorkloadRef, pods []incident.Pod, now time.Time) ([]string, error) {
	var found []corev1.Event
	opts := metav1.ListOptions{FieldSelector: eventWarning, Limit: eventPage}
	var tooMany error
	for page := 1; ; page++ {
		list, err := k.typed.CoreV1().Events(ref.Namespace).List(ctx, opts)
		if err != nil {
			return nil, readError(err, "list", corev1.Resource("events"), ref.Namespace)
		}
		for _, e := range list.Items {
			if concerns(&e.InvolvedObject, ref, pods) && now.Sub(eventTime(&e)) < eventAge {
				found = append(found, e)
			}
		}
		if list.Continue == "" {
			break
		}
		if page == maxPages {
			tooMany = fmt.Errorf("namespace %s has more than %d warning events, the others were not looked at", ref.Namespace, maxPages*eventPage)
			break
		}
		opts.Continue = list.Continue
	}
	slices.SortStableFunc(found, func(a, b corev1.Event) int { return eventTime(&b).Compare(eventTime(&a)) })
	out := make([]string, 0, min(len(found), maxEvents))
	for i := range found[:min(len(found), maxEvents)] {
		out = append(out, eventLine(&found[i]))
	}
	return out, tooMany
}

// concerns says whether an event is about the workload, a ReplicaSet of it (quota and admission errors are reported there) or one of its
// pods.
func concerns(o *corev1.ObjectReference, ref incident.WorkloadRef, pods []incident.Pod) bool {
	switch {
	case o.Kind == ref.Kind && o.Name == ref.Name:
		return true
	case o.Kind == "ReplicaSet" && ref.Kind == "Deployment":
		hash, ok := strings.CutPrefix(o.Name, ref.Name+"-")
		return ok && !strings.Contains(hash, "-")
	case o.Kind == "Pod":
		return slices.ContainsFunc(pods, func(p incident.Pod) bool { return p.Name == o.Name })
	}
	return false
}

// eventTime is the last time that an event was seen; the field depends on which API wrote it.
func eventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

func eventLine(e *corev1.Event) string {
	line := fmt.Sprintf("%s %s %s: %s: %s", eventTime(e).UTC().Format(time.RFC3339), e.InvolvedObject.Kind, e.InvolvedObject.Name, cut(e.Reason), cut(e.Message))
	count := e.Count
	if e.Series != nil {
		count = max(count, e.Series.Count)
	}
	if count > 1 {
		line += fmt.Sprintf(" (%d times)", count)
	}
	return line
}
