package alertrules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// here is a Prometheus with servers of current vLLM, one foreign metric that has series and one that has none.
func here() Known {
	k := knows("vllm:", v1Names()...)
	k.Metrics["up"] = Present
	k.Metrics["gone_metric"] = Absent
	k.Metrics["vllm:nixl_num_failed_transfers_total"] = Absent
	return k
}

func TestExamineIsThreeValued(t *testing.T) {
	t.Parallel()
	const dead, live, open = "vllm:num_requests_swapped", "vllm:num_requests_waiting", "gone_metric"
	for expr, want := range map[string]State{
		live + " > 5": Can, dead + " > 0": Never, open + " > 5": Undecided,
		dead + " + 1 > 0": Never, "1 + " + dead + " > 0": Never, "-" + dead + " < 0": Never,
		dead + " + " + live + " > 0": Never, live + " * " + open + " > 0": Undecided,
		dead + " and " + live: Never, live + " and " + dead: Never, live + " and " + open: Undecided,
		open + " and " + dead: Never,
		dead + " or " + live:  Can, live + " or " + dead: Can, dead + " or " + dead: Never, dead + " or " + open: Undecided,
		live + " or " + open:     Can,
		live + " unless " + dead: Can, dead + " unless " + live: Never, open + " unless " + dead: Undecided,
		"sum(" + dead + ") > 0": Never, "count(" + dead + ") == 0": Never, "count(" + live + ") == 0": Never,
		"count(" + live + ") >= 1":            Can,
		"max_over_time(" + dead + "[5m]) > 0": Never, "max_over_time((" + dead + " > 1)[5m:1m]) > 0": Never,
		"quantile(0.5, " + dead + ") > 0": Never,
		"absent(" + dead + ")":            Can, "absent_over_time(" + dead + "[5m])": Can, "absent(" + live + ")": Can,
		"absent(" + dead + ") == 0": Never,
		"vector(1)":                 Can, "vector(time()) > 0": Can, "vector(0) > 1": Never, "1 > bool 2": Can, "1": Can,
		"scalar(" + dead + ") > bool 1": Can, live + " > scalar(" + dead + ")": Never,
		"vector(scalar(" + dead + ")) > 0": Never, live + " > scalar(" + live + ")": Can,
		live + " != scalar(" + dead + ")": Can, dead + " > bool 0": Never, live + " > on (instance) " + dead: Never,
		"label_replace(" + dead + `, "a", "$1", "b", "(.*)")`: Never, "hour() > 23": Can, "hour(" + dead + ") > 5": Never,
		"topk(3, " + dead + ")": Never, `{__name__=~"vllm:nothing.*"} > 0`: Undecided, live + " offset 5m > 0": Can,
		live + " @ 0 > 0": Can,
		// What vLLM exports only sometimes, and what belongs to others, is left open.
		"rate(vllm:nixl_num_failed_transfers_total[5m]) > 0": Undecided,
		"rate(http_requests_total{status=\"5xx\"}[5m]) > 0":  Undecided,
		"vllm:current_qps > 1":                               Undecided, "vllm:something_new_total > 1": Undecided,
		"vllm:kv_offload_size > 1": Undecided, "vllm:ttft:p95 > 3": Undecided,
		// Somebody's own metric may be in percent, or negative.
		"vllm_kv_cache_utilization > 95": Can, "vllm_my_own < 0": Can,
		// What needs a switch in Prometheus.
		"max_of(1, 2) > bool 1": Can, "sort_by_label(" + dead + `, "a") > 0`: Never,
		"info(" + live + `, {k8s_cluster="a"}) > 0`: Can, "info(" + dead + ") > 0": Never,
		live + " + fill_right(0) " + dead + " > 0": Can, "rate(" + dead + "[5m+1m]) > 0": Never,
		"rate(" + live + "[5m] anchored) > 0": Can,
		// A misspelled name is nobody's.
		"vllm:num_request_waiting > 5": Never,
	} {
		k := here()
		k.Metrics["vllm_kv_cache_utilization"], k.Metrics["vllm_my_own"] = Present, Present
		v, err := Examine(expr, k)
		if err != nil || v.State != want || (want == Never) != (len(v.Why) > 0) && want != Undecided {
			t.Errorf("%s: %v, want %v; why %q, %v", expr, v.State, want, v.Why, err)
		}
	}
}

