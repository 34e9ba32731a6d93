package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Number reads a whole number; nil when it is absent, or is no whole number. Absent is not zero: see Count.
func Number(o *unstructured.Unstructured, path ...string) *int64 {
	n, found, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil || !found {
		return nil
	}
	return &n
}

// Count reads a number that is left out while it is zero, as the counts in the status of Kubernetes' own kinds and the
// replicas of a Scale are (omitempty in k8s.io/api). It is not for a field that some kind may not have: its absence
// says nothing.
func Count(o *unstructured.Unstructured, path ...string) int64 {
	if n := Number(o, path...); n != nil {
		return *n
	}
	return 0
}

// Text reads a string; empty when it is absent, or is no string.
func Text(o *unstructured.Unstructured, path ...string) string {
	s, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil {
		return ""
	}
	return s
}

// Group is the API group of an apiVersion; versions of one group are the same kind.
func Group(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return "unreadable " + apiVersion
	}
	return gv.Group
}

// Condition is a status condition.
type Condition struct{ Status, Reason, Message string }

// ConditionOf finds a status condition by its type; the zero one when there is none.
func ConditionOf(o *unstructured.Unstructured, kind string) Condition {
	all, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return Condition{}
	}
	return ConditionAmong(all, kind)
}

// ConditionAmong is ConditionOf for a list of conditions that is kept elsewhere.
func ConditionAmong(all []any, kind string) Condition {
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
		return Condition{get("status"), get("reason"), get("message")}
	}
	return Condition{}
}
