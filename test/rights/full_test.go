package rights

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/vllm-medic/vllm-medic/test/leaves"
)

// typeOf has the Go type of each kind that the API server itself has.
func typeOf(kind string) any {
	return map[string]any{
		"Deployment": appsv1.Deployment{}, "StatefulSet": appsv1.StatefulSet{},
		"HorizontalPodAutoscaler": autoscalingv2.HorizontalPodAutoscaler{},
	}[kind]
}

// fullSpec is the spec of an object that an API server takes, with all that its type has: the values are those that are
// valid, what excludes each other is in several elements of a list, and what no such object may have is left out (see
// leftOut).
func fullSpec(t *testing.T, kind string) map[string]any {
	t.Helper()
	out := leaves.Filled(typeOf(kind))["spec"].(map[string]any) //nolint:forcetypeassert // it was filled
	if kind == "HorizontalPodAutoscaler" {
		fillAutoscaler(t, out)
		return out
	}
	for path, value := range map[string]any{
		"selector.matchLabels":                 map[string]any{"app": "x"},
		"selector.matchExpressions[].operator": "In",
		"selector.matchExpressions[].key":      "app",
		"selector.matchExpressions[].values":   []any{"x"},
		"replicas":                             int64(2),
		"template.metadata.labels":             map[string]any{"app": "x"},
		"template.metadata.annotations":        map[string]any{"e": "f"},
	} {
		put(t, out, path, value)
	}
	if kind == "StatefulSet" {
		fillSet(t, out)
	} else {
		put(t, out, "strategy.type", "RollingUpdate")
		put(t, out, "progressDeadlineSeconds", int64(700))
	}
	fillPod(t, out["template"].(map[string]any)["spec"].(map[string]any)) //nolint:forcetypeassert // it was filled
	return out
}

// A full pod is a large one, and each of its leaves is a request with all of it. So it comes in parts, each of which is
// an object that an API server takes.
const (
	wholePod  = "" // all parts in one
	podItself = "pod"
	inBoxes   = "boxes"
	inVolumes = "volumes"
	noPart    = "none" // containers that have nothing but their command line
)

// part is a spec of which the pod has this part only.
func part(t *testing.T, spec map[string]any, name string) map[string]any {
	t.Helper()
	template := spec["template"].(map[string]any) //nolint:forcetypeassert // it was filled
	pod := template["spec"].(map[string]any)      //nolint:forcetypeassert // it was filled
	keep := map[string][]string{
		podItself: slices.Collect(maps.Keys(pod)),
		inBoxes:   {"containers", "initContainers", "volumes", "resourceClaims", "securityContext", "hostNetwork"},
		inVolumes: {"containers", "volumes"},
		noPart:    {"containers"},
	}[name]
	maps.DeleteFunc(pod, func(k string, _ any) bool { return !slices.Contains(keep, k) })
	if name == podItself {
		delete(pod, "initContainers")
	}
	if name == podItself || name == inBoxes {
		pod["volumes"] = slices.DeleteFunc(pod["volumes"].([]any), func(v any) bool { //nolint:forcetypeassert // filled
			return !slices.Contains([]any{"emptydir", "persistentvolumeclaim"}, v.(map[string]any)["name"])
		})
	}
	if name != inBoxes {
		vllm := pod["containers"].([]any)[1].(map[string]any) //nolint:forcetypeassert // it was filled
		maps.DeleteFunc(vllm, func(k string, _ any) bool {
			return !slices.Contains([]string{"name", "image", "command", "args"}, k)
		})
		pod["containers"] = pod["containers"].([]any)[:2] //nolint:forcetypeassert // it was filled
	}
	return spec
}

// put sets what the type has, and nil takes it away.
func put(t *testing.T, o any, path string, value any) {
	t.Helper()
	if !leaves.Put(o, path, value) {
		t.Errorf("the type has no %s any more", path)
	}
}

func fillSet(t *testing.T, spec map[string]any) {
	t.Helper()
	for path, value := range map[string]any{
		"podManagementPolicy":                              "Parallel",
		"updateStrategy.type":                              "RollingUpdate",
		"persistentVolumeClaimRetentionPolicy.whenDeleted": "Delete",
		"persistentVolumeClaimRetentionPolicy.whenScaled":  "Delete",
		"volumeClaimTemplates[].metadata.name":             "data",
		"volumeClaimTemplates[].spec":                      claimSpec(t, spec, "volumeClaimTemplates"),
	} {
		put(t, spec, path, value)
	}
}

// claimSpec is that of the claim in a list.
func claimSpec(t *testing.T, in map[string]any, list string) map[string]any {
	t.Helper()
	first := in[list].([]any)[0].(map[string]any) //nolint:forcetypeassert // it was filled
	out := first["spec"].(map[string]any)         //nolint:forcetypeassert // it was filled
	for path, value := range map[string]any{
		"accessModes":                          []any{"ReadWriteOnce"},
		"resources.limits":                     map[string]any{"storage": "2Gi"},
		"resources.requests":                   map[string]any{"storage": "1Gi"},
		"volumeMode":                           "Filesystem",
		"selector.matchExpressions[].operator": "In",
		"dataSource":                           map[string]any{"kind": "PersistentVolumeClaim", "name": "text"},
		"dataSourceRef":                        map[string]any{"kind": "PersistentVolumeClaim", "name": "text"},
	} {
		put(t, out, path, value)
	}
	return out
}

func fillAutoscaler(t *testing.T, spec map[string]any) {
	t.Helper()
	for path, value := range map[string]any{
		"minReplicas": int64(2), "maxReplicas": int64(6),
		"scaleTargetRef": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "name": "deployed",
		},
		"behavior.scaleUp.selectPolicy":      "Max",
		"behavior.scaleDown.selectPolicy":    "Min",
		"behavior.scaleUp.policies[].type":   "Pods",
		"behavior.scaleDown.policies[].type": "Percent",
	} {
		put(t, spec, path, value)
	}
	var metrics []any
	for _, m := range leaves.Apart(first(spec, "metrics"), "type") {
		metric := m.(map[string]any) //nolint:forcetypeassert // it was made so
		for source := range metric {
			if source == "type" {
				continue
			}
			metric["type"] = strings.ToUpper(source[:1]) + source[1:]
			target := map[string]any{"type": "AverageValue", "averageValue": "5"}
			switch source {
			case "resource", "containerResource":
				target = map[string]any{"type": "Utilization", "averageUtilization": int64(80)}
				put(t, metric, source+".name", "cpu")
			case "object":
				target = map[string]any{"type": "Value", "value": "5"}
			}
			put(t, metric, source+".target", target)
			if source == "pods" || source == "object" || source == "external" {
				put(t, metric, source+".metric.selector.matchExpressions[].operator", "In")
			}
		}
		metrics = append(metrics, metric)
	}
	spec["metrics"] = metrics
}