func TestConditionsThatNoValueCanMeet(t *testing.T) {
	t.Parallel()
	const ttft, kv = `sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m]))`, `vllm:kv_cache_usage_perc`
	const errors = `sum(rate(vllm:request_success_total{finished_reason="error"}[5m]))`
	const all = `sum(rate(vllm:request_success_total[5m]))`
	for _, tc := range []struct {
		expr, why, instead string
		state              State
	}{
		{kv + " > 95", "vllm:kv_cache_usage_perc is a fraction: 1 means full, so", kv + " > 0.95", Never},
		{"avg by (instance) (" + kv + ") >= 90.5", "is a fraction", "avg by (instance) (" + kv + ") >= 0.905", Never},
		{"max_over_time(" + kv + "[10m]) > 1", "is a fraction", "max_over_time(" + kv + "[10m]) >= 1", Never},
		{kv + " > 9500", "is a fraction", "", Never},
		{kv + " == 2", "is a fraction", "", Never},
		{kv + " < 0", "can never be true: its left side is between 0 and 1 and its right side 0", "", Never},
		{kv + " >= 1", "", "", Can},
		{kv + " * 100 > 95", "", "", Can},
		{kv + " * 100 > 100", "is a fraction", kv + " * 100 >= 100", Never},
		{"100 * " + kv + " / 100 > 1.5", "is a fraction", "100 * " + kv + " / 100 > 0.015", Never},
		{"1 - " + kv + " < 0", "can never be true", "", Never},
		{"1 - " + kv + " < 0.05", "", "", Can},
		{"sum(" + kv + ") > 3", "", "", Can},
		{"vllm:gpu_cache_usage_perc > 95", "was renamed", kv + " > 0.95", Never},
		{errors + " / " + all + " > 5", "is a share: 1 means all", errors + " / " + all + " > 0.05", Never},
		{errors + " / " + all + " * 100 > 5", "", "", Can},
		{errors + " / sum(rate(vllm:request_success_total[1m])) > 5", "", "", Can},
		{all + " / " + errors + " > 5", "", "", Can},
		{
			"histogram_quantile(0.95, " + ttft + ") > 2560", "the last bucket of vllm:time_to_first_token_seconds ends at 2560",
			"histogram_quantile(0.95, " + ttft + ") >= 2560", Never,
		},
		{
			"histogram_quantile(0.95, " + ttft + ") > 5000", "never exceeds it",
			"histogram_quantile(0.95, " + ttft + ") >= 2560", Never,
		},
		{"histogram_quantile(0.95, " + ttft + ") >= 2560", "", "", Can},
		{"histogram_quantile(1.5, " + ttft + ") > 5000", "", "", Can},
		// its buckets are not known
		{"histogram_quantile(0.95, rate(vllm:e2e_request_latency_seconds_bucket[5m])) > 1e9", "", "", Can},
		{
			"histogram_quantile(0.95, sum by (instance) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5",
			`needs the label le, which "sum by (instance)" removes`,
			"histogram_quantile(0.95, sum by (le, instance) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5", Never,
		},
		{
			"histogram_quantile(0.95, sum without (le, pod) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5",
			"needs the label le",
			"histogram_quantile(0.95, sum without (pod) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5", Never,
		},
		{
			"histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_count[5m])) > 2.5", "needs buckets",
			"histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_bucket[5m])) > 2.5", Never,
		},
		{
			"histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds[5m])) > 2.5",
			"is a histogram, whose series end in _bucket, _sum and _count",
			"histogram_quantile(0.95, rate(vllm:time_to_first_token_seconds_bucket[5m])) > 2.5", Never,
		},
		{
			"vllm:time_to_first_token_seconds > 2.5", "is a histogram",
			"histogram_quantile(0.95, sum without (engine) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5", Never,
		},
		{
			"avg_over_time(vllm_time_to_first_token_seconds[10m]) > 3", "is a histogram",
			"(rate(vllm:time_to_first_token_seconds_sum[10m]) / rate(vllm:time_to_first_token_seconds_count[10m])) > 3", Never,
		},
		{
			"rate(vllm:generation_tokens_created[5m]) > 5", "stays constant until the server restarts",
			"rate(vllm:generation_tokens_total[5m]) > 5", Never,
		},
		{
			"rate(vllm:time_to_first_token_seconds_created[5m]) > 5", "stays constant",
			"rate(vllm:time_to_first_token_seconds_count[5m]) > 5", Never,
		},
		{"vllm:generation_tokens_created > 5", "", "", Undecided},
		{"vllm:num_requests_waiting < 0", "never below 0", "", Never},
		{"rate(vllm:generation_tokens_total[5m]) >= 0", "", "", Can},
		{"deriv(vllm:kv_cache_usage_perc[5m]) > 2", "", "", Can},
		{"sum_over_time(vllm:kv_cache_usage_perc[5m]) > 2", "", "", Can},
		{
			"vllm:num_request_waiting > 5", "no version of vLLM has it; did you mean num_requests_waiting?",
			"vllm:num_requests_waiting > 5",
			Never,
		},
	} {
		k := here()
		k.Metrics["vllm:generation_tokens_created"], k.Metrics["vllm:time_to_first_token_seconds_created"] = Present, Present
		if tc.state == Undecided {
			k = here()
		}
		k.Selectors[`vllm:request_success_total{finished_reason="error"}`] = Present
		v, err := Examine(tc.expr, k)
		if err != nil || v.State != tc.state || v.Instead != tc.instead ||
			tc.why != "" && !strings.Contains(strings.Join(v.Why, "; "), tc.why) {
			t.Errorf("%s:\n%v %v, why %q\ninstead %q\nwant    %q", tc.expr, v.State, err, v.Why, v.Instead, tc.instead)
		}
	}
}

func TestNotesAreNoVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expr, note string }{
		{
			`histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 3`,
			"3 lies inside the bucket from 2.5 to 5 of vllm:time_to_first_token_seconds",
		},
		{
			`histogram_quantile(0.95, sum by (le) (rate(vllm:request_queue_time_seconds_bucket[5m]))) > 0.1`,
			"0.1 lies inside the bucket from 0 to 0.3",
		},
		{`histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 2.5`, ""},
		{`sum(rate(vllm:generation_tokens_total[5m])) < 100`, "is true on every idle server"},
		{`increase(vllm:request_success_total[5m]) == 0`, "is true on every idle server"},
		{`increase(vllm:request_success_total[5m]) == 0 and vllm:num_requests_waiting > 0`, ""},
		{`rate(vllm:generation_tokens_total[5m]) < 0.5 * rate(vllm:generation_tokens_total[5m] offset 1d)`, ""},
		{`rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m]) < 0.1`, ""},
		{`rate(vllm:generation_tokens_total[5m]) / rate(vllm:request_success_total[5m]) < 10`, ""},
		{`rate(vllm:request_success_total{finished_reason="abort"}[5m]) > 0`, "does not count clients that disconnected"},
		{
			`absent(vllm:num_requests_swapped)`,
			"absent(vllm:num_requests_swapped) fires all the time: vllm:num_requests_swapped has no series",
		},
		{`vllm:num_requests_waiting > 5`, ""},
		// about the correction
		{
			`histogram_quantile(0.95, sum by (le) (rate(vllm_time_to_first_token_seconds_bucket[5m]))) > 3`,
			"3 lies inside the bucket",
		},
		{`rate(vllm:generation_tokens_total[5m]) <= 0 unless sum without (a) (vllm:num_requests_running) == 0`, ""},
	} {
		v, err := Examine(c.expr, here())
		got := strings.Join(v.Notes, "; ")
		if err != nil || (c.note == "") != (got == "") || !strings.Contains(got, c.note) {
			t.Errorf("%s: %q, want %q (%v)", c.expr, got, c.note, err)
		}
	}
}

func TestWhatIsNoAlertExpressionIsAnError(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"", "sum(", "vllm:x[5m]", `"text"`, "up ==", "a b"} {
		if v, err := Examine(expr, here()); err == nil {
			t.Errorf("%s: %+v", expr, v)
		}
	}
	if _, err := Selectors("sum("); err == nil {
		t.Error("Selectors takes what is not PromQL")
	}
	if _, err := Metrics("sum("); err == nil {
		t.Error("Metrics takes what is not PromQL")
	}
	if got := Pretty("sum("); got != "sum(" {
		t.Errorf("Pretty(sum() = %q", got)
	}
}

