package evidence

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// The breakdown by pod comes with the value, in one request, and is the pool's own: the highest first, NaN and series
// without a pod left out.
func TestTheBreakdownByPodSharesTheRequest(t *testing.T) {
	t.Parallel()
	s := running
	s.Pods = "sum by (pod) (vllm:num_requests_running)"
	const where = `vllm:num_requests_running{model_name="llama",namespace="llm",server=""}`
	query := `label_replace(sum(` + where + `), "medic_part", "value", "", "") or label_replace(sum by (pod) (` + where +
		`), "medic_part", "pods", "", "")`
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	f.Once(query, promtest.Vector(
		`{"metric":{"medic_part":"value"},"value":[1,"12"]}`,
		`{"metric":{"medic_part":"pods","pod":"a"},"value":[1,"2"]}`,
		`{"metric":{"medic_part":"pods","pod":"b"},"value":[1,"10"]}`,
		`{"metric":{"medic_part":"pods","pod":"c"},"value":[1,"NaN"]}`,
		`{"metric":{"medic_part":"pods"},"value":[1,"12"]}`,
	))
	r := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{s},
		CollectOptions{}).Readings["running"]
	if diff := cmp.Diff([]incident.PodValue{{Pod: "b", Value: 10}, {Pod: "a", Value: 2}}, r.Pods); diff != "" ||
		r.Text() != "12" {
		t.Errorf("reading %s, pods (-want +got):\n%s", r.Text(), diff)
	}
}

// Where a scrape writes no label pod, the instances are told apart instead.
func TestPodsWithoutAPodLabelAreToldApartByInstance(t *testing.T) {
	t.Parallel()
	d, _ := DialectOf(v1Names())
	d.podLabel = "instance"
	got, err := Rewrite("max(sum by (pod) (vllm:num_requests_running)) / on (pod) group_left () count by (pod) "+
		"(vllm:num_requests_running)", d, nil)
	if err != nil || strings.Contains(got, "(pod)") || strings.Count(got, "(instance)") != 3 {
		t.Errorf("rewritten: %s, %v", got, err)
	}
}

