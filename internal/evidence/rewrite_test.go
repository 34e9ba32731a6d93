package evidence

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func TestRewriteSpellsEachDialect(t *testing.T) {
	t.Parallel()
	const (
		usage   = `max(vllm:kv_cache_usage_perc)`
		tpot    = `histogram_quantile(0.95, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m])))`
		hitRate = `sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))`
	)
	for _, tt := range []struct {
		name  string
		names []string
		query string
		want  string
	}{
		{"V1", v1Names(), usage, `max(vllm:kv_cache_usage_perc{namespace="llm"})`},
		{
			"V1 latency", v1Names(), tpot,
			`histogram_quantile(0.95, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket{namespace="llm"}[5m])))`,
		},
		{"0.10.1 usage is current", v0_10_1Names(), usage, `max(vllm:kv_cache_usage_perc{namespace="llm"})`},
		{
			"0.10.1 latency is old", v0_10_1Names(), tpot,
			`histogram_quantile(0.95, sum by (le) (rate(vllm:time_per_output_token_seconds_bucket{namespace="llm"}[5m])))`,
		},
		{"0.8 usage", v0_8Names(), usage, `max(vllm:gpu_cache_usage_perc{namespace="llm"})`},
		{
			"0.8 hit rate leaves the router's gauge out", v0_8Names(), hitRate,
			`sum(rate(vllm:gpu_prefix_cache_hits_total{namespace="llm",server=""}[5m])) ` +
				`/ sum(rate(vllm:gpu_prefix_cache_queries_total{namespace="llm",server=""}[5m]))`,
		},
		{"V0", v0Names(), usage, `max(vllm:gpu_cache_usage_perc{namespace="llm"})`},
		{
			"V0 preemptions are V1's", v0Names(), `increase(vllm:num_preemptions_total[5m])`,
			`increase(vllm:num_preemptions_total{namespace="llm"}[5m])`,
		},
		{"underscore V1", respelled(v1Names(), "vllm_"), usage, `max(vllm_kv_cache_usage_perc{namespace="llm"})`},
		{
			"underscore V0", respelled(v0Names(), "vllm_"), tpot,
			`histogram_quantile(0.95, sum by (le) (rate(vllm_time_per_output_token_seconds_bucket{namespace="llm"}[5m])))`,
		},
		{"Ray", respelled(v1Names(), "ray_vllm_"), usage, `max(ray_vllm_kv_cache_usage_perc{namespace="llm"})`},
		{
			"a query in old names becomes current", v1Names(), `vllm_gpu_cache_usage_perc > 0.9`,
			`vllm:kv_cache_usage_perc{namespace="llm"} > 0.9`,
		},
		{
			"a recording rule is kept", append(respelled(v1Names(), "vllm_"), "vllm:ttft_p95"), `vllm:ttft_p95`,
			`vllm:ttft_p95{namespace="llm"}`,
		},
		{
			"the router's twins are left out", v1Names(), `sum(vllm:num_requests_waiting)`,
			`sum(vllm:num_requests_waiting{namespace="llm",server=""})`,
		},
		{
			"a name inside braces", respelled(v1Names(), "vllm_"), `{__name__="vllm:kv_cache_usage_perc"}`,
			`{__name__="vllm_kv_cache_usage_perc",namespace="llm"}`,
		},
		{"nothing known", nil, usage, `max(vllm:kv_cache_usage_perc{namespace="llm"})`},
		{
			"foreign metrics keep their name", respelled(v1Names(), "vllm_"), `avg(DCGM_FI_DEV_GPU_UTIL)`,
			`avg(DCGM_FI_DEV_GPU_UTIL{namespace="llm"})`,
		},
		{
			"subqueries, offsets and binary operators", v0Names(),
			`max_over_time(vllm:kv_cache_usage_perc[10m:1m] offset 5m) and on () (vllm:num_preemptions_total > 0)`,
			`max_over_time(vllm:gpu_cache_usage_perc{namespace="llm"}[10m:1m] offset 5m) ` +
				`and on () (vllm:num_preemptions_total{namespace="llm"} > 0)`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, _ := DialectOf(tt.names)
			got, err := Rewrite(tt.query, d, map[string]string{"namespace": "llm"})
			if err != nil {
				t.Fatal(err)
			}
			if normal(t, got) != normal(t, tt.want) {
				t.Errorf("Rewrite\n got %s\nwant %s", got, tt.want)
			}
			again, err := Rewrite(got, d, map[string]string{"namespace": "llm"})
			if err != nil || again != got {
				t.Errorf("a second rewrite gives %s, %v", again, err)
			}
		})
	}
}

// normal prints a query as the parser does, so that spaces do not matter.
func normal(t *testing.T, query string) string {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return expr.String()
}

