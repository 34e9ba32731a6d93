package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Followed says how far a workload has followed its specification. For Deployments and StatefulSets it keeps the rules
// of `kubectl rollout status` (kubectl pkg/polymorphichelpers/rollout_status.go); the object must have been read after
// the write. Other kinds are done when as many replicas are ready as they should have. scale is the scale subresource,
// where a kind has one, and pods what was counted by its selector.
func Followed(
	o *unstructured.Unstructured,
	replicas int64,
	scale *unstructured.Unstructured,
	pods PodCount,
) incident.Rollout {
	if o.GetDeletionTimestamp() != nil {
		return following(incident.RolloutFailed, "%s %s is being deleted.", o.GetKind(), o.GetName())
	}
	seen := Count(o, "status", "observedGeneration")
	switch {
	case Group(o.GetAPIVersion()) == "apps" && o.GetKind() == "Deployment":
		if seen < o.GetGeneration() {
			return following(incident.RolloutRunning, "The Deployment controller has not seen the change yet.")
		}
		return deploymentFollows(o, replicas)
	case Group(o.GetAPIVersion()) == "apps" && o.GetKind() == "StatefulSet":
		if seen == 0 || seen < o.GetGeneration() {
			return following(incident.RolloutRunning, "The StatefulSet controller has not seen the change yet.")
		}
		return statefulSetFollows(o, replicas)
	case seen != 0 && seen < o.GetGeneration():
		return following(
			incident.RolloutRunning,
			"The controller of %s %s has not seen the change yet.",
			o.GetKind(),
			o.GetName(),
		)
	}
	return otherFollows(o, replicas, scale, pods)
}

func deploymentFollows(o *unstructured.Unstructured, replicas int64) incident.Rollout {
	if c := ConditionOf(o, "Progressing"); c.Reason == "ProgressDeadlineExceeded" {
		return following(incident.RolloutFailed, "The rollout has exceeded its progress deadline: %s", c.Message)
	}
	updated, all, available := Count(
		o,
		"status",
		"updatedReplicas",
	), Count(
		o,
		"status",
		"replicas",
	), Count(
		o,
		"status",
		"availableReplicas",
	)
	switch {
	case updated < replicas:
		return following(incident.RolloutRunning, "%d of %d replicas are of the new version.", updated, replicas)
	case all > updated:
		return following(incident.RolloutRunning, "%s.", haveToEnd(all-updated, "old replica"))
	case all > replicas:
		// kubectl does not wait for them: it looks at rollouts only, and this may be the undo of more replicas.
		return following(incident.RolloutRunning, "%s.", haveToEnd(all-replicas, "replica"))
	case available < updated:
		return following(incident.RolloutRunning, "%d of %d replicas are available.", available, updated)
	}
	return following(incident.RolloutDone, "%d of %d replicas are available.", available, replicas)
}

func statefulSetFollows(o *unstructured.Unstructured, replicas int64) incident.Rollout {
	ready, updated := Count(o, "status", "readyReplicas"), Count(o, "status", "updatedReplicas")
	strategy := Text(o, "spec", "updateStrategy", "type")
	partition := Count(o, "spec", "updateStrategy", "rollingUpdate", "partition")
	switch {
	case ready < replicas:
		return following(incident.RolloutRunning, "%d of %d replicas are ready.", ready, replicas)
	case Count(o, "status", "replicas") > replicas:
		return following(incident.RolloutRunning, "%s.", haveToEnd(Count(o, "status", "replicas")-replicas, "replica"))
	case strategy == "OnDelete":
		return following(incident.RolloutDone, "%d of %d replicas are ready.", ready, replicas)
	case partition > 0 && updated < replicas-partition:
		return following(incident.RolloutRunning, "%d of %d replicas are of the new version.", updated, replicas-partition)
	case partition == 0 && Text(o, "status", "updateRevision") != Text(o, "status", "currentRevision"):
		return following(incident.RolloutRunning, "%d of %d replicas are of the new version.", updated, replicas)
	}
	return following(incident.RolloutDone, "%d of %d replicas are ready.", ready, replicas)
}

// otherFollows is for kinds of operators: LeaderWorkerSet counts groups in readyReplicas, as do most kinds that have a
// scale.
func otherFollows(
	o *unstructured.Unstructured,
	replicas int64,
	scale *unstructured.Unstructured,
	pods PodCount,
) incident.Rollout {
	if ready := ReadyReplicas(o); ready != nil {
		n := *ready
		switch {
		case n < replicas:
			return following(incident.RolloutRunning, "%d of %d replicas are ready.", n, replicas)
		case n > replicas:
			return following(incident.RolloutRunning, "%s.", haveToEnd(n-replicas, "replica"))
		}
		return following(incident.RolloutDone, "%d of %d replicas are ready.", n, replicas)
	}
	if scale == nil {
		return following(incident.RolloutRunning, "%s %s does not say how many replicas it has.", o.GetKind(), o.GetName())
	}
	switch n := Count(scale, "status", "replicas"); {
	case n < replicas:
		return following(incident.RolloutRunning, "%d of %d replicas exist.", n, replicas)
	case n > replicas:
		return following(incident.RolloutRunning, "%s.", haveToEnd(n-replicas, "replica"))
	case !pods.Known:
		return following(
			incident.RolloutDone,
			"%d replicas exist. %s %s does not say how many of them are ready.",
			replicas,
			o.GetKind(),
			o.GetName(),
		)
	case pods.Ready < replicas:
		return following(incident.RolloutRunning, "%d of %d pods are ready.", pods.Ready, replicas)
	case pods.Unready > 0: // where one replica is several pods, enough of them may be ready while a replica is not
		return following(incident.RolloutRunning, "%d of %d pods are ready.", pods.Ready, pods.Ready+pods.Unready)
	}
	return following(incident.RolloutDone, "%d of %d pods are ready.", pods.Ready, pods.Ready)
}

func haveToEnd(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " has to end"
	}
	return fmt.Sprintf("%d %ss have to end", n, what)
}

func following(state incident.RolloutState, format string, args ...any) incident.Rollout {
	return incident.Rollout{State: state, Note: fmt.Sprintf(format, args...)}
}

// Settled says that the pods that run are those that the specification asks for, so that what runs proves what it says.
func Settled(o *unstructured.Unstructured) bool {
	n := Count(o, "spec", "replicas")
	return n > 0 && Followed(o, n, nil, PodCount{}).State == incident.RolloutDone
}
