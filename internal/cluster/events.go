package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// Events are kept for an hour by default and are listed in no useful order, so pages are read up to a bound.
const (
	eventAge  = time.Hour
	eventPage = 500
	maxPages  = 4
	maxEvents = 10
)

// events lists the warnings of the last hour about a workload, what it made and its pods: newest first, one line each.
func (k *Reader) events(
	ctx context.Context,
	ref incident.WorkloadRef,
	pods []incident.Pod,
	now time.Time,
) ([]string, error) {
	found, err := k.eventsWith(
		ctx,
		ref.Namespace,
		fields.Set{"type": corev1.EventTypeWarning},
		func(e *corev1.Event) bool {
			return concerns(&e.InvolvedObject, ref, pods) && now.Sub(eventTime(e)) < eventAge
		},
	)
	if found == nil {
		return nil, err
	}
	out := make([]string, 0, min(len(found), maxEvents))
	for i := range found[:min(len(found), maxEvents)] {
		out = append(out, eventLine(&found[i]))
	}
	return out, err
}

// eventsWith returns the events of a namespace with these fields that are wanted, the newest first. With an error that
// says that there are more than were looked at it returns what it found.
func (k *Reader) eventsWith(
	ctx context.Context,
	namespace string,
	with fields.Set,
	wanted func(*corev1.Event) bool,
) ([]corev1.Event, error) {
	found := []corev1.Event{}
	selected, pages := with.AsSelector().String(), 0
	var tooMany error
	err := answer.Pages(ctx, func(ctx context.Context, from string) (string, error) {
		list, err := k.typed.CoreV1().
			Events(namespace).
			List(ctx, metav1.ListOptions{FieldSelector: selected, Limit: eventPage, Continue: from})
		if err != nil {
			return "", readError(err, "list", corev1.Resource("events"), namespace)
		}
		for i := range list.Items {
			if wanted(&list.Items[i]) {
				found = append(found, list.Items[i])
			}
		}
		if pages++; pages == maxPages && list.Continue != "" {
			tooMany = fmt.Errorf(
				"namespace %s has more than %d events with %s, the others were not looked at",
				namespace,
				maxPages*eventPage,
				with,
			)
			return "", nil
		}
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b corev1.Event) int { return eventTime(&b).Compare(eventTime(&a)) })
	return found, tooMany
}

// concerns says whether an event is about the workload, a ReplicaSet of it (quota and admission errors are reported
// there) or one of its pods.
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
	return fmt.Sprintf(
		"%s %s %s: %s",
		eventTime(e).UTC().Format(time.RFC3339),
		e.InvolvedObject.Kind,
		e.InvolvedObject.Name,
		eventText(e),
	)
}

// eventText is what an event says, and how often it was said.
func eventText(e *corev1.Event) string {
	line := fmt.Sprintf("%s: %s", redact.Shown(e.Reason), redact.Shown(e.Message))
	count := e.Count
	if e.Series != nil {
		count = max(count, e.Series.Count)
	}
	if count > 1 {
		line += fmt.Sprintf(" (%d times)", count)
	}
	return line
}
