package fleet_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

func TestLabelValuesAreThoseOfVLLM(t *testing.T) {
	t.Parallel()
	values := func(d fleet.Dialect, name, label string) []string {
		page, contentType := get(t, busy(t, fleet.Options{Dialect: d}), "/replica/0/metrics", openMetrics)
		seen := map[string]bool{}
		for _, s := range parse(t, page, contentType).samples {
			if s.labels.Get(model.MetricNameLabel) == name {
				seen[s.labels.Get(label)] = true
			}
		}
		return slices.Sorted(maps.Keys(seen))
	}
	for _, c := range []struct {
		dialect     fleet.Dialect
		name, label string
		want        []string
	}{
		{
			fleet.V1, "vllm:request_success_total", "finished_reason",
			[]string{"abort", "error", "length", "repetition", "stop"},
		},
		{fleet.V1Early, "vllm:request_success_total", "finished_reason", []string{"abort", "length", "stop"}},
		{fleet.V0, "vllm:request_success_total", "finished_reason", []string{"length", "stop"}}, // those that happened
		{fleet.V1, "vllm:num_requests_waiting_by_reason", "reason", []string{"capacity", "deferred"}},
		{fleet.V1, "vllm:num_requests_running", "engine", []string{"0"}},
		{fleet.V1, "vllm:num_requests_running", "model_name", []string{"llama-70b"}},
		{fleet.V1, "vllm:cache_config_info", "block_size", []string{"16"}},
		{fleet.V1, "vllm:cache_config_info", "num_gpu_blocks", []string{"6250"}},
		{fleet.V1, "vllm:cache_config_info", "kv_cache_size_tokens", []string{"100000"}},
		{fleet.V0, "vllm:cache_config_info", "kv_cache_size_tokens", []string{""}}, // since 0.24
		{fleet.V1, "http_requests_total", "status", []string{"2xx"}},
		{fleet.V1, "http_requests_total", "model_name", []string{""}},
		{fleet.V0, "http_requests_total", "status", []string{}}, // since 0.8.3
	} {
		got := values(c.dialect, c.name, c.label)
		if got == nil {
			got = []string{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s of %s (-want +got):\n%s", c.dialect, c.label, c.name, diff)
		}
	}
}