func TestRewriteLeavesOutLabelsThatAMetricCannotCarry(t *testing.T) {
	t.Parallel()
	matchers := map[string]string{"namespace": "llm", "model_name": "m", "engine": "0"}
	for query, want := range map[string]string{
		"vllm:kv_cache_usage_perc":          `vllm:kv_cache_usage_perc{engine="0",model_name="m",namespace="llm"}`,
		"vllm:cache_config_info":            `vllm:cache_config_info{engine="0",namespace="llm"}`,
		"vllm:lora_requests_info":           `vllm:lora_requests_info{namespace="llm"}`,
		"vllm:admission_rejections_total":   `vllm:admission_rejections_total{model_name="m",namespace="llm"}`,
		"http_requests_total":               `http_requests_total{namespace="llm"}`,
		"http_request_duration_seconds_sum": `http_request_duration_seconds_sum{namespace="llm"}`,
		"up":                                `up{engine="0",model_name="m",namespace="llm"}`,
		"DCGM_FI_DEV_FB_USED":               `DCGM_FI_DEV_FB_USED{engine="0",model_name="m",namespace="llm"}`,
		"my_gateway_requests_total":         `my_gateway_requests_total{engine="0",model_name="m",namespace="llm"}`,
	} {
		got, err := Rewrite(query, Dialect{}, matchers)
		if err != nil || got != want {
			t.Errorf("Rewrite(%s) = %s, %v; want %s", query, got, err, want)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	t.Parallel()
	good := map[string]string{"namespace": "llm"}
	for _, tt := range []struct {
		name, query string
		matchers    map[string]string
		want        string
	}{
		{"an empty matcher", "up", map[string]string{"namespace": ""}, "has no value"},
		{"an over-long matcher", "up", map[string]string{"namespace": strings.Repeat("a", 513)}, "513 bytes"},
		{"a matcher that is not UTF-8", "up", map[string]string{"namespace": "a\xff"}, "not UTF-8"},
		{"a matcher on the metric's name", "up", map[string]string{"__name__": "down"}, "not the name of a label"},
		{"a label name with syntax in it", "up", map[string]string{`a="b"} or up{c`: "d"}, "not the name of a label"},
		{"no query", "", good, "not PromQL"},
		{"broken PromQL", "sum(up", good, "not PromQL"},
		{"a range", "up[5m]", good, "range vector"},
		{"a text", `"hello"`, good, "string"},
		{"metrics by pattern", `{__name__=~"vllm:.+"}`, good, "does not name one metric"},
		{"a selector without a name", `sum({job="x"})`, good, "does not name one metric"},
		{
			"a query that no matcher can bound", "vllm:cache_config_info",
			map[string]string{"model_name": "m"},
			"carries none of the pool's labels",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Rewrite(tt.query, Dialect{}, tt.matchers)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Rewrite = %q, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestRewriteNamesAllBadMatchers(t *testing.T) {
	t.Parallel()
	_, err := Rewrite("up", Dialect{}, map[string]string{"a": "", "b": ""})
	if err == nil || !strings.Contains(err.Error(), "matcher a ") || !strings.Contains(err.Error(), "matcher b ") {
		t.Errorf("err = %v; want both matchers named", err)
	}
}

func TestRewriteKeepsHostileValuesAsValues(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`a"} or ignoring() secret{y="`, "back\\slash", "new\nline", "nul\x00byte", "back`tick", "zero\u200bwidth", "'", `\"`,
		`{}`, "日本", `a" # comment`, "\u2028",
	} {
		checkStructure(t, `sum(vllm:num_requests_waiting) / on () max(http_requests_total{code=~"5.."})`, value)
	}
}

// checkStructure rewrites, prints and parses again: the same number of selectors, each with the value exactly once,
// nothing else changed.
func checkStructure(t *testing.T, query, value string) {
	t.Helper()
	got, err := Rewrite(query, Dialect{}, map[string]string{"namespace": value})
	if err != nil {
		t.Fatalf("value %q: %v", value, err)
	}
	before, after := selectorsOf(t, query), selectorsOf(t, got)
	if len(before) != len(after) {
		t.Fatalf("value %q changes the structure: %s", value, got)
	}
	for i := range after {
		found := 0
		for _, m := range after[i].LabelMatchers {
			if m.Name == "namespace" && m.Type == labels.MatchEqual && m.Value == value {
				found++
			}
		}
		extra := 1
		if vllm.RouterTwin(after[i].Name) {
			extra++
		}
		if found != 1 || len(after[i].LabelMatchers) != len(before[i].LabelMatchers)+extra {
			t.Fatalf("value %q: selector %s", value, after[i])
		}
	}
}

func selectorsOf(t *testing.T, query string) []*parser.VectorSelector {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var out []*parser.VectorSelector
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok {
			out = append(out, vs)
		}
		return nil
	})
	return out
}

func FuzzMatcherValueNeverChangesStructure(f *testing.F) {
	for _, v := range []string{"llm", `a"} or ignoring() secret{y="`, "\\", "\n", "`", "\x00", "\u200b", `"`} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if promql.CheckMatchers(map[string]string{"namespace": value}) != nil {
			return // refused, which is safe
		}
		checkStructure(t, `sum(vllm:num_requests_waiting) / on () max(rate(vllm:prompt_tokens_total{code=~"5.."}[5m]))`,
			value)
	})
}

func FuzzRewriteIsStable(f *testing.F) {
	for _, q := range []string{
		"up", "sum(vllm:kv_cache_usage_perc)", `{__name__="vllm_x"}`, "rate(vllm:a_bucket[5m] offset 1m)", "vllm:x @ 12",
		"-vllm_gpu_cache_usage_perc", "sum without (a) (up)",
	} {
		f.Add(q)
	}
	d, _ := DialectOf(v0Names())
	f.Fuzz(func(t *testing.T, query string) {
		matchers := map[string]string{"namespace": "llm"}
		once, err := Rewrite(query, d, matchers)
		if err != nil {
			return
		}
		twice, err := Rewrite(once, d, matchers)
		if err != nil || twice != once {
			t.Errorf("%q becomes %q, then %q, %v", query, once, twice, err)
		}
		if a, b := len(selectorsOf(t, query)), len(selectorsOf(t, once)); a != b {
			t.Errorf("%q has %d selectors, %q has %d", query, a, once, b)
		}
	})
}
