package diagnosis

import (
	"fmt"
	"math"
	"strconv"
)

// column is one exported series of one engine: its name after the prefix, the labels that the metric adds, and its
// value at each scrape.
type column struct {
	name   string
	extra  []string // names and values in turn
	values []float64
	// model is false for metrics without model_name and engine.
	model bool
}

// columns are everything that an engine of this edition exports, in the order of vLLM's loggers.
func (m *machine) columns() []column {
	e := m.inc.edition()
	w := writer{m: m, e: e}
	w.queues()
	w.cache()
	w.tokens()
	w.latencies()
	w.shapes()
	w.optional()
	w.config()
	return w.out
}

type writer struct {
	m   *machine
	e   edition
	out []column
}

func (w *writer) gauge(name string, values []float64, extra ...string) {
	w.out = append(w.out, column{name: name, extra: extra, values: values, model: true})
}

func (w *writer) counter(name, rec string, extra ...string) {
	w.counterOf(name, w.m.tp.total(w.m.tp.counters[rec]), extra...)
}

func (w *writer) counterOf(name string, values []float64, extra ...string) {
	w.gauge(name+"_total", values, extra...)
	w.created(name, extra...)
}

// created is the time at which Python's client made the metric; it is a gauge that nobody should use.
func (w *writer) created(name string, extra ...string) {
	if w.m.inc.Dialect == native || w.m.inc.Dialect == routerTwins || w.m.inc.Dialect == kserveTwins {
		w.gauge(name+"_created", w.m.born(), extra...)
	}
}

// born is when the process began, at each scrape.
func (m *machine) born() []float64 {
	out := make([]float64, m.tp.steps)
	start, e := float64(m.inc.first().Unix()), 0
	for i := range out {
		for e+1 < len(m.tp.epochs) && float64(i)*m.tp.interval >= m.tp.epochs[e+1].from {
			e++
		}
		out[i] = start - 86400*3
		if e > 0 || len(m.tp.epochs) > 0 && m.tp.epochs[0].from > 0 {
			out[i] = start + m.tp.epochs[e].from
		}
	}
	return out
}

func (w *writer) histogram(name, rec string, bounds []float64) {
	h := w.m.tp.tally(rec, bounds)
	buckets := w.m.tp.cumulative(h)
	for i, bound := range bounds {
		w.gauge(name+"_bucket", buckets[i], "le", le(bound))
	}
	w.gauge(name+"_bucket", buckets[len(bounds)], "le", "+Inf")
	w.gauge(name+"_count", buckets[len(bounds)])
	w.gauge(name+"_sum", w.m.tp.sums(h))
	w.created(name)
}

// le prints a bound as Python's client does: 1.0, 0.25, 2560.0.
func le(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if v == math.Trunc(v) {
		return s + ".0"
	}
	return s
}

func (w *writer) queues() {
	running, waiting := w.m.inBatch(), w.m.tp.gauge(recWaiting)
	w.gauge("num_requests_running", running)
	switch {
	case w.e.v0: // what is preempted is swapped out or waits; V0 recomputes by default, so it waits
		w.gauge("num_requests_waiting", waiting)
		if !w.e.from(8, 3) {
			w.gauge("num_requests_swapped", w.m.flat(0))
		}
	default:
		w.gauge("num_requests_waiting", waiting)
	}
	if w.e.from(20, 0) {
		deferred := w.m.series(func(p Physics) *quantity { return p.Deferred })
		capacity := make([]float64, len(waiting))
		for i, n := range waiting {
			deferred[i] = math.Round(deferred[i] * n)
			capacity[i] = n - deferred[i]
		}
		w.gauge("num_requests_waiting_by_reason", capacity, "reason", "capacity")
		w.gauge("num_requests_waiting_by_reason", deferred, "reason", "deferred")
	}
}

// inBatch are the requests in the batch: those between schedule and end that do not wait again.
func (m *machine) inBatch() []float64 {
	out := m.tp.gauge(recRunning)
	for i, n := range m.tp.gauge(recPreempted) {
		out[i] = math.Max(0, out[i]-n)
	}
	return out
}

func (m *machine) flat(v float64) []float64 {
	out := make([]float64, m.tp.steps)
	for i := range out {
		out[i] = v
	}
	return out
}

// series is a quantity of the timeline at each scrape. What a frozen engine showed last, it shows on.
func (m *machine) series(of func(Physics) *quantity) []float64 {
	out := make([]float64, m.tp.steps)
	for i := range out {
		t := float64(i) * m.tp.interval
		for _, e := range m.tp.epochs {
			if t >= e.stall && t < e.to && m.tl.stallAt(e.stall) == stallFrozen {
				t = e.stall - 1
			}
		}
		s := m.tl.at(t)
		out[i] = s.value(of(s.Physics), t)
	}
	return out
}

