package evidence

import (
	"slices"
	"testing"
)

func TestDialectOfChoosesTheSpelling(t *testing.T) {
	t.Parallel()
	routerOnly := []string{"vllm:num_requests_running", "vllm:num_requests_waiting"}
	for _, tt := range []struct {
		name  string
		names []string
		want  string
	}{
		{"today's vLLM", v1Names(), "vLLM V1 names (vllm:...)"},
		{"both cache names, old token latency", v0_10_1Names(), "vLLM V1 of 0.9.2 to 0.10.1 names (vllm:...)"},
		{"V1 with gpu_ names", v0_8Names(), "vLLM V1 before 0.9.2 names (vllm:...)"},
		{"V0", v0Names(), "vLLM V0 names (vllm:...)"},
		{"V1 with underscores", respelled(v1Names(), "vllm_"), "underscore names (vllm_...), vLLM V1"},
		{"V0 with underscores", respelled(v0Names(), "vllm_"), "underscore names (vllm_...), vLLM V0"},
		{"Ray Serve", respelled(v1Names(), "ray_vllm_"), "Ray Serve names (ray_vllm_...), vLLM V1"},
		{"older Ray Serve", respelled(v1Names(), "ray_vllm:"), "Ray Serve names (ray_vllm:...), vLLM V1"},
		{"only the relabelled twin", respelled(v1Names(), "kserve_vllm:"), "relabelled names (kserve_vllm:...), vLLM V1"},
		{
			"native before its relabelled twin", append(respelled(v1Names(), "kserve_vllm:"), v1Names()...),
			"vLLM V1 names (vllm:...)",
		},
		{
			"engines with underscores behind a router with colons", append(respelled(v1Names(), "vllm_"), routerOnly...),
			"underscore names (vllm_...), vLLM V1",
		},
		{
			"NVIDIA NIM",
			[]string{
				"num_requests_running", "num_requests_waiting", "gpu_cache_usage_perc", "request_finish_total",
				"time_to_first_token_seconds_count",
			},
			"NVIDIA NIM names (without a prefix), vLLM V0",
		},
		{
			"engines beside somebody's own names",
			append([]string{"num_requests_running", "gpu_cache_usage_perc"}, v1Names()...), "vLLM V1 names (vllm:...)",
		},
		{
			"recording rules beside underscores", append(respelled(v1Names(), "vllm_"), "vllm:ttft_p95", "vllm:a:b"),
			"underscore names (vllm_...), vLLM V1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := DialectOf(tt.names)
			if !ok || got.String() != tt.want {
				t.Errorf("DialectOf = %q, %v; want %q", got, ok, tt.want)
			}
			slices.Reverse(tt.names)
			if again, _ := DialectOf(tt.names); again.String() != tt.want {
				t.Errorf("DialectOf depends on the order of names: %q", again)
			}
		})
	}
}

func TestDialectOfRefusesForeignNames(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		nil,
		{"up"},
		{"num_requests_running"},
		{"vllm:ttft_p95"},
		{"myvllm:num_requests_running"},
	} {
		if got, ok := DialectOf(names); ok || got.String() != "" {
			t.Errorf("DialectOf(%v) = %q, %v; want nothing", names, got, ok)
		}
	}
}
