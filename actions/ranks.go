package actions

import (
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rankFlag are vLLM's flags that give one process its place among a fixed number of others (vllm/engine/arg_utils.py), also inside of a script or a variable.
var rankFlag = regexp.MustCompile(`(?:^|[\s"'=])(--data[-_]parallel[-_](?:start[-_])?rank|--node[-_]rank|-dpn|-dpr)(?:[\s"'=]|$)`)

// grouped are kinds one replica of which is a whole group of pods, with a rank for each.
func grouped(kind string) bool {
	return slices.Contains([]string{"LeaderWorkerSet", "StormService", "DisaggregatedSetRoleScaler"}, kind)
}

// ranked refuses a workload whose pods are the ranks of one engine: one more would have a rank that no engine waits for.
func (w scaled) ranked() error {
	if grouped(w.ref.Kind) {
		return nil
	}
	spec, _, err := unstructured.NestedFieldNoCopy(w.object.Object, "spec")
	if err != nil {
		return refused("the specification of %s cannot be read", w.ref)
	}
	if flag := rankIn(spec); flag != "" {
		return refused("each pod of %s is one rank of a fixed number (%s), and one more could not join: change the size of the whole deployment", w.ref, flag)
	}
	return nil
}

// rankIn is the first such flag in any text of a value.
func rankIn(v any) string {
	switch v := v.(type) {
	case string:
		if m := rankFlag.FindStringSubmatch(v); m != nil {
			return m[1]
		}
	case []any:
		for _, one := range v {
			if flag := rankIn(one); flag != "" {
				return flag
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if flag := rankIn(v[key]); flag != "" {
				return flag
			}
		}
	}
	return ""
}
