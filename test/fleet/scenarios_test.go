package fleet_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// The signals in which the scenarios are described, over the whole fleet.
const (
	ttft     = `histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))`
	itl      = `histogram_quantile(0.95, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m])))`
	queue    = `histogram_quantile(0.95, sum by (le) (rate(vllm:request_queue_time_seconds_bucket[5m])))`
	prefill  = `histogram_quantile(0.95, sum by (le) (rate(vllm:request_prefill_time_seconds_bucket[5m])))`
	waiting  = `avg(vllm:num_requests_waiting)`
	running  = `avg(vllm:num_requests_running)`
	kvLow    = `min(min_over_time(vllm:kv_cache_usage_perc[5m]))`
	kvHigh   = `max(max_over_time(vllm:kv_cache_usage_perc[5m]))`
	preempt  = `sum(increase(vllm:num_preemptions_total[5m]))`
	started  = `sum(increase(vllm:time_to_first_token_seconds_count[5m]))`
	finished = `sum(increase(vllm:request_success_total[5m]))`
	aborted  = `sum(vllm:request_success_total{finished_reason="abort"})`
	tokens   = `sum(increase(vllm:generation_tokens_total[5m]))`
	growth   = `sum(vllm:num_requests_waiting) - sum(vllm:num_requests_waiting offset 3m)`
)

// bound is what a signal has to be: above low and below high. NaN as low means that there must be no value.
type bound struct {
	query     string
	low, high float64
}

const (
	none = math.MaxFloat64 // no upper bound
	ever = -1              // no lower bound of something that is not negative
)

var noValue = math.NaN()

// story is what a scenario must look like after twelve minutes, and which of the shipped alerts must have fired by
// then, no more and no fewer.
type story struct {
	bounds []bound
	alerts []string
}

// inEveryDialect are the scenarios whose alerts depend on the spelling; the others differ from one of them in the load
// only.
func inEveryDialect() []string {
	return []string{"healthy", "swapping", "cache-full", "abort-spike", "stalled"}
}

func stories() map[string]story {
	return map[string]story{
		"healthy": {bounds: []bound{
			{ttft, 0, .5},
			{itl, 0, .1},
			{queue, 0, .3},
			{waiting, ever, 1},
			{kvHigh, .05, .5},
			{preempt, ever, 1},
			{finished, 600, none},
		}},
		"idle": {bounds: []bound{{waiting, ever, 1}, {kvHigh, ever, .1}, {finished, ever, 5}}},
		"high-ttft": {
			bounds: []bound{
				{ttft, 5, none},
				{queue, 5, none},
				{waiting, 50, none},
				{kvHigh, ever, .9},
				{preempt, ever, 1},
				{itl, 0, .1},
			},
			// Some clients leave the queue: the gateway sees it, vLLM's metrics cannot.
			alerts: []string{"vLLMHighAbortRate gateway", "vLLMHighTTFT", "vLLMQueueBacklog"},
		},
		"queue-backlog": {
			bounds: []bound{
				{ttft, 5, none},
				{queue, 5, none},
				{waiting, 50, none},
				{growth, 50, none},
				{kvHigh, ever, .9},
				{preempt, ever, 1},
			},
			alerts: []string{"vLLMHighTTFT", "vLLMQueueBacklog"},
		},
		"swapping": {
			bounds: []bound{{kvHigh, .95, 1.001}, {preempt, 100, none}, {waiting, 20, none}, {itl, .049, none}},
			alerts: []string{
				"vLLMGPUCacheFull", "vLLMHighAbortRate gateway", "vLLMHighTTFT", "vLLMQueueBacklog",
				"vLLMRequestSwapping",
			},
		},
		"cache-full": {
			bounds: []bound{{kvLow, .95, 1}, {preempt, ever, 1}, {waiting, 50, none}},
			alerts: []string{"vLLMGPUCacheFull", "vLLMHighTPOT", "vLLMHighTTFT", "vLLMQueueBacklog"},
		},
		"abort-spike": {
			bounds: []bound{
				{started, 2000, none},
				{started + ` / ` + finished, 2, none},
				{aborted, ever, 1},
				{kvHigh, ever, .9},
				{preempt, ever, 1},
				{ttft, 2.5, none},
			},
			alerts: []string{"vLLMHighAbortRate gateway", "vLLMHighAbortRate inferred", "vLLMHighTTFT", "vLLMQueueBacklog"},
		},
		"long-prefill": {
			bounds: []bound{{ttft, 2.5, 5}, {prefill, 2.5, 5}, {queue, 0, .3}, {waiting, ever, 1}, {kvHigh, ever, .9}},
			alerts: []string{"vLLMHighTTFT"},
		},
		"healthy-full-batch": {
			bounds: []bound{{kvLow, .95, 1}, {preempt, ever, 1}, {waiting, ever, 1}, {ttft, 0, .5}, {itl, 0, .1}},
			alerts: []string{"vLLMGPUCacheFull"},
		},
		"stalled": {
			bounds: []bound{
				{growth, 100, none},
				{finished, ever, 1},
				{tokens, ever, 1},
				{ttft, noValue, 0},
				{queue, noValue, 0},
			},
			alerts: []string{"vLLMQueueBacklog"},
		},
		"wedged": {
			bounds: []bound{{running, 0, none}, {waiting, ever, 1}, {growth, ever, 1}, {tokens, ever, 1}, {queue, noValue, 0}},
			alerts: []string{"vLLMQueueBacklog"},
		},
	}
}

