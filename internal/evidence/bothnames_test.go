package evidence

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// upgrading is the dialect of a pool with as many engines of an older version as of today's.
func upgrading(t *testing.T, older []string, prefix string) Dialect {
	t.Helper()
	series := map[string]float64{}
	for _, pod := range [][]string{v1Names(), older} {
		for _, name := range respelled(pod, prefix) {
			series[name]++
		}
	}
	d, ok := DialectOf(slices.Collect(maps.Keys(series)))
	if !ok {
		t.Fatal("no dialect")
	}
	d.series = series
	return d
}

func TestBothNamesAreReadWhereAPoolHasTwoVersions(t *testing.T) {
	t.Parallel()
	const on = " or on (namespace,pod,instance) "
	for _, tt := range []struct{ name, query, want string }{
		{
			"an instant", "avg(vllm:kv_cache_usage_perc)",
			`avg((vllm:kv_cache_usage_perc{n="l"}` + on + `vllm:gpu_cache_usage_perc{n="l"}))`,
		},
		{
			"written with the old name", "avg(vllm:gpu_cache_usage_perc)",
			`avg((vllm:kv_cache_usage_perc{n="l"}` + on + `vllm:gpu_cache_usage_perc{n="l"}))`,
		},
		{
			"a range", "histogram_quantile(0.95, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m])))",
			`histogram_quantile(0.95, sum by (le) ((rate(vllm:inter_token_latency_seconds_bucket{n="l"}[5m])` + on +
				`rate(vllm:time_per_output_token_seconds_bucket{n="l"}[5m]))))`,
		},
		{
			"a subquery with an offset", "max_over_time(max(-vllm:kv_cache_usage_perc offset 1d)[1h:5m] offset 10m)",
			`max_over_time(max(-(vllm:kv_cache_usage_perc{n="l"} offset 1d` + on +
				`vllm:gpu_cache_usage_perc{n="l"} offset 1d))[1h:5m] offset 10m)`,
		},
		{
			"what the router exports, too", "sum(rate(vllm:prefix_cache_hits_total[5m])) > topk(1, up)",
			`sum((rate(vllm:prefix_cache_hits_total{n="l"}[5m])` + on +
				`rate(vllm:gpu_prefix_cache_hits_total{n="l",server=""}[5m]))) > topk(1, up{n="l"})`,
		},
		{
			"a function with a parameter", "quantile_over_time(0.9, (vllm:kv_cache_usage_perc[5m]))",
			`(quantile_over_time(0.9, (vllm:kv_cache_usage_perc{n="l"}[5m]))` + on +
				`quantile_over_time(0.9, (vllm:gpu_cache_usage_perc{n="l"}[5m])))`,
		},
		{
			"a query that reads both itself", "max(vllm:kv_cache_usage_perc or vllm:gpu_cache_usage_perc)",
			`max(vllm:kv_cache_usage_perc{n="l"} or vllm:gpu_cache_usage_perc{n="l"})`,
		},
		{"never renamed", "max(vllm:num_preemptions_total)", `max(vllm:num_preemptions_total{n="l"})`},
	} {
		for _, prefix := range []string{"vllm:", "vllm_", "ray_vllm_"} {
			d, want := upgrading(t, v0_8Names(), prefix), strings.ReplaceAll(tt.want, "vllm:", prefix)
			if prefix == "ray_vllm_" {
				want = strings.ReplaceAll(want, "instance)", "instance,WorkerId)")
			}
			got, err := Rewrite(tt.query, d, map[string]string{"n": "l"})
			if err != nil || normal(t, got) != normal(t, want) {
				t.Errorf("%s:\n got %s, %v\nwant %s", tt.name, got, err, want)
			}
			if again, err := Rewrite(got, d, map[string]string{"n": "l"}); err != nil || again != got {
				t.Errorf("%s: a second rewrite gives %s, %v", tt.name, again, err)
			}
		}
	}
}

func TestOneNameIsReadWhereItFindsEveryEngine(t *testing.T) {
	t.Parallel()
	duplicates := append(slices.Clone(v1Names()), "vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds_count")
	for name, d := range map[string]Dialect{
		"every engine exports both": upgrading(t, v1Names(), "vllm:"),
		"one of them exports both":  upgrading(t, duplicates, "vllm:"),
	} {
		for _, query := range []string{
			"max(vllm:kv_cache_usage_perc)", "sum(rate(vllm:inter_token_latency_seconds_count[5m]))",
		} {
			if got, err := Rewrite(query, d, nil); err != nil || got != query {
				t.Errorf("%s: %s becomes %s, %v", name, query, got, err)
			}
		}
	}
}

func TestPodsWithoutThatLabelAreToldByTheirInstance(t *testing.T) {
	t.Parallel()
	d := upgrading(t, v0_8Names(), "vllm:")
	d.podLabel = "instance"
	const want = `max by (instance) ((vllm:kv_cache_usage_perc or on (namespace,instance) vllm:gpu_cache_usage_perc))`
	got, err := Rewrite("max by (pod) (vllm:kv_cache_usage_perc)", d, nil)
	if err != nil || normal(t, got) != normal(t, want) {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
