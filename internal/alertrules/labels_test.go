package alertrules

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestLabelsDecideToo(t *testing.T) {
	t.Parallel()
	k := here()
	maps.Copy(k.Selectors, map[string]Presence{
		`vllm:num_requests_waiting{job="old"}`:                                 Absent,
		`vllm:num_requests_waiting{job!=""}`:                                   Present,
		`vllm:request_success_total{finish_reason="abort"}`:                    Absent,
		`vllm:request_success_total{finish_reason!=""}`:                        Absent,
		`vllm:request_success_total{finished_reason="aborted"}`:                Absent,
		`vllm:request_success_total{finished_reason!=""}`:                      Present,
		`vllm:lora_requests_info{running_lora_adapters="a"}`:                   Absent,
		`vllm:num_requests_waiting{namespace="llm"}`:                           Present,
		`vllm:num_requests_waiting_by_reason{reason="deferred"}`:               Unasked,
		`{__name__=~"vllm:.*swapped"}`:                                         Absent,
		`vllm:request_success_total{finished_reason=~"abort|error"}`:           Present,
		`vllm:request_success_total{finished_reason="abort",namespace="llm"}`:  Unasked,
		`vllm:request_success_total{finished_reason!="stop"}`:                  Absent,
		`vllm:request_success_total{finished_reason="error",namespace="nope"}`: Absent,
	})
	for expr, want := range map[string]struct {
		state   State
		why     string
		instead string
	}{
		// a model that sleeps comes back
		`vllm:num_requests_waiting{job="old"} > 5`: {
			Undecided,
			"is the value wrong, or temporarily absent?", "",
		},
		`vllm:num_requests_waiting{namespace="llm"} > 5`: {Can, "", ""},
		`rate(vllm:request_success_total{finish_reason="abort"}[5m]) > 0`: {
			Never,
			"no series of vllm:request_success_total has the label finish_reason: vLLM calls it finished_reason",
			`rate(vllm:request_success_total{finished_reason="abort"}[5m]) > 0`,
		},
		`sum by (finish_reason) (rate(vllm:request_success_total{finish_reason="length"}[5m])) > 0`: {
			Never,
			"finish_reason", `sum by (finished_reason) (rate(vllm:request_success_total{finished_reason="length"}[5m])) > 0`,
		},
		`rate(vllm:request_success_total{finished_reason="aborted"}[5m]) > 0`: {
			Never,
			`finished_reason is never "aborted": vLLM uses stop, length, abort, error, repetition`, "",
		},
		`vllm:lora_requests_info{running_lora_adapters="a"} > 0`: {
			Undecided,
			"only with LoRA adapters", "",
		},
		`vllm:num_requests_waiting_by_reason{reason="deferred"} > 0`: {
			Undecided,
			"not known whether it has series", "",
		},
		`{__name__=~"vllm:.*swapped"} > 0`: {
			Never,
			"has no series", "",
		},
		`rate(vllm:request_success_total{finished_reason="abort",namespace="llm"}[5m]) > 0`: {
			Undecided,
			"not known", "",
		},
		`rate(vllm:request_success_total{finished_reason="error",namespace="nope"}[5m]) > 0`: {
			Never,
			"none in the last 24 h matches", "",
		},
		`rate(vllm:request_success_total{finish_reason="abort"}[5m]) > 0 or vllm:num_requests_waiting`: {Can, "", ""},
	} {
		v, err := Examine(expr, k)
		if err != nil || v.State != want.state || v.Instead != want.instead ||
			want.why != "" && !strings.Contains(strings.Join(v.Why, "; "), want.why) {
			t.Errorf("%s: %v %v, why %q, instead %q", expr, v.State, err, v.Why, v.Instead)
		}
	}
}

func TestRecordingRulesAreFollowed(t *testing.T) {
	t.Parallel()
	k := here()
	k.Recorded = map[string][]string{
		"vllm:swapped:sum": {"sum(vllm_num_requests_swapped)"}, "busy": {"vllm:num_requests_waiting > 5"},
		"two":  {"vllm_num_requests_swapped", "vllm:num_requests_running"},
		"loop": {"loop + 1"}, "bad": {"sum("}, "twice:dead": {"vllm:swapped:sum * 2"},
	}
	for _, m := range []string{"vllm:swapped:sum", "busy", "two", "loop", "bad", "twice:dead"} {
		k.Metrics[m] = Absent
	}
	for expr, want := range map[string]struct {
		state   State
		instead string
	}{
		"vllm:swapped:sum > 0": {Never, "(sum(increase(vllm:num_preemptions_total[5m]))) > 0"},
		"busy > 1":             {Undecided, ""},
		"two > 1":              {Undecided, ""},
		"loop > 1":             {Undecided, ""},
		"bad > 1":              {Undecided, ""},
		"twice:dead > 0":       {Never, "((sum(increase(vllm:num_preemptions_total[5m]))) * 2) > 0"},
	} {
		v, err := Examine(expr, k)
		if err != nil || v.State != want.state || v.Instead != want.instead {
			t.Errorf("%s: %v %v, instead %q, why %q, about %q", expr, v.State, err, v.Instead, v.Why, v.About)
		}
	}
}

// production-stack's router exports a gauge that vLLM itself no longer has.
func TestTheRoutersSeriesAreNotVLLMs(t *testing.T) {
	t.Parallel()
	k := here()
	k.Metrics["vllm:num_requests_swapped"] = Present
	k.Selectors[`vllm:num_requests_swapped{server=""}`] = Absent
	v, err := Examine("vllm_num_requests_swapped > 0", k)
	if err != nil || v.State != Never || v.Instead != "increase(vllm:num_preemptions_total[5m]) > 0" {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = Examine("vllm:num_requests_swapped > 0", k)
	if err != nil || v.State != Can || len(v.Notes) != 1 ||
		!strings.Contains(v.Notes[0], "only production-stack's router exports vllm:num_requests_swapped here") {
		t.Errorf("%+v, %v", v, err)
	}
	asked, err := Selectors("vllm:num_requests_swapped > 0")
	if err != nil || !slices.Contains(asked, `vllm:num_requests_swapped{server=""}`) {
		t.Errorf("%q, %v", asked, err)
	}
}