func TestEveryScenarioShowsItsSignsAndFiresItsAlerts(t *testing.T) {
	t.Parallel()
	all := stories()
	for _, s := range fleet.Scenarios() {
		want, ok := all[s.Name]
		if !ok {
			t.Errorf("scenario %s has no story", s.Name)
			continue
		}
		for _, d := range fleet.Dialects() {
			if d != fleet.V1 && !slices.Contains(inEveryDialect(), s.Name) {
				continue
			}
			t.Run(s.Name+"/"+string(d), func(t *testing.T) {
				t.Parallel()
				o := fleet.Options{Scenario: s.Name, Dialect: d, Replicas: 1}
				if d == fleet.V1 {
					o.Replicas = 2
				}
				h := watch(t, o, rulesOf(d))
				h.pass(12 * time.Minute)
				for _, b := range want.bounds {
					h.check(d, b)
				}
				if diff := cmp.Diff(want.alerts, h.fired()); diff != "" {
					t.Errorf("fired alerts (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func (h *history) check(d fleet.Dialect, b bound) {
	h.t.Helper()
	got := h.value(spelled(d, b.query))
	if math.IsNaN(b.low) {
		if !math.IsNaN(got) {
			h.t.Errorf("%s is %g, want no value", b.query, got)
		}
		return
	}
	// A reason that never occurred has no series in the old engine.
	if b.query == aborted && d == fleet.V0 && math.IsNaN(got) {
		return
	}
	if !(got > b.low && got < b.high) {
		h.t.Errorf("%s is %g, want above %g and below %g", b.query, got, b.low, b.high)
	}
}

func TestCacheFullNeverPreemptsHoweverLongItLasts(t *testing.T) {
	t.Parallel()
	f, err := fleet.New(fleet.Options{Scenario: "cache-full"})
	if err != nil {
		t.Fatal(err)
	}
	f.Advance(time.Hour)
	for _, r := range f.State().Replicas {
		if r.Preemptions != 0 {
			t.Errorf("pod %s preempted %d times", r.Name, r.Preemptions)
		}
	}
}

func TestCancelsShowAtTheGatewayAndOnlyThere(t *testing.T) {
	t.Parallel()
	h := watch(t, fleet.Options{Scenario: "abort-spike"}, "")
	h.pass(10 * time.Minute)
	const route = `{envoy_cluster_name="httproute/llm/llama-70b/rule/0"}`
	ratio := h.value(`sum(increase(envoy_cluster_upstream_cx_destroy_local_with_active_rq` + route + `[5m]))
		/ sum(increase(envoy_cluster_upstream_rq_total` + route + `[5m]))`)
	if ratio < .5 {
		t.Errorf("the gateway sees %g of the requests cancelled, want more than half", ratio)
	}
	if n := h.value(aborted); n != 0 {
		t.Errorf("vLLM counts %g aborts, the Python frontend counts none", n)
	}
}

func TestAFrontendThatCountsAbortsCountsThem(t *testing.T) {
	t.Parallel()
	h := watch(t, fleet.Options{Scenario: "abort-spike", CountsAborts: true}, "vllm-alerts.yaml")
	h.pass(10 * time.Minute)
	if ratio := h.value(aborted + ` / sum(vllm:request_success_total)`); !(ratio > .5) {
		t.Errorf("aborts are %g of what ended, want more than half", ratio)
	}
	if names := h.fired(); !slices.Contains(names, "vLLMHighAbortRate counted") ||
		slices.Contains(names, "vLLMHighAbortRate inferred") {
		t.Errorf("fired: %q, want the abort rate as vLLM counted it and not inferred a second time", names)
	}
}
