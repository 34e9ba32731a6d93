package replicas

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// grouped are kinds one replica of which is a whole group of pods, with a rank for each.
func grouped(kind string) bool {
	return slices.Contains([]string{"LeaderWorkerSet", "StormService", "DisaggregatedSetRoleScaler"}, kind)
}

// checkNotRanked refuses a workload whose pods are the ranks of one engine: one more would have a rank that no engine
// waits for.
func (w workload) checkNotRanked() error {
	if grouped(w.ref.Kind) {
		return nil
	}
	spec, _, err := unstructured.NestedFieldNoCopy(w.object.Object, "spec")
	if err != nil {
		return live.Refused("the specification of %s cannot be read", w.ref)
	}
	if flag := rankIn(spec); flag != "" {
		return live.Refused(
			"each pod of %s is one rank of a fixed number (%s), and one more could not join: change the size of the "+
				"whole deployment",
			w.ref, flag,
		)
	}
	return nil
}

// rankIn is the first flag in any text of a value that makes a pod one of several ranks, also inside of a script or a
// variable.
func rankIn(v any) string {
	switch v := v.(type) {
	case string:
		return vllm.RankFlag(v)
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