// usage is the part of the cache in use, with the unrest that every engine has; nothing runs, nothing is in use.
func (m *machine) usage() []float64 {
	out := m.series(func(p Physics) *quantity { return p.KV })
	running := m.inBatch()
	for i := range out {
		if running[i] == 0 {
			out[i] = 0
			continue
		}
		noise := 0.015 * math.Sin(float64(i)*2.399+float64(len(m.inc.Name)))
		out[i] = math.Max(0, math.Min(1, out[i]*(1+noise*(1-out[i])*3)))
	}
	for _, e := range m.tp.epochs {
		if math.IsInf(e.stall, 1) || m.tl.stallAt(e.stall) != stallFrozen {
			continue
		}
		from, _ := m.tp.step(e.stall)
		for i := max(1, from); i < m.tp.steps && float64(i)*m.tp.interval < e.to; i++ {
			out[i] = out[i-1]
		}
	}
	return out
}

func (w *writer) cache() {
	usage := w.m.usage()
	if !w.e.from(11, 0) {
		w.gauge("gpu_cache_usage_perc", usage)
	}
	if w.e.from(9, 2) {
		w.gauge("kv_cache_usage_perc", usage)
	}
	if w.e.v0 {
		w.gauge("cpu_cache_usage_perc", w.m.flat(0))
		w.gauge("cpu_prefix_cache_hit_rate", w.m.flat(-1))
		w.gauge("gpu_prefix_cache_hit_rate", w.m.flat(-1)) // prefix caching is off by default in V0
		return
	}
	if !w.e.from(11, 0) {
		w.counter("gpu_prefix_cache_queries", recQueried)
		w.counter("gpu_prefix_cache_hits", recHit)
	}
	if w.e.from(9, 2) {
		w.counter("prefix_cache_queries", recQueried)
		if w.m.inc.Dialect == simulator { // llm-d-inference-sim #615
			w.gauge("prefix_cache_hits", w.m.tp.total(w.m.tp.counters[recHit]))
		} else {
			w.counter("prefix_cache_hits", recHit)
		}
	}
	if w.e.from(11, 1) {
		external := recUncached
		if !w.m.inc.connected() {
			external = "never"
		}
		w.counter("external_prefix_cache_queries", external)
		w.counter("external_prefix_cache_hits", recExternal)
		w.counter("mm_cache_queries", "never")
		w.counter("mm_cache_hits", "never")
	}
}

func (w *writer) tokens() {
	w.counter("num_preemptions", recPreempt)
	w.counter("prompt_tokens", recPrompt)
	w.counter("generation_tokens", recGenerated)
	if w.e.v0 {
		w.counterOf("tokens", w.m.both(recPrompt, recGenerated))
	}
	if w.e.from(16, 0) {
		w.counter("prompt_tokens_by_source", recComputed, "source", "local_compute")
		w.counter("prompt_tokens_by_source", recCached, "source", "local_cache_hit")
		w.counter("prompt_tokens_by_source", recExternal, "source", "external_kv_transfer")
		w.counter("prompt_tokens_cached", recCached)
	}
	reasons := []string{"stop", "length", "abort"}
	if w.e.from(13, 0) {
		reasons = append(reasons, "error")
	}
	if w.e.from(17, 0) {
		reasons = append(reasons, "repetition")
	}
	for _, reason := range reasons {
		rec := recFinish + reason
		if reason == "abort" && w.m.inc.CountsAborts {
			rec = recLeft
		}
		if w.e.v0 && w.m.tp.counters[rec] == nil {
			continue // V0 makes each when it first happens
		}
		w.counter("request_success", rec, "finished_reason", reason)
	}
}

func (m *machine) both(a, b string) []float64 {
	x, y := m.tp.total(m.tp.counters[a]), m.tp.total(m.tp.counters[b])
	for i := range x {
		x[i] += y[i]
	}
	return x
}

func (w *writer) latencies() {
	b := w.m.b
	w.histogram("iteration_tokens_total", histIteration, iterationBounds())
	w.histogram("time_to_first_token_seconds", histTTFT, b.ttft)
	if !w.e.from(12, 0) {
		w.histogram("time_per_output_token_seconds", histITL, b.itl)
	}
	if w.e.from(10, 2) {
		w.histogram("inter_token_latency_seconds", histITL, b.itl)
	}
	if w.e.from(11, 0) {
		w.histogram("request_time_per_output_token_seconds", histTPOT, b.itl)
	}
	w.histogram("e2e_request_latency_seconds", histE2E, b.latency)
	w.histogram("request_queue_time_seconds", histQueue, b.latency)
	w.histogram("request_inference_time_seconds", histInference, b.latency)
	w.histogram("request_prefill_time_seconds", histPrefill, b.latency)
	w.histogram("request_decode_time_seconds", histDecode, b.latency)
	if w.e.v0 {
		w.histogram("time_in_queue_requests", histQueue, b.latency)
	}
}

func (w *writer) shapes() {
	b := w.m.b
	w.histogram("request_prompt_tokens", histPrompt, b.tokens)
	w.histogram("request_generation_tokens", histGen, b.tokens)
	w.histogram("request_max_num_generation_tokens", histMaxGen, b.tokens)
	w.histogram("request_params_n", histN, []float64{1, 2, 5, 10, 20})
	w.histogram("request_params_max_tokens", histMaxTokens, b.tokens)
	if w.e.from(13, 0) {
		w.histogram("request_prefill_kv_computed_tokens", histComputed, b.tokens)
	}
}

