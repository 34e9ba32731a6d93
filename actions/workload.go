package actions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// follows says how far a workload has followed its specification. For Deployments and StatefulSets it keeps the rules of `kubectl rollout status`
// (kubectl pkg/polymorphichelpers/rollout_status.go); the object must have been read after the write. Other kinds are done when as many
// replicas are ready as they should have. scale is the scale subresource, where a kind has one, and pods what was counted by its selector.
func follows(o *unstructured.Unstructured, replicas int64, scale *unstructured.Unstructured, pods podCount) incident.Rollout {
	if o.GetDeletionTimestamp() != nil {
		return failed("%s %s is being deleted.", o.GetKind(), o.GetName())
	}
	seen := number(o, "status", "observedGeneration")
	switch {
	case group(o.GetAPIVersion()) == "apps" && o.GetKind() == "Deployment":
		if seen < o.GetGeneration() {
			return running("The Deployment controller has not seen the change yet.")
		}
		return deploymentFollows(o, replicas)
	case group(o.GetAPIVersion()) == "apps" && o.GetKind() == "StatefulSet":
		if seen == 0 || seen < o.GetGeneration() {
			return running("The StatefulSet controller has not seen the change yet.")
		}
		return statefulSetFollows(o, replicas)
	case seen != 0 && seen < o.GetGeneration():
		return running("The controller of %s %s has not seen the change yet.", o.GetKind(), o.GetName())
	}
	return otherFollows(o, replicas, scale, pods)
}

func deploymentFollows(o *unstructured.Unstructured, replicas int64) incident.Rollout {
	if c := condition(o, "Progressing"); c.reason == "ProgressDeadlineExceeded" {
		return failed("The rollout has exceeded its progress deadline: %s", c.message)
	}
	updated, all, available := number(o, "status", "updatedReplicas"), number(o, "status", "replicas"), number(o, "status", "availableReplicas")
	switch {
	case updated < replicas:
		return running("%d of %d replicas are of the new version.", updated, replicas)
	case all > updated:
		return running("%s.", haveToEnd(all-updated, "old replica"))
	case all > replicas: // kubectl does not wait for them: it looks at rollouts only, and this may be the undo of more replicas
		return running("%s.", haveToEnd(all-replicas, "replica"))
	case available < updated:
		return running("%d of %d replicas are available.", available, updated)
	}
	return done("%d of %d replicas are available.", available, replicas)
}

func statefulSetFollows(o *unstructured.Unstructured, replicas int64) incident.Rollout {
	ready, updated := number(o, "status", "readyReplicas"), number(o, "status", "updatedReplicas")
	strategy := text(o, "spec", "updateStrategy", "type")
	partition := number(o, "spec", "updateStrategy", "rollingUpdate", "partition")
	switch {
	case ready < replicas:
		return running("%d of %d replicas are ready.", ready, replicas)
	case number(o, "status", "replicas") > replicas:
		return running("%s.", haveToEnd(number(o, "status", "replicas")-replicas, "replica"))
	case strategy == "OnDelete":
		return done("%d of %d replicas are ready.", ready, replicas)
	case partition > 0 && updated < replicas-partition:
		return running("%d of %d replicas are of the new version.", updated, replicas-partition)
	case partition == 0 && text(o, "status", "updateRevision") != text(o, "status", "currentRevision"):
		return running("%d of %d replicas are of the new version.", updated, replicas)
	}
	return done("%d of %d replicas are ready.", ready, replicas)
}

// otherFollows is for kinds of operators: LeaderWorkerSet counts groups in readyReplicas, as do most kinds that have a scale.
func otherFollows(o *unstructured.Unstructured, replicas int64, scale *unstructured.Unstructured, pods podCount) incident.Rollout {
	if n, says := readyReplicas(o); says {
		switch {
		case n < replicas:
			return running("%d of %d replicas are ready.", n, replicas)
		case n > replicas:
			return running("%s.", haveToEnd(n-replicas, "replica"))
		}
		return done("%d of %d replicas are ready.", n, replicas)
	}
	if scale == nil {
		return running("%s %s does not say how many replicas it has.", o.GetKind(), o.GetName())
	}
	switch n := number(scale, "status", "replicas"); {
	case n < replicas:
		return running("%d of %d replicas exist.", n, replicas)
	case n > replicas:
		return running("%s.", haveToEnd(n-replicas, "replica"))
	case !pods.known:
		return done("%d replicas exist. %s %s does not say how many of them are ready.", replicas, o.GetKind(), o.GetName())
	case pods.ready < replicas:
		return running("%d of %d pods are ready.", pods.ready, replicas)
	case pods.unready > 0: // where one replica is several pods, enough of them may be ready while a replica is not
		return running("%d of %d pods are ready.", pods.ready, pods.ready+pods.unready)
	}
	return done("%d of %d pods are ready.", pods.ready, pods.ready)
}

func haveToEnd(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " has to end"
	}
	return count(n, what) + " have to end"
}

// settled says that the pods that run are those that the specification asks for, so that what runs proves what it says.
func settled(o *unstructured.Unstructured) bool {
	n := number(o, "spec", "replicas")
	return n > 0 && follows(o, n, nil, podCount{}).State == incident.RolloutDone
}

// report is a status condition.
type report struct{ status, reason, message string }

// condition finds a status condition; the zero one when there is none.
func condition(o *unstructured.Unstructured, kind string) report {
	all, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return report{}
	}
	return conditionIn(all, kind)
}

func conditionIn(all []any, kind string) report {
	for _, c := range all {
		m, ok := c.(map[string]any)
		if !ok || m["type"] != kind {
			continue
		}
		get := func(key string) string {
			s, ok := m[key].(string)
			if !ok {
				return ""
			}
			return s
		}
		return report{get("status"), get("reason"), get("message")}
	}
	return report{}
}

// number reads a count, which the API server leaves out while it is zero.
func number(o *unstructured.Unstructured, path ...string) int64 {
	n, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		return 0
	}
	return n
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil {
		return ""
	}
	return s
}
