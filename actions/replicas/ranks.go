package replicas

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// grouped are kinds one replica of which is a whole group of pods, with a rank for each.
func grouped(kind string) bool {
	return slices.Contains([]string{"LeaderWorkerSet", "StormService", "DisaggregatedSetRoleScaler"}, kind)
}

// podsOfOne counts the pods of one replica of a kind of which it is not known: those that its scale selects, by the
// replicas that exist. It is 0 where they cannot be counted, or are not the same for each.
func podsOfOne(ctx context.Context, c *kube.Reader, w workload) int64 {
	if w.resource.Group == "apps" || slices.Contains([]string{"Model", "Rollout", "VLLMRuntime"}, w.ref.Kind) {
		return 1
	}
	pods, err := typedPods(podsOf(ctx, c, w))
	n := cluster.Count(w.scale, "status", "replicas")
	if err != nil || n == 0 {
		return 0
	}
	all := cluster.CountPods(pods)
	if total := all.Ready + all.Unready; total%n == 0 {
		return total / n
	}
	return 0
}

// more writes what n more replicas are: "1 more pod", "2 more groups of 3 pods".
func (w workload) more(n int64) string {
	one, many := "more pod", "more pods"
	switch {
	case grouped(w.ref.Kind):
		one, many = "more group of pods", "more groups of pods"
	case w.group > 1:
		one, many = fmt.Sprintf("more group of %d pods", w.group), fmt.Sprintf("more groups of %d pods", w.group)
	case w.group == 0:
		return fmt.Sprintf("all pods of %d more replica%s", n, map[bool]string{false: "s"}[n == 1])
	}
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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
