package actions

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// unproven refuses a container that is not known to run vLLM: what is added to the arguments of another server keeps its new pods from starting. A flag
// that is there already proves itself, so this is asked only where one is added. The command, the name of the image, or the other flags are proof.
func (c container) unproven() *incident.RefusedError {
	switch {
	case c.line.direct() || startsEngine(c.line.words()), imageOfVLLM(c.image):
		return nil
	}
	why := fmt.Sprintf("the image %s and the command do not say so", imageName(c.image))
	if own, foreign := engineFlags(c.line.words()); foreign != "" {
		why = fmt.Sprintf("vLLM has no flag %s that the bot knows of", foreign)
	} else if own {
		return nil
	}
	no := &incident.RefusedError{
		Reason: fmt.Sprintf("container %s is not known to run vLLM (%s), and --%s would keep the pods of another server from starting", c.name, why, tokensFlag),
		Hint:   fmt.Sprintf("Start vLLM by its own command (command: [vllm, serve]), or give --%s by hand.", tokensFlag),
	}
	if len(c.engines) > 0 {
		no.Hint = fmt.Sprintf("Is workload.container right? vLLM seems to run in %s.", strings.Join(c.engines, ", "))
	}
	return no
}

// direct says that the manifest's own command starts vLLM, with no wrapper of an image between them: then arguments come from nowhere else.
func (c commandLine) direct() bool { return startsEngine(c.command) }

// startsEngine says whether words start vLLM: "vllm serve", or Python with vLLM's module.
func startsEngine(words []string) bool {
	if len(words) == 0 {
		return false
	}
	first := path.Base(words[0])
	return first == "vllm" || python.MatchString(first) && startsVLLM(words[1:])
}

// imageOfVLLM goes by the last part of the image's name: vllm/vllm-openai, rocm/vllm, a mirror's vllm-openai. A router in front of vLLM is none.
func imageOfVLLM(image string) bool {
	name := path.Base(imageName(image))
	return strings.Contains(name, "vllm") && !strings.Contains(name, "router")
}

// imageName is the image without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if at := strings.LastIndex(image, ":"); at > strings.LastIndex(image, "/") {
		image = image[:at]
	}
	return image
}

// engineFlags says whether one of the long flags is vLLM's own, and names the first one that vLLM does not have.
func engineFlags(words []string) (own bool, foreign string) {
	for _, w := range words {
		name, _, _ := splitFlag(w)
		name, _, _ = strings.Cut(name, ".") // --compilation-config.level
		switch name = strings.TrimPrefix(name, "no-"); {
		case name == "" || slices.Contains(sharedFlags, name):
		case slices.Contains(ownFlags, name):
			own = true
		case foreign == "":
			foreign = keyOf(w)
		}
	}
	return own, foreign
}

// ownFlags are flags that vLLM has and no other server, of all versions since 0.6 (vllm/engine/arg_utils.py, vllm/entrypoints/openai/cli_args.py).
var ownFlags = strings.Fields(`
	additional-config all2all-backend allow-credentials allowed-headers allowed-local-media-path allowed-methods allowed-origins api-server-count
	async-scheduling block-size calculate-kv-scales chat-template-content-format code-revision collect-detailed-traces compilation-config config-format
	convert cuda-graph-sizes data-parallel-address data-parallel-backend data-parallel-external-lb data-parallel-hybrid-lb data-parallel-rank
	data-parallel-rpc-port data-parallel-size-local data-parallel-start-rank decode-context-parallel-size disable-async-output-proc disable-cascade-attn
	disable-chunked-mm-input disable-fastapi-docs disable-frontend-multiprocessing disable-hybrid-kv-cache-manager disable-log-requests disable-log-stats
	disable-mm-preprocessor-cache disable-sliding-window disable-uvicorn-access-log distributed-executor-backend enable-auto-tool-choice
	enable-chunked-prefill enable-dbo enable-expert-parallel enable-force-include-usage enable-log-outputs enable-log-requests enable-lora-bias
	enable-prefix-caching enable-prompt-adapter enable-prompt-embeds enable-prompt-tokens-details enable-reasoning enable-request-id-headers
	enable-server-load-tracking enable-sleep-mode enable-ssl-refresh enable-tokenizer-info-endpoint enforce-eager engine-use-ray eplb-config
	exclude-tools-when-tool-choice-none expert-placement-strategy fully-sharded-loras generation-config gpu-memory-utilization guided-decoding-backend
	headless hf-config-path hf-overrides hf-token ignore-patterns interleave-mm-strings io-processor-plugin kv-cache-memory-bytes kv-events-config
	kv-sharing-fast-prefill kv-transfer-config limit-mm-per-prompt logits-processor-pattern logits-processors long-lora-scaling-factors
	long-prefill-token-threshold lora-dtype lora-extra-vocab-size lora-modules mamba-block-size mamba-cache-dtype mamba-cache-mode mamba-ssm-cache-dtype
	master-addr master-port max-context-len-to-capture max-cpu-loras max-log-len max-logprobs max-long-partial-prefills max-model-len
	max-num-batched-tokens max-num-partial-prefills max-num-scheduled-tokens max-num-seqs max-parallel-loading-workers max-prompt-adapter-token
	max-prompt-adapters max-seq-len-to-capture media-io-kwargs middleware mm-encoder-tp-mode mm-processor-cache-gb mm-processor-kwargs
	multi-step-stream-outputs num-gpu-blocks-override num-lookahead-slots num-scheduler-steps num-speculative-tokens optimization-level
	otlp-traces-endpoint override-attention-dtype override-generation-config override-neuron-config override-pooler-config performance-mode pooler-config
	preemption-mode prefix-caching-hash-algo prompt-adapters pt-load-map-location qlora-adapter-name-or-path quantization-param-path
	ray-workers-use-nsight response-role return-tokens-as-token-ids rope-scaling rope-theta runner scheduler-cls scheduler-delay-factor
	scheduling-policy seed show-hidden-metrics-for-version skip-mm-profiling speculative-config speculative-disable-by-batch-size speculative-max-model-len
	speculative-model ssl-cert-reqs structured-outputs-config swap-space task tokenizer-pool-extra-config tokenizer-pool-size tokenizer-pool-type
	tokenizer-revision tool-parser-plugin use-tqdm-on-load use-v2-block-manager uvicorn-log-level worker-cls worker-extension-cls worker-use-ray
`)

// sharedFlags are flags of vLLM that other servers have as well, SGLang above all: they prove nothing.
var sharedFlags = strings.Fields(`
	api-key attention-backend chat-template config cpu-offload-gb data-parallel-size device disable-custom-all-reduce download-dir dtype enable-eplb
	enable-lora enable-metrics host kv-cache-dtype load-format log-level max-lora-rank max-loras model model-impl model-loader-extra-config nnodes node-rank
	num-redundant-experts pipeline-parallel-size port quantization reasoning-parser revision root-path served-model-name skip-tokenizer-init ssl-ca-certs
	ssl-certfile ssl-keyfile stream-interval tensor-parallel-size tokenizer tokenizer-mode tool-call-parser trust-remote-code
`)