func TestAProductOfLabelsIsThatOfTheSmallestEngine(t *testing.T) {
	t.Parallel()
	s := incident.Signal{
		Name: "kv_capacity", Query: "group by (num_gpu_blocks, block_size) (vllm:cache_config_info)",
		Unit:    incident.UnitTokens,
		Product: []string{"num_gpu_blocks", "block_size"},
	}
	for _, tt := range []struct {
		name, want string
		series     []string
	}{
		{
			"two engines", "16,000 tokens",
			[]string{
				`{"metric":{"num_gpu_blocks":"2000","block_size":"16"},"value":[1,"1"]}`,
				`{"metric":{"num_gpu_blocks":"1000","block_size":"16"},"value":[1,"1"]}`,
			},
		},
		{"none", "no data", nil},
		{
			"not profiled yet", `error: the label num_gpu_blocks is "None" and no number above zero`,
			[]string{`{"metric":{"num_gpu_blocks":"None","block_size":"16"},"value":[1,"1"]}`},
		},
		{
			"zero", `error: the label num_gpu_blocks is "0" and no number above zero`,
			[]string{`{"metric":{"num_gpu_blocks":"0","block_size":"16"},"value":[1,"1"]}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if r := collectOne(t, s, Config{}, promtest.Vector(tt.series...)); r.Text() != tt.want {
				t.Errorf("reading = %s, want %s", r.Text(), tt.want)
			}
		})
	}
}

// A GPU's series count only where they meet one of the pool's own pods, and they cannot carry vLLM's labels.
func TestOtherExportersAreJoinedToThePoolsPods(t *testing.T) {
	t.Parallel()
	d, _ := DialectOf(v1Names())
	got, err := Rewrite(
		`avg(DCGM_FI_DEV_GPU_UTIL * on (namespace, pod) group_left () group by (namespace, pod) (vllm:num_requests_running))`,
		d, llmMatchers,
	)
	want := `avg(DCGM_FI_DEV_GPU_UTIL * on (namespace, pod) group_left () ` +
		`group by (namespace, pod) (vllm:num_requests_running{model_name="llama",namespace="llm",server=""}))`
	if err != nil || got != want {
		t.Errorf("rewritten:\n%s\nwant:\n%s\n%v", got, want, err)
	}
	for name, query := range map[string]string{
		"without a join":    `avg(DCGM_FI_DEV_GPU_UTIL)`,
		"kept by or":        `avg(DCGM_FI_DEV_GPU_UTIL or on (pod) vllm:num_requests_running)`,
		"joined to another": `avg(DCGM_FI_DEV_GPU_UTIL * on (pod) group_left () kube_pod_info)`,
		"joined without pod": `avg(DCGM_FI_DEV_GPU_UTIL * on (namespace) group_left () ` +
			`group by (namespace) (vllm:num_requests_running))`,
	} {
		got, err := Rewrite(query, d, llmMatchers)
		if err != nil || !strings.Contains(got, `DCGM_FI_DEV_GPU_UTIL{model_name="llama",namespace="llm"}`) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestABaselineIsAskedInOneRequestAndOnlyWithThePast(t *testing.T) {
	t.Parallel()
	s := running
	s.Baseline = true
	const plain = `sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`
	parts := func(values map[string]string) promtest.Reply {
		var series []string
		for name, v := range values {
			series = append(series, `{"metric":{"medic_part":"`+name+`"},"value":[1,"`+v+`"]}`)
		}
		return promtest.Vector(series...)
	}
	for _, tt := range []struct {
		name   string
		answer promtest.Reply
		want   *incident.Baseline
		note   string
	}{
		{
			"unusual", parts(map[string]string{
				"mean": "4", "deviation": "0.5", "score": "6", "points": "55",
				"yesterday": "4.2",
			}),
			&incident.Baseline{Mean: 4, Deviation: .5, Score: new(6.), Yesterday: new(4.2)}, "",
		},
		{
			"it never moved", parts(map[string]string{"mean": "4", "deviation": "0", "score": "+Inf", "points": "55"}),
			&incident.Baseline{Mean: 4}, "",
		},
		{"too young", parts(map[string]string{"mean": "4", "deviation": "0.5", "score": "6", "points": "19"}), nil, ""},
		{"no past", promtest.Vector(), nil, ""},
		{
			"refused",
			promtest.Reply{Status: 422, Body: `{"status":"error","errorType":"execution","error":"too many samples"}`},
			nil,
			"its usual value could not be read: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, v1Names(), nil)
			f.AlwaysRange(plain, matrixAt(t, map[int]string{0: "7"}))
			c := newCollector(t, asking(f.Serve()), nil)
			f.Always(c.baselineQuery(plain), tt.answer)
			r := c.Collect(t.Context(), llmPool(), []incident.Signal{s},
				CollectOptions{History: true, Baseline: true}).Readings["running"]
			if diff := cmp.Diff(tt.want, r.Baseline); diff != "" || r.Text() != "7" || !strings.Contains(r.Warning, tt.note) {
				t.Errorf("reading %s (%s), baseline (-want +got):\n%s", r.Text(), r.Warning, diff)
			}
		})
	}
}

func TestOtherServersNamesAreSpelled(t *testing.T) {
	t.Parallel()
	nim, _ := DialectOf([]string{
		"num_requests_running", "gpu_cache_usage_perc", "request_finish_total",
		"time_per_output_token_seconds_count",
	})
	simulator, _ := DialectOf([]string{
		"vllm:num_requests_running", "vllm:kv_cache_usage_perc", "vllm:prefix_cache_hits",
		"vllm:prefix_cache_queries",
	})
	for _, tt := range []struct {
		name, query, want string
		d                 Dialect
	}{
		{
			"NIM: no prefix", "avg(vllm:kv_cache_usage_perc)", `avg(gpu_cache_usage_perc{model_name="llama",namespace="llm"})`,
			nim,
		},
		{
			"NIM: finished requests", `sum(rate(vllm:request_success_total[5m]))`,
			`sum(rate(request_finish_total{model_name="llama",namespace="llm"}[5m]))`, nim,
		},
		{
			"NIM: time between tokens", `sum(rate(vllm:inter_token_latency_seconds_count[5m]))`,
			`sum(rate(time_per_output_token_seconds_count{model_name="llama",namespace="llm"}[5m]))`, nim,
		},
		{
			"simulator: counters without a suffix", `sum(rate(vllm:prefix_cache_hits_total[5m]))`,
			`sum(rate(vllm:prefix_cache_hits{model_name="llama",namespace="llm"}[5m]))`, simulator,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := Rewrite(tt.query, tt.d, llmMatchers); err != nil || got != tt.want {
				t.Errorf("rewritten:\n%s\nwant:\n%s\n%v", got, tt.want, err)
			}
		})
	}
}

// What is dear in a range, and what is on no chart, is asked for now alone.
func TestThePastIsOnlyAskedWhereItIsWorthIt(t *testing.T) {
	t.Parallel()
	const where = `sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`
	optional, hour := running, running
	optional.Optional = true
	hour.Query = "avg_over_time(sum(vllm:num_requests_running)[1h:1m])"
	for query, s := range map[string]incident.Signal{where: optional, "avg_over_time(" + where + "[1h:1m])": hour} {
		f := newFakeProm(t)
		f.dialect(llmMatchers, v1Names(), nil)
		f.Once(query, promtest.Value("5"))
		r := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{s},
			CollectOptions{History: true}).Readings["running"]
		if r.Text() != "5" || r.Series != nil {
			t.Errorf("%s: %+v", query, r)
		}
	}
}
