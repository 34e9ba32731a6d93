package fleet

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Finish reasons as vLLM writes them (vllm/v1/engine/__init__.py).
const (
	reasonStop   = "stop"
	reasonLength = "length"
	reasonAbort  = "abort"
)

// tally is what one engine has written so far: exactly what is exported, no more. Its gauges are those of the last
// step.
type tally struct {
	running, waiting, swapped, deferred int
	kv                                  float64

	preemptions, prompt, generated uint64
	queried, hit                   uint64
	finished                       map[string]uint64
	// reasons are those of finished that are exported before they happen.
	reasons []string

	ttft, itl, e2e, queue, prefill, decode *histogram
	promptLen, generatedLen                *histogram
	// transfers are the times of KV transfers to a decode engine.
	transfers *histogram
}

func newTally(g vllm.Generation) *tally {
	h := func(base string) *histogram { return newHistogram(boundsOf(base, g)) }
	return &tally{
		finished: map[string]uint64{}, reasons: reasonsAtStart(g),
		ttft: h("time_to_first_token_seconds"), itl: h("inter_token_latency_seconds"),
		e2e: h("e2e_request_latency_seconds"), queue: h("request_queue_time_seconds"),
		prefill: h("request_prefill_time_seconds"), decode: h("request_decode_time_seconds"),
		promptLen: h("request_prompt_tokens"), generatedLen: h("request_generation_tokens"),
		transfers: newHistogram(transferBounds()),
	}
}

// tokens writes n tokens of requests that all waited the same time for them.
func (t *tally) tokens(n uint64, wait time.Duration) {
	t.generated += n
	t.itl.observeMany(wait.Seconds(), n)
}

// token writes the token that a request is about to get, its first one with everything that vLLM writes only then.
// The API server adds its part to the first token.
func (t *tally) token(r *request, now, frontend time.Duration) {
	t.generated++
	if r.generated > 0 {
		t.itl.observe((now - r.lastToken).Seconds())
		return
	}
	t.ttft.observe((now - r.arrived + frontend).Seconds())
	t.prompt += uint64(r.prompt)
}

// finish writes a finished request. What vLLM never writes for a client that went away is written nowhere.
func (t *tally) finish(r *request, reason string, now, frontend time.Duration) {
	t.finished[reason]++
	t.e2e.observe((now - r.arrived + frontend).Seconds())
	t.queue.observe((r.scheduled - r.queued).Seconds())
	t.prefill.observe((r.firstToken - r.scheduled).Seconds())
	t.decode.observe((r.lastToken - r.firstToken).Seconds())
	t.promptLen.observe(float64(r.prompt))
	t.generatedLen.observe(float64(r.generated))
}
