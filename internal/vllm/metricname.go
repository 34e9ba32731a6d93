package vllm

import (
	"slices"
	"strings"
)

// CanonicalPrefix is the prefix that vLLM itself writes, and that signals are written in.
const CanonicalPrefix = "vllm:"

// PrefixPattern is a regular expression for the beginning of a name that all Prefixes match.
const PrefixPattern = "(kserve_)?(ray_)?vllm[:_]"

// Prefixes are the spellings of vLLM's names that are known, in order of preference: vLLM's own before relabelled
// twins (a KServe on Open Data Hub scrapes both).
func Prefixes() []string {
	return []string{CanonicalPrefix, "vllm_", "ray_vllm_", "ray_vllm:", "kserve_vllm:", "kserve_vllm_"}
}

// The suffixes that a client library puts behind a name.
const (
	SuffixBucket  = "_bucket"
	SuffixSum     = "_sum"
	SuffixCount   = "_count"
	SuffixCreated = "_created"
	SuffixTotal   = "_total"
)

// The labels that vLLM itself writes.
const (
	LabelModel  = "model_name"
	LabelEngine = "engine"
)

// MetricName is a metric's name taken apart: prefix, base and, for the series of a histogram, its suffix.
type MetricName struct{ Prefix, Base, Suffix string }

func (n MetricName) String() string { return n.Prefix + n.Base + n.Suffix }

// ParseMetric takes a name apart. ok is false for what is not spelled as vLLM's with one of the known prefixes: a name
// with another colon inside is a recording rule's. The names of the custom exporters that guides for vLLM hand out are
// spelled as vLLM's.
func ParseMetric(metric string) (n MetricName, ok bool) {
	for _, prefix := range Prefixes() {
		rest, cut := strings.CutPrefix(metric, prefix)
		if !cut || rest == "" || strings.Contains(rest, ":") {
			continue
		}
		if _, whole := CurrentMetric(rest); whole {
			return MetricName{Prefix: prefix, Base: rest}, true
		}
		for _, suffix := range []string{SuffixBucket, SuffixSum, SuffixCount, SuffixCreated} {
			if base, has := strings.CutSuffix(rest, suffix); has && base != "" {
				return MetricName{Prefix: prefix, Base: base, Suffix: suffix}, true
			}
		}
		return MetricName{Prefix: prefix, Base: rest}, true
	}
	return MetricName{}, false
}

// SplitSeries separates the suffix of a histogram's series.
func SplitSeries(name string) (base, suffix string) {
	for _, s := range []string{SuffixBucket, SuffixSum, SuffixCount} {
		if b, ok := strings.CutSuffix(name, s); ok {
			return b, s
		}
	}
	return name, ""
}

// BareName is what follows a dialect's prefix, or NVIDIA NIM's name that has none. ok is false for anything else.
func BareName(metric string) (bare string, ok bool) {
	if n, ok := ParseMetric(metric); ok {
		return n.Base + n.Suffix, true
	}
	if base, _ := SplitSeries(metric); slices.Contains(bareNames(), base) {
		return strings.Replace(metric, nimFinished, finished, 1), true
	}
	return "", false
}

// Canonical returns today's name of a vLLM metric written in any dialect. ok is false for anything else.
func Canonical(metric string) (canonical string, ok bool) {
	bare, ok := BareName(metric)
	if !ok {
		return "", false
	}
	base, suffix := SplitSeries(bare)
	return CanonicalPrefix + newerName(base) + suffix, true
}

// The count of finished requests, and what NVIDIA NIM calls it.
const (
	finished    = "request_success_total"
	nimFinished = "request_finish_total"
)

// bareNames are vLLM's metrics as NVIDIA NIM exports them (docs.nvidia.com/nim, observability). A closed list: without
// a prefix any other name could be anybody's.
func bareNames() []string {
	return []string{
		"num_requests_running", "num_requests_waiting", "gpu_cache_usage_perc", "time_to_first_token_seconds",
		"time_per_output_token_seconds", "e2e_request_latency_seconds", "prompt_tokens_total",
		"generation_tokens_total", nimFinished, "request_prompt_tokens", "request_generation_tokens",
		"num_request_max",
	}
}

// BarePattern is a regular expression for NVIDIA NIM's names, each histogram by its count.
const BarePattern = "(num_requests_(running|waiting)|gpu_cache_usage_perc|num_request_max|" +
	"(prompt_tokens|generation_tokens|request_finish)_total|" +
	"(time_to_first_token|time_per_output_token|e2e_request_latency)_seconds_count|" +
	"request_(prompt|generation)_tokens_count)"

// OtherNames are the names, with the prefix of a dialect, under which a metric may be where its usual name is missing:
// the one from before a rename, NIM's where bare says that the names have no prefix, and a counter without its suffix
// as llm-d-inference-sim wrote it until 2026-08 (llm-d-inference-sim#615).
func OtherNames(prefix, base string, bare bool) []string {
	var names []string
	if old, renamed := OlderName(base); renamed {
		names = append(names, prefix+old)
	}
	if bare && base == finished {
		names = append(names, nimFinished)
	}
	if plain, counter := strings.CutSuffix(base, SuffixTotal); counter {
		names = append(names, prefix+plain)
	}
	return names
}

// LabelsMissing is the table of labels that vLLM puts on its metrics but that a given metric of a vLLM server cannot
// carry:
//
//	vllm:cache_config_info           no model_name
//	vllm:lora_requests_info          no model_name, no engine
//	vllm:admission_rejections_total  no engine
//	http_request*                    no model_name, no engine: exported by the API server's instrumentation
//	http_response_size_bytes         no model_name, no engine
//
// The labels of the scrape (namespace, pod, job, instance) are on all of them. Source: vLLM v1/metrics/loggers.py.
func LabelsMissing(metric string) []string {
	if bare, ok := BareName(metric); ok {
		switch bare {
		case "cache_config_info":
			return []string{LabelModel}
		case "lora_requests_info":
			return []string{LabelModel, LabelEngine}
		case "admission_rejections_total":
			return []string{LabelEngine}
		}
		return nil
	}
	if strings.HasPrefix(metric, "http_request") || strings.HasPrefix(metric, "http_response_size_bytes") {
		return []string{LabelModel, LabelEngine}
	}
	return nil
}
