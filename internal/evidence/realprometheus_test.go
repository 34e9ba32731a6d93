package evidence

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// exposition is what a server with these metrics would export, with a value of its own in the cache gauge.
func exposition(names []string, labels, usage string, les ...string) string {
	var b strings.Builder
	for _, name := range names {
		base, histogram := strings.CutSuffix(name, "_count")
		switch {
		case histogram:
			fmt.Fprintf(&b, "# TYPE %s histogram\n", base)
			for _, le := range append(les, "+Inf") {
				fmt.Fprintf(&b, "%s_bucket{%s,le=%q} 0\n", base, labels, le)
			}
			fmt.Fprintf(&b, "%s_sum{%s} 0\n%s_count{%s} 0\n", base, labels, base, labels)
		case strings.HasSuffix(name, "cache_usage_perc"):
			fmt.Fprintf(&b, "%s{%s} %s\n", name, labels, usage)
		case strings.HasSuffix(name, "cache_config_info"): // has no model_name
			fmt.Fprintf(&b, "%s{engine=\"0\",block_size=\"16\"} 1\n", name)
		default:
			fmt.Fprintf(&b, "%s{%s} 3\n", name, labels)
		}
	}
	return b.String()
}

// dialectPool is one pool behind the real Prometheus.
type dialectPool struct {
	namespace, usage, dialect, metric string
	names                             []string
	les                               []string
}

func dialectPools() []dialectPool {
	today, old := []string{"0.001", "2.5", "10", "2560"}, []string{"0.001", "2.5", "10"}
	return []dialectPool{
		{"v1", "0.11", "vLLM V1 names (vllm:...)", "vllm:kv_cache_usage_perc", v1Names(), today},
		{"middle", "0.12", "vLLM V1 of 0.9.2 to 0.10.1 names (vllm:...)", "vllm:kv_cache_usage_perc", v0_10_1Names(), today},
		{"early", "0.13", "vLLM V1 before 0.9.2 names (vllm:...)", "vllm:gpu_cache_usage_perc", v0_8Names(), old},
		{"v0", "0.14", "vLLM V0 names (vllm:...)", "vllm:gpu_cache_usage_perc", v0Names(), old},
		{
			"underscore", "0.15", "underscore names (vllm_...), vLLM V1", "vllm_kv_cache_usage_perc",
			respelled(v1Names(), "vllm_"), today,
		},
		{
			"underscore-v0", "0.16", "underscore names (vllm_...), vLLM V0", "vllm_gpu_cache_usage_perc",
			respelled(v0Names(), "vllm_"), old,
		},
		{
			"ray", "0.17", "Ray Serve names (ray_vllm_...), vLLM V1", "ray_vllm_kv_cache_usage_perc",
			respelled(v1Names(), "ray_vllm_"), today,
		},
		{
			"kserve", "0.18", "vLLM V1 names (vllm:...)", "vllm:kv_cache_usage_perc",
			append(v1Names(), respelled(v1Names(), "kserve_vllm:")...), today,
		},
	}
}

func realPool(namespace string) incident.Pool {
	return incident.Pool{Name: namespace, Matchers: map[string]string{"namespace": namespace, "model_name": "m"}}
}

