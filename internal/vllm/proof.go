package vllm

import (
	"path"
	"slices"
	"strings"
)

// ImageOfVLLM goes by the last part of the image's name: vllm/vllm-openai, rocm/vllm, a mirror's vllm-openai. A
// router in front of vLLM is none.
func ImageOfVLLM(image string) bool {
	name := path.Base(ImageName(image))
	return strings.Contains(name, "vllm") && !strings.Contains(name, "router")
}

// ImageName is the image without tag and digest.
func ImageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		image = image[:at]
	}
	return image
}

// Proof says whether one of the long flags is vLLM's own, and names the first one that vLLM does not have.
func (c *CommandLine) Proof() (own bool, foreign string) {
	for _, w := range c.words {
		name, _, _ := splitFlag(w.text)
		name, _, _ = strings.Cut(name, ".") // --compilation-config.level
		name = strings.TrimPrefix(name, "no-")
		a, read := argument(name)
		switch {
		case name == "" || a.Shared || slices.Contains(sharedFlags, name):
		case read, slices.Contains(ownFlags, name):
			own = true
		case foreign == "":
			foreign = w.key()
		}
	}
	return own, foreign
}

// isFlag says whether a name is that of a flag of vLLM's in full.
func isFlag(name string) bool {
	name = strings.TrimPrefix(name, "no-")
	_, read := argument(name)
	return read || slices.Contains(ownFlags, name) || slices.Contains(sharedFlags, name)
}

// ownFlags are the other flags that vLLM has and no other server, of all versions since 0.6 (vllm/engine/arg_utils.py,
// vllm/entrypoints/openai/cli_args.py).
var ownFlags = strings.Fields(`
	additional-config all2all-backend allow-credentials allowed-headers allowed-local-media-path allowed-methods
	allowed-origins api-server-count async-scheduling calculate-kv-scales chat-template-content-format
	code-revision collect-detailed-traces compilation-config config-format convert cuda-graph-sizes
	data-parallel-backend data-parallel-external-lb data-parallel-hybrid-lb decode-context-parallel-size
	disable-async-output-proc disable-cascade-attn disable-chunked-mm-input disable-fastapi-docs
	disable-frontend-multiprocessing disable-hybrid-kv-cache-manager disable-log-requests disable-log-stats
	disable-mm-preprocessor-cache disable-sliding-window disable-uvicorn-access-log distributed-executor-backend
	enable-auto-tool-choice enable-dbo enable-expert-parallel enable-force-include-usage enable-log-outputs
	enable-log-requests enable-lora-bias enable-prompt-adapter enable-prompt-embeds
	enable-prompt-tokens-details enable-reasoning enable-request-id-headers enable-server-load-tracking
	enable-sleep-mode enable-ssl-refresh enable-tokenizer-info-endpoint enforce-eager engine-use-ray eplb-config
	exclude-tools-when-tool-choice-none expert-placement-strategy fully-sharded-loras generation-config
	guided-decoding-backend headless hf-config-path hf-overrides ignore-patterns interleave-mm-strings
	io-processor-plugin kv-cache-memory-bytes kv-events-config kv-sharing-fast-prefill kv-transfer-config
	limit-mm-per-prompt logits-processor-pattern logits-processors long-lora-scaling-factors
	long-prefill-token-threshold lora-dtype lora-extra-vocab-size lora-modules mamba-block-size mamba-cache-dtype
	mamba-cache-mode mamba-ssm-cache-dtype master-addr master-port max-context-len-to-capture max-cpu-loras
	max-log-len max-logprobs max-long-partial-prefills max-num-partial-prefills max-parallel-loading-workers
	max-prompt-adapter-token max-prompt-adapters max-seq-len-to-capture media-io-kwargs middleware mm-encoder-tp-mode
	mm-processor-cache-gb mm-processor-kwargs multi-step-stream-outputs num-gpu-blocks-override num-lookahead-slots
	num-scheduler-steps optimization-level otlp-traces-endpoint override-attention-dtype
	override-generation-config override-neuron-config override-pooler-config performance-mode pooler-config
	preemption-mode prefix-caching-hash-algo prompt-adapters pt-load-map-location qlora-adapter-name-or-path
	quantization-param-path ray-workers-use-nsight response-role return-tokens-as-token-ids rope-scaling rope-theta
	runner scheduler-cls scheduler-delay-factor scheduling-policy seed show-hidden-metrics-for-version
	skip-mm-profiling speculative-disable-by-batch-size speculative-max-model-len speculative-model ssl-cert-reqs
	structured-outputs-config task tokenizer-pool-extra-config tokenizer-pool-size tokenizer-pool-type
	tokenizer-revision tool-parser-plugin use-tqdm-on-load use-v2-block-manager uvicorn-log-level worker-cls
	worker-extension-cls worker-use-ray
`)

// sharedFlags are the other flags of vLLM that other servers have as well, SGLang above all: they prove nothing.
var sharedFlags = strings.Fields(`
	attention-backend config cpu-offload-gb device disable-custom-all-reduce enable-eplb enable-lora enable-metrics
	load-format log-level max-lora-rank max-loras model-impl model-loader-extra-config nnodes
	node-rank num-redundant-experts reasoning-parser skip-tokenizer-init ssl-ca-certs ssl-certfile
	ssl-keyfile stream-interval tokenizer-mode tool-call-parser trust-remote-code
`)
