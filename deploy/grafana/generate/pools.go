package main

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/present"
)

// chosen are the matchers of the two variables; every selector of vLLM's metrics has them.
const chosen = `namespace=~"$namespace",model_name=~"$model"`

const (
	byPool   = "sum by (namespace, model_name) "
	poolName = "{{namespace}}/{{model_name}}"
	podName  = "{{namespace}}/{{pod}}"
	// gauge leaves out production-stack's router, which exports the engines' queue gauges a second time.
	running = `vllm:num_requests_running{server="",` + chosen + "}"
	waiting = `vllm:num_requests_waiting{server="",` + chosen + "}"
)

// rate is the rate of a metric over the window that was chosen: 5 minutes at first, as in the alert rules and in the
// bot's readings.
func rate(metric string, matchers ...string) string {
	return "rate(" + metric + "{" + strings.Join(append([]string{chosen}, matchers...), ",") + "}[$window])"
}

// either is the metric that vLLM exports today, or the one that older versions have instead. Those between export both,
// and count once.
func either(now, before string, of func(metric string) string) string {
	return "(" + of(now) + " or " + of(before) + ")"
}

func selected(metric string) string { return metric + "{" + chosen + "}" }

func kvUsage() string {
	return either("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", selected)
}

// tokenTimes is a rate of the histogram of the times between tokens; the suffix is that of its series.
func tokenTimes(suffix string, matchers ...string) string {
	return either("vllm:inter_token_latency_seconds"+suffix, "vllm:time_per_output_token_seconds"+suffix,
		func(metric string) string { return rate(metric, matchers...) })
}

// prefixCache leaves production-stack's router out, too: it has gauges with the older names.
func prefixCache(counter string) string {
	return either("vllm:prefix_cache_"+counter, "vllm:gpu_prefix_cache_"+counter,
		func(metric string) string { return rate(metric, `server=""`) })
}

// quantile is a quantile of each pool's histogram, of which the rate is given.
func quantile(q, buckets string) string {
	return "histogram_quantile(" + q + ", sum by (namespace, model_name, le) (" + buckets + "))"
}

func p95(histogram string) []query {
	return []query{{quantile("0.95", rate("vllm:"+histogram+"_bucket")), poolName}}
}

// pools is the dashboard of what is served, by pool: a namespace and a model.
func pools() dashboard {
	d := board(present.PoolsDashboard, "vLLM: golden signals by pool",
		"The six signals to open in an incident, for each model that vLLM serves, with the incidents that vllm-medic opened.")
	d.Templating.List = []variable{
		chooser(),
		choice("namespace", "Namespace", `vllm:num_requests_running{server=""}`, "namespace"),
		choice("model", "Model", `vllm:num_requests_running{server="",namespace=~"$namespace"}`, "model_name"),
		{
			Name: "window", Label: "Window", Type: "interval", Query: "1m,5m,15m,1h,6h", Refresh: 2,
			Current: &option{Selected: true, Text: []string{"5m"}, Value: []string{"5m"}},
		},
		ofPool(),
	}
	d.Annotations.List = append([]annotation{
		marks("Alerts", "orange", `ALERTS{alertstate="firing",alertname=~"vLLM.+",`+chosen+"}",
			"{{alertname}}", poolName+" {{pod}}", "severity"),
	}, incidentMarks("")...)
	d.Panels = laid(now(), goldenSignals(), latency(), requests(), byPod())
	return d
}

func now() row {
	return row{title: "Now, all selected pools", width: 4, height: 4, charts: []chart{
		{
			title: "Engines", stat: true, unit: "short", queries: []query{{"count(" + running + ")", ""}},
			description: "Engines that report metrics: one for each data-parallel rank of each pod.",
		},
		{
			title: "Running", stat: true, unit: "short", queries: []query{{"sum(" + running + ")", ""}},
			description: "Requests that the engines work on.",
		},
		{
			title: "Waiting", stat: true, unit: "short", queries: []query{{"sum(" + waiting + ")", ""}},
			description: "Requests that no engine works on yet, or that were preempted.",
		},
		{
			title: "KV cache, fullest engine", stat: true, unit: "percentunit", share: true, limit: .95,
			queries:     []query{{"max(" + kvUsage() + ")", ""}},
			description: "Cached blocks that could be evicted count as free, so 100% is really full.",
		},
		{
			title: "Tokens per second", stat: true, unit: "short",
			queries:     []query{{"sum(" + rate("vllm:generation_tokens_total") + ")", ""}},
			description: "Tokens of answers. Prompts are below.",
		},
		{
			title: "Alerts firing", stat: true, unit: "short", calm: true,
			queries: []query{{
				`count(ALERTS{alertstate="firing",alertname=~"vLLM.+",` + chosen + "}) or vector(0)", "",
			}},
			description: "Of the rules in deploy/prometheus that this Prometheus evaluates. 0 also when they aren't loaded.",
		},
	}}
}