// optional are the metrics of features that may be off.
func (w *writer) optional() {
	if w.e.from(11, 1) {
		for state, v := range map[string]float64{"awake": 1, "weights_offloaded": 0, "discard_all": 0} {
			w.gauge("engine_sleep_state", w.m.flat(v), "sleep_state", state)
		}
	}
	if w.m.inc.NIXL && w.e.from(11, 1) {
		w.histogram("nixl_xfer_time_seconds", histXfer, xferBounds())
		w.histogram("nixl_bytes_transferred", histBytes, byteBounds())
		w.counter("nixl_num_failed_transfers", recXferFail)
		w.counter("nixl_num_failed_notifications", "never")
		if w.e.from(15, 0) {
			w.counter("nixl_num_kv_expired_reqs", recExpired)
		}
	}
	if w.m.inc.Draft > 0 {
		w.speculative()
	}
	if w.m.inc.LoRA > 0 {
		w.out = append(w.out, column{name: "lora_requests_info", values: w.m.now(), extra: []string{
			"max_lora", strconv.Itoa(w.m.inc.LoRA), "running_lora_adapters", "sql,legal", "waiting_lora_adapters",
			"support,medical,code",
		}})
	}
}

// now is the time of the scrape: lora_requests_info has it as its value.
func (m *machine) now() []float64 {
	out := make([]float64, m.tp.steps)
	for i := range out {
		out[i] = float64(m.inc.first().Unix()) + float64(i)*m.tp.interval
	}
	return out
}

// speculative writes drafts so that the generated tokens are those that were accepted plus one for each draft.
func (w *writer) speculative() {
	drafts, draftTokens, accepted := make([]float64, w.m.tp.steps), make([]float64, w.m.tp.steps),
		make([]float64, w.m.tp.steps)
	k := float64(w.m.inc.Draft)
	for i, tokens := range w.m.tp.counters[recDecoded] {
		t := (float64(i) - 0.5) * w.m.tp.interval
		s := w.m.tl.at(t)
		a := s.value(s.Acceptance, t)
		drafts[i] = tokens / (1 + k*a)
		draftTokens[i], accepted[i] = drafts[i]*k, drafts[i]*k*a
	}
	w.counterOf("spec_decode_num_drafts", w.m.tp.total(drafts))
	w.counterOf("spec_decode_num_draft_tokens", w.m.tp.total(draftTokens))
	w.counterOf("spec_decode_num_accepted_tokens", w.m.tp.total(accepted))
	for p := range w.m.inc.Draft {
		part := make([]float64, len(accepted))
		for i, v := range accepted {
			part[i] = v * float64(w.m.inc.Draft-p) * 2 / (k * (k + 1))
		}
		w.counterOf("spec_decode_num_accepted_tokens_per_pos", w.m.tp.total(part), "position", strconv.Itoa(p))
	}
}

// capacity is how many tokens the cache holds, from what was in flight at the usage that the incident states.
func (m *machine) capacity() float64 {
	usage, tokens, running := m.usage(), m.tp.counters[recTokens], m.inBatch()
	var weighted, weight float64
	for i := range tokens {
		if running[i] < 1 || usage[i] < 0.02 || tokens[i] == 0 {
			continue
		}
		weighted += tokens[i] / m.tp.interval
		weight += usage[i]
	}
	if weight == 0 {
		return 400_000
	}
	return math.Max(20_000, math.Round(weighted/weight/16)*16)
}

// config is vllm:cache_config_info, whose labels are numbers.
func (w *writer) config() {
	tokens := w.m.shared
	caching := "True"
	if off := w.m.inc.PrefixCaching; off != nil && !*off || off == nil && w.e.v0 {
		caching = "False"
	}
	extra := []string{
		"block_size", "16", "cache_dtype", "auto", "calculate_kv_scales", "False", "cpu_offload_gb", "0",
		"enable_prefix_caching", caching,
		"gpu_memory_utilization", w.e.memory(), "is_attention_free", "False", "num_cpu_blocks", "None",
		"num_gpu_blocks", strconv.Itoa(int(tokens / 16)), "num_gpu_blocks_override", "None", "sliding_window", "None",
	}
	if !w.e.from(18, 0) {
		extra = append(extra, "swap_space", "4")
	}
	if w.e.from(11, 0) {
		extra = append(extra, "kv_cache_memory_bytes", "None", "prefix_caching_hash_algo", "sha256")
	}
	if w.e.from(24, 0) {
		extra = append(extra, "kv_cache_size_tokens", fmt.Sprint(int(tokens)), "kv_cache_max_concurrency",
			strconv.FormatFloat(tokens/131072, 'f', 2, 64))
	}
	w.out = append(w.out, column{name: "cache_config_info", extra: extra, values: w.m.flat(1)})
}

// memory is gpu_memory_utilization's default, which rose with 0.21.
func (e edition) memory() string {
	if e.from(21, 0) {
		return "0.92"
	}
	return "0.9"
}