func TestSelectorsAskForTheMetricAndItsLabels(t *testing.T) {
	t.Parallel()
	got, err := Selectors(`sum(rate(a{x="1",y!="2",z=~".+"}[5m] offset 1h)) / a > {__name__=~"b.*"}`)
	want := []string{`a{x="1",y!="2",z=~".+"}`, `a`, `a{x!=""}`, `a{z!=""}`, `{__name__=~"b.*"}`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// The shipped rules are alive on the servers that they are for, whatever has no series among the gateway's metrics.
func TestTheShippedRulesAreNotDead(t *testing.T) {
	t.Parallel()
	for file, known := range map[string]Known{
		"vllm-alerts.yaml":            knows("vllm:", v1Names()...),
		"vllm-alerts-v0.yaml":         knows("vllm:", v0Names()...),
		"vllm-alerts-underscore.yaml": knows("vllm_", respelled(v1Names(), "vllm_")...),
	} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "rules", file))
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Groups []struct {
				Rules []struct{ Alert, Record, Expr string }
			}
		}
		if err := yaml.Load(raw, &doc); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, g := range doc.Groups {
			for _, r := range g.Rules {
				if r.Alert == "" {
					continue
				}
				n++
				v, err := Examine(r.Expr, known)
				if err != nil || v.State == Never || !Concerns(r.Expr, nil) {
					t.Errorf("%s, %s: %v, %+v", file, r.Alert, err, v)
				}
				if len(v.Notes) > 0 {
					t.Errorf("%s, %s: %q", file, r.Alert, v.Notes)
				}
			}
		}
		if n < 7 {
			t.Errorf("%s: %d alerts", file, n)
		}
	}
}

// FuzzExamine: foreign expressions never panic, and a correction is always PromQL that is not dead again.
func FuzzExamine(f *testing.F) {
	for _, tc := range seedRules() {
		f.Add(tc.expr, true)
	}
	for _, expr := range []string{
		"vllm:kv_cache_usage_perc > 95", "vllm:time_to_first_token_seconds > 1", "-vllm_queue_depth ^ 2 < -1",
		"sum by (finish_reason) (vllm_finished_request_total)",
		"vllm_prefix_cache_hit_rate[5m:1m]", "max_over_time(vllm_prefix_cache_hit_rate[5m] @ end() offset -1m) < 1",
		`{__name__="vllm_queue_depth",job=~"a|b"}`,
		"rate(vllm:generation_tokens_created[5m]) > 1", "vllm_gpu_utilization ^ 2", "scalar(vllm_queue_depth) > bool 1",
		"topk(vllm_queue_depth, up)",
		`label_replace(vllm_gpu_utilization, "a", "b", "c", "d") > 0`, "vllm_queue_depth and on () vllm_ttft_seconds_sum",
		"vector(time()) < 0", `{"vllm_queue_depth"} > 0`,
		"rate(vllm_num_requests_swapped[5m+1m] anchored) > 0", "vllm_queue_depth + fill(0) vllm_ttft_seconds_sum > 1",
		"info(vllm_queue_depth, {a=\"b\"})",
		"rate(vllm_output_tokens_total[5m]) < 1 and rate(vllm_requests_completed_total[5m]) * 60 < 100", "NaN > 1",
		"vllm_num_requests_swapped{a=\"\\n\"} > Inf",
	} {
		f.Add(expr, true)
		f.Add(expr, false)
	}
	f.Fuzz(func(t *testing.T, expr string, current bool) {
		known := here()
		if !current {
			known = knows("ray_vllm_", respelled(v0Names(), "ray_vllm_")...)
		}
		known.Recorded = map[string][]string{"vllm:a:b": {expr}}
		known.Metrics["vllm:a:b"] = Absent
		v, err := Examine(expr, known)
		if err != nil || v.Instead == "" {
			return
		}
		if v.State != Never {
			t.Errorf("%q %v and is corrected to %q", expr, v.State, v.Instead)
		}
		again, err := Examine(v.Instead, known)
		if err != nil || again.State == Never {
			t.Errorf("%q is corrected to %q: %v %+v", expr, v.Instead, err, again)
		}
		if again, err = Examine(Pretty(v.Instead), known); err != nil || again.State == Never {
			t.Errorf("%q in lines is %q: %v %+v", expr, Pretty(v.Instead), err, again)
		}
	})
}