func goldenSignals() row {
	return row{title: "Golden signals", width: 8, height: 9, charts: []chart{
		{
			title: "TTFT p95", unit: "s", limit: 2.5, runbook: "playbooks/high-ttft.md",
			queries: p95("time_to_first_token_seconds"),
			description: "Time to first token. Between 2.5 s and 5 s vLLM's histogram has no bucket: a value there says " +
				"only that more than 5% took longer than 2.5 s.",
		},
		{
			title: "TPOT p95 and p99", unit: "s", limit: .1, runbook: "playbooks/high-tpot.md",
			queries: []query{
				{quantile("0.95", tokenTimes("_bucket")), "p95 " + poolName},
				{quantile("0.99", tokenTimes("_bucket")), "p99 " + poolName},
			},
			description: "Time per output token: from one token of an answer to the next. The red line is the limit of " +
				"p95. Preemptions show here, not in the queue time.",
		},
		{
			title: "Requests waiting and running", unit: "short", runbook: "playbooks/queue-backlog.md",
			queries: []query{
				{byPool + "(" + waiting + ")", "waiting " + poolName},
				{byPool + "(" + running + ")", "running " + poolName},
			},
			description: "A queue that doesn't get empty means that the pool is out of capacity. The queue time lags behind " +
				"it: vLLM records that when a request finishes.",
		},
		{
			title: "Preemptions per second", unit: "short", runbook: "playbooks/preemption.md",
			queries: []query{{byPool + "(" + rate("vllm:num_preemptions_total") + ")", poolName}},
			description: "Requests that lost their place in the KV cache and are computed again. Since the V1 engine vLLM " +
				"has no swapped requests; this is what replaced them. It should be 0.",
		},
		{
			title: "KV cache usage", unit: "percentunit", share: true, limit: .95, runbook: "playbooks/kv-cache-full.md",
			queries: []query{
				{"avg by (namespace, model_name) (" + kvUsage() + ")", "average " + poolName},
				{"max by (namespace, model_name) (" + kvUsage() + ")", "fullest " + poolName},
			},
			description: "Above 95%, requests are preempted or wait although the GPU could do more.",
		},
		{
			title: "Tokens per second", unit: "short", runbook: "playbooks/low-throughput.md",
			queries: []query{
				{byPool + "(" + rate("vllm:prompt_tokens_total") + ")", "prompts " + poolName},
				{byPool + "(" + rate("vllm:generation_tokens_total") + ")", "answers " + poolName},
			},
			description: "The work that is done. Prompts that grow while answers shrink: clients give up.",
		},
	}}
}

func latency() row {
	const ttft = "vllm:time_to_first_token_seconds"
	over := func(all, within string) string {
		return "1 - " + byPool + "(" + within + ") / " + byPool + "(" + all + ")"
	}
	return row{title: "Latency", width: 8, height: 8, charts: []chart{
		{
			title: "Requests over 2.5 s to the first token", unit: "percentunit", share: true, limit: .05,
			runbook:     "playbooks/high-ttft.md",
			queries:     []query{{over(rate(ttft+"_count"), rate(ttft+"_bucket", `le="2.5"`)), poolName}},
			description: "What the alert vLLMHighTTFT measures; it fires above 5%. Exact, unlike a quantile.",
		},
		{
			title: "Tokens over 100 ms after the one before", unit: "percentunit", share: true, limit: .05,
			runbook:     "playbooks/high-tpot.md",
			queries:     []query{{over(tokenTimes("_count"), tokenTimes("_bucket", `le="0.1"`)), poolName}},
			description: "What the alert vLLMHighTPOT measures; it fires above 5%.",
		},
		{
			title: "E2E latency p95", unit: "s", runbook: "playbooks/high-e2e.md",
			queries:     p95("e2e_request_latency_seconds"),
			description: "Of finished requests. It grows with the length of the answers, so compare it with their length.",
		},
		{
			title: "Queue time p95", unit: "s", limit: 5, runbook: "playbooks/queue-backlog.md",
			queries: p95("request_queue_time_seconds"),
			description: "Of finished requests: a queue shows here when its requests are done. 0.3 s is the first bucket, so " +
				"smaller values are a guess.",
		},
		{
			title: "Prefill time p95", unit: "s", queries: p95("request_prefill_time_seconds"),
			description: "Of finished requests, from the first scheduling to the first token. Long prompts and a low prefix " +
				"cache hit rate raise it.",
		},
		{
			title: "Decode time p95", unit: "s", queries: p95("request_decode_time_seconds"),
			description: "Of finished requests, from the first token to the last, preemptions included.",
		},
	}}
}

