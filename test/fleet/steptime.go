package fleet

import "time"

// Cost is what a step of an engine costs: the sum of its parts. README.md says where the numbers come from.
type Cost struct {
	// Step is the fixed part: reading the weights, launching kernels, talking to the other GPUs.
	Step time.Duration `json:"step"`
	// PerSequence is for each request of the batch: sampling, and preparing its inputs.
	PerSequence time.Duration `json:"per_sequence"`
	// PerPromptToken is for each token of a prompt that is computed.
	PerPromptToken time.Duration `json:"per_prompt_token"`
	// PerMillionPairs is for attention while prompts are read: each computed token looks at every token before it,
	// also at those from the prefix cache.
	PerMillionPairs time.Duration `json:"per_million_pairs,omitempty"`
	// PerThousandContext is for the KV cache that is read to give each running request its next token.
	PerThousandContext time.Duration `json:"per_thousand_context,omitempty"`
	// Frontend is what the API server adds to each first token beside the engine: tokenizing, passing on, detokenizing.
	// It holds up nobody else.
	Frontend time.Duration `json:"frontend,omitempty"`
	// PerRequestCPU, PerPromptTokenCPU and PerTokenCPU are what the API server's one busy CPU does for each request, for
	// each token of a prompt and for each token of an answer. They hold up everybody in the same pod; see frontend. The
	// first engine's count for all ranks of a pod. All 0: it is never short of CPU.
	PerRequestCPU     time.Duration `json:"per_request_cpu,omitempty"`
	PerPromptTokenCPU time.Duration `json:"per_prompt_token_cpu,omitempty"`
	PerTokenCPU       time.Duration `json:"per_token_cpu,omitempty"`
	// TransferLatency and PerTransferredToken are what it takes to fetch the KV blocks of a prompt from a prefill engine.
	TransferLatency     time.Duration `json:"transfer_latency,omitempty"`
	PerTransferredToken time.Duration `json:"per_transferred_token,omitempty"`
}

// Llama70B is an engine with a model of 70B parameters in FP8 on two H100 of 80 GB, with its cost calibrated against
// the published times in README.md.
func Llama70B() Engine {
	return Engine{
		KVTokens: 200_000, MaxNumSeqs: 256, MaxNumBatchedTokens: 8192,
		Cost: Cost{
			Step: 20 * time.Millisecond, PerSequence: 60 * time.Microsecond, PerPromptToken: 267 * time.Microsecond,
			PerMillionPairs: 5 * time.Millisecond, PerThousandContext: 80 * time.Microsecond,
			Frontend: 44 * time.Millisecond, TransferLatency: 10 * time.Millisecond,
			PerTransferredToken: 16 * time.Microsecond,
		},
	}
}

// Llama8B is an engine with a model of 8B parameters in 16 bits on one H100 of 80 GB: it answers fast, so that what is
// around the engine counts for more. Nothing of it is calibrated against a measurement.
func Llama8B() Engine {
	return Engine{
		KVTokens: 400_000, MaxNumSeqs: 256, MaxNumBatchedTokens: 8192,
		Cost: Cost{
			Step: 7 * time.Millisecond, PerSequence: 30 * time.Microsecond, PerPromptToken: 30 * time.Microsecond,
			PerMillionPairs: time.Millisecond, PerThousandContext: 65 * time.Microsecond, Frontend: 15 * time.Millisecond,
			TransferLatency: 10 * time.Millisecond, PerTransferredToken: 7 * time.Microsecond,
		},
	}
}

// WithFrontend is the engine with the CPU that its API server needs; README.md says where the numbers come from.
func (e Engine) WithFrontend() Engine {
	e.PerRequestCPU, e.PerPromptTokenCPU, e.PerTokenCPU = 2*time.Millisecond, 2*time.Microsecond, 100*time.Microsecond
	return e
}

// stepWork is what a step computes.
type stepWork struct {
	seqs    int // requests of the batch
	prompts int // prompt tokens
	pairs   int // tokens before each of the prompt tokens, summed up
	context int // tokens in the cache of requests that get their next token, summed up
}

// chunk adds n tokens of a prompt of which the first done tokens are in the cache.
func (w *stepWork) chunk(done, n int) {
	w.prompts += n
	w.pairs += done*n + n*n/2
}

func (c Cost) of(w stepWork) time.Duration {
	return c.Step + time.Duration(w.seqs)*c.PerSequence + time.Duration(w.prompts)*c.PerPromptToken +
		c.PerMillionPairs*time.Duration(w.pairs)/1_000_000 + c.PerThousandContext*time.Duration(w.context)/1000
}