// TestAgainstARealPrometheus shares one process: pools are told apart by their namespace.
func TestAgainstARealPrometheus(t *testing.T) {
	t.Parallel()
	var targets []promtest.Target
	for _, f := range dialectPools() {
		for i := range 2 {
			// The second replica uses less of its cache, so that a maximum and a sum differ.
			usage := f.usage
			if i == 1 {
				usage = "0.01"
			}
			e := promtest.NewExporter(t,
				exposition(f.names, `model_name="m",engine="0"`, usage, f.les...)+"http_requests_total{handler=\"/v1\"} 1\n")
			targets = append(targets,
				promtest.Target{
					Address: e.Address(),
					Labels:  map[string]string{"namespace": f.namespace, "pod": fmt.Sprintf("%s-%d", f.namespace, i)},
				})
		}
	}
	router := promtest.NewExporter(t,
		"vllm:num_requests_running{server=\"http://m-0\",model_name=\"m\"} "+
			"100\nvllm:gpu_prefix_cache_hits_total{server=\"http://m-0\",model_name=\"m\"} 1\n")
	targets = append(targets,
		promtest.Target{
			Address: router.Address(), Job: "router",
			Labels: map[string]string{"namespace": "v1", "pod": "router-0"},
		})
	failing := promtest.NewExporter(t, exposition(v1Names(), `model_name="m"`, "0.5", "10"))
	targets = append(targets,
		promtest.Target{Address: failing.Address(), Labels: map[string]string{"namespace": "failing", "pod": "f-0"}})
	// The gateway's recorded series: two routes in one namespace, a single one in another.
	gateway := func(namespace string, ratios map[string]string) {
		page := ""
		for route, ratio := range ratios {
			page += fmt.Sprintf("%s{httproute=%q} %s\n", cancels, route, ratio)
		}
		targets = append(targets,
			promtest.Target{
				Address: promtest.NewExporter(t, page).Address(), Job: "gateway",
				Labels: map[string]string{"namespace": namespace},
			})
	}
	gateway("v1", map[string]string{"llama": "0.02", "web": "0.6"})
	gateway("middle", map[string]string{"llama": "0.3"})
	p := promtest.StartWith(t, promtest.Options{Targets: targets})
	p.WaitFor(t, fmt.Sprintf("count(up == 1) == %d", len(targets)))
	p.WaitFor(t, fmt.Sprintf("count(rate({__name__=~'(ray_)?vllm[:_]generation_tokens_total'}[1m])) == %d",
		2*len(dialectPools())+1))
	c := newCollector(t, asking(p.URL), nil)

	t.Run("each dialect is read with its own names", func(t *testing.T) {
		t.Parallel()
		usage := incident.Signal{Name: "kv_usage", Query: "max(vllm:kv_cache_usage_perc)"}
		for _, f := range dialectPools() {
			ev := c.Collect(t.Context(), realPool(f.namespace), []incident.Signal{usage}, CollectOptions{})
			r := ev.Readings["kv_usage"]
			want := fmt.Sprintf(`max(%s{model_name="m",namespace=%q})`, f.metric, f.namespace)
			if ev.Dialect != f.dialect || r.Text() != f.usage || r.Query != want || r.Warning != "" {
				t.Errorf("%s: dialect %q, reading %+v = %s", f.namespace, ev.Dialect, r, r.Text())
			}
		}
	})
	t.Run("values, no data, NaN, several series", func(t *testing.T) {
		t.Parallel()
		signals := []incident.Signal{
			{Name: "running", Query: "sum(vllm:num_requests_running)"},
			{Name: "several", Query: "vllm:num_requests_running"},
			{Name: "no data", Query: "sum(vllm:num_requests_running > 1000)"},
			{Name: "no metric", Query: "sum(vllm:nixl_num_failed_transfers_total)"},
			{
				Name: "NaN", Query: "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[1m])))",
				Ceiling: 2560,
			},
			{Name: "division by zero", Query: "sum(vllm:num_requests_running) / (sum(vllm:num_requests_running) * 0)"},
			{Name: "scalar", Query: "scalar(sum(vllm:num_requests_running)) + 1"},
			{Name: "no model_name", Query: "sum(http_requests_total)"},
			{Name: "config", Query: "count(vllm:cache_config_info)"},
			{Name: "targets", Query: "min(up)"},
			{Name: "config without a value", Query: "count(vllm:cache_config_info > 1)"},
			{
				Name: "refused",
				Query: "sum(vllm:num_requests_running) / on (a) group_left (b) vllm:num_requests_running * on (c) " +
					"vllm:num_requests_waiting",
			},
		}
		ev := c.Collect(t.Context(), realPool("v1"), signals, CollectOptions{})
		for name, want := range map[string]string{
			"running": "6", // without the router's 100
			"several": "error: the query gives 2 series, it must give one: aggregate it",
			"no data": "no data", "no metric": "no data", "NaN": "no data", "division by zero": "no data", "scalar": "7",
			"no model_name": "2", "config": "2", "config without a value": "no data", "targets": "no data",
		} {
			if got := ev.Readings[name].Text(); got != want {
				t.Errorf("%s = %q; want %q", name, got, want)
			}
		}
		if r := ev.Readings["refused"]; !strings.HasPrefix(r.Error,
			"Prometheus answered 422 Unprocessable Entity: execution: ") {
			t.Errorf("refused = %+v", r)
		}
		if w := ev.Readings["no metric"].Warning; w != "this Prometheus has no metric vllm:nixl_num_failed_transfers_total "+
			"for this pool (vLLM V1 names (vllm:...))" {
			t.Errorf("warning = %q", w)
		}
		for name, warning := range map[string]string{
			"no data": "",
			"config without a value": "vllm:cache_config_info has no label model_name: it was read without that matcher and " +
				"may include other pools",
			"no model_name": "http_requests_total has no label model_name: it was read without that matcher and may include " +
				"other pools",
			"targets": "up is not vLLM's own and may not carry model_name, which this pool's matchers ask for",
		} {
			if r := ev.Readings[name]; r.Warning != warning {
				t.Errorf("%s: warning = %q; want %q", name, r.Warning, warning)
			}
		}
	})
	t.Run("what is cancelled on another route does not count", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			namespace, route, want, note string
		}{
			{"v1", "llama", "2%", ""},
			{"v1", "web", "60%", ""},
			{"v1", "gone", "no data", "has no series for HTTPRoute v1/gone"},
			{"v1", "", "no data", SeveralRoutes},
			{"middle", "", "30%", "may include other pools"},
			{"middle", "llama", "30%", ""},
			{"early", "", "no data", ""},
		} {
			pool := realPool(tt.namespace)
			if tt.route != "" {
				pool.HTTPRoute = incident.RouteRef{Namespace: tt.namespace, Name: tt.route}
			}
			r := c.Collect(t.Context(), pool, []incident.Signal{cancelSignal()},
				CollectOptions{}).Readings["gateway_cancel_ratio"]
			if r.Text() != tt.want || r.Error != "" || !strings.Contains(r.Warning, tt.note) ||
				tt.note == "" && tt.route != "" && r.Warning != "" {
				t.Errorf("%s, route %q: %s, warning %q, error %q; want %s, %q", tt.namespace, tt.route, r.Text(), r.Warning,
					r.Error, tt.want, tt.note)
			}
		}
	})
	t.Run("the buckets of the server decide the bounds", func(t *testing.T) {
		t.Parallel()
		for namespace, want := range map[string]float64{"v1": 2560, "v0": 10, "underscore": 2560, "underscore-v0": 10} {
			d, err := c.Dialect(t.Context(), realPool(namespace))
			if e := d.buckets[d.prefix()+"time_to_first_token_seconds"]; err != nil || e.highest != want || e.lowest != 0.001 {
				t.Errorf("%s: %+v, %v", namespace, d.buckets, err)
			}
		}
	})
	t.Run("history", func(t *testing.T) {
		t.Parallel()
		short := newCollector(t,
			Config{Prometheus: prometheus.Config{URL: p.URL}, HistoryWindow: 2 * time.Second, HistoryPoints: 4}, nil)
		ev := short.Collect(t.Context(), realPool("v1"), []incident.Signal{running}, CollectOptions{History: true})
		series := ev.Readings["running"].Series
		if len(series) == 0 || len(series) > 4 || series[len(series)-1].Value != 6 || !series[len(series)-1].At.Equal(ev.At) {
			t.Errorf("series at %v = %+v", ev.At, series)
		}
	})
	t.Run("a pool without series", func(t *testing.T) {
		t.Parallel()
		ev := c.Collect(t.Context(), realPool("nobody"), []incident.Signal{running}, CollectOptions{})
		if r := ev.Readings["running"]; r.Text() != "no data" ||
			!strings.HasPrefix(r.Warning, `no vLLM metric carries this pool's labels {model_name="m", namespace="nobody"} now`) {
			t.Errorf("reading = %+v", r)
		}
	})
	t.Run("samples older than allowed", func(t *testing.T) {
		t.Parallel()
		strict := newCollector(t, Config{Prometheus: prometheus.Config{URL: p.URL}, MaxSampleAge: time.Nanosecond}, nil)
		if r := strict.Collect(t.Context(), realPool("v1"), []incident.Signal{running},
			CollectOptions{}).Readings["running"]; !strings.HasPrefix(r.Error, "stale: ") || r.Value != nil {
			t.Errorf("reading = %+v", r)
		}
	})
	t.Run("a target that fails leaves no value behind", func(t *testing.T) {
		t.Parallel()
		pool := realPool("failing")
		if r := c.Collect(t.Context(), pool, []incident.Signal{running},
			CollectOptions{}).Readings["running"]; r.Text() != "3" {
			t.Fatalf("reading = %+v", r)
		}
		failing.Fail()
		p.WaitFor(t, `up{namespace="failing"} == 0`)
		if r := c.Collect(t.Context(), pool, []incident.Signal{running},
			CollectOptions{}).Readings["running"]; r.Text() != "no data" {
			t.Errorf("reading = %+v", r)
		}
	})
	t.Run("an instance leads to its pod", func(t *testing.T) {
		t.Parallel()
		kube := fakeKube{owners: map[string][]incident.WorkloadRef{"v1/v1-1": llamaChain()}}
		ref, trail, err := newCollector(t, asking(p.URL), kube).FindWorkload(t.Context(),
			map[string]string{"alertname": "vLLMHighTTFT", "instance": targets[1].Address})
		want := incident.Trail{Kind: incident.TrailScrape, Instance: targets[1].Address, Pod: "v1/v1-1"}
		if err != nil || ref != llamaChain()[1] || trail != want {
			t.Errorf("%v, %+v, %v", ref, trail, err)
		}
		_, _, err = newCollector(t, asking(p.URL), kube).FindWorkload(t.Context(),
			map[string]string{"instance": "10.1.2.3:8000"})
		if !errors.Is(err, incident.ErrNoWorkload) {
			t.Errorf("an unknown instance: %v", err)
		}
	})
}