func requests() row {
	return row{title: "Requests and cache", width: 8, height: 8, charts: []chart{
		{
			title: "Requests started and finished per second", unit: "short", runbook: "playbooks/abort-spike.md",
			queries: []query{
				{byPool + "(" + rate("vllm:time_to_first_token_seconds_count") + ")", "started " + poolName},
				{byPool + "(" + rate("vllm:request_success_total") + ")", "finished " + poolName},
			},
			description: "vLLM doesn't count clients that disconnect: they are the gap between the lines. Started means a " +
				"first token; clients that leave before it are visible at the gateway only.",
		},
		{
			title: "Finished requests by reason", unit: "short", stacked: true, runbook: "playbooks/errors.md",
			queries: []query{{
				"sum by (finished_reason) (" + rate("vllm:request_success_total") + ")", "{{finished_reason}}",
			}},
			description: "length: the answer hit max_tokens. error: the engine failed. abort: vLLM gave up the request; " +
				"clients that disconnect are mostly not in it.",
		},
		{
			title: "Prefix cache hit rate", unit: "percentunit", share: true, runbook: "playbooks/prefix-cache.md",
			queries: []query{{
				byPool + prefixCache("hits_total") + " / " + byPool + prefixCache("queries_total"), poolName,
			}},
			description: "The share of prompt tokens that were in the cache. A fall after a rollout is normal: new pods are " +
				"cold.",
		},
		{
			title: "Prompt length p95", unit: "short", queries: p95("request_prompt_tokens"),
			description: "In tokens, of finished requests.",
		},
		{
			title: "Answer length p95", unit: "short", queries: p95("request_generation_tokens"),
			description: "In tokens, of finished requests.",
		},
		{
			title: "Engines", unit: "short", runbook: "playbooks/engine.md",
			queries:     []query{{"count by (namespace, model_name) (" + running + ")", poolName}},
			description: "Engines that report metrics. A gap is a restart, or a pod that Prometheus doesn't reach.",
		},
	}}
}

func byPod() row {
	pod := func(aggregate, of string) []query {
		return []query{{aggregate + " by (namespace, pod) (" + of + ")", podName}}
	}
	return row{title: "By pod", width: 8, height: 8, collapsed: true, charts: []chart{
		{
			title: "TTFT p95 by pod", unit: "s", limit: 2.5, runbook: "playbooks/bad-replica.md",
			queries: []query{{
				"histogram_quantile(0.95, sum by (namespace, pod, le) (" + rate("vllm:time_to_first_token_seconds_bucket") +
					"))", podName,
			}},
			description: "One line far above the others is a bad replica; all of them up is the pool.",
		},
		{
			title: "Waiting by pod", unit: "short", queries: pod("sum", waiting),
			description: "A queue on one pod only: the router or the gateway doesn't spread the requests.",
		},
		{
			title: "Running by pod", unit: "short", queries: pod("sum", running),
			description: "At --max-num-seqs a pod is full, whatever its KV cache says.",
		},
		{
			title: "KV cache usage by pod", unit: "percentunit", share: true, limit: .95, queries: pod("max", kvUsage()),
			description: "Of the fullest engine of each pod.",
		},
		{
			title: "Preemptions per second by pod", unit: "short",
			queries:     pod("sum", rate("vllm:num_preemptions_total")),
			description: "It should be 0.",
		},
		{
			title: "Restarts in the window by pod", unit: "short",
			queries:     pod("sum", "resets("+selected("vllm:prompt_tokens_total")+"[$window])"),
			description: "Counters that began at 0 again while the pod kept its name: the container restarted.",
		},
	}}
}
