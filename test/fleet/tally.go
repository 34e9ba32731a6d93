package fleet

import "time"

// Finish reasons as vLLM writes them (vllm/v1/engine/__init__.py).
const (
	reasonStop       = "stop"
	reasonLength     = "length"
	reasonAbort      = "abort"
	reasonError      = "error"
	reasonRepetition = "repetition"
)

// tally is what one engine has written so far: exactly what is exported, no more. Its gauges are those of the last
// step.
type tally struct {
	running, waiting, swapped int
	kv                        float64

	preemptions, prompt, generated uint64
	queried, hit                   uint64
	finished                       map[string]uint64

	ttft, itl, e2e, queue, prefill, decode *histogram
	promptLen, generatedLen                *histogram
}

func newTally(b buckets) *tally {
	return &tally{
		finished: map[string]uint64{},
		ttft:     newHistogram(b.ttft), itl: newHistogram(b.itl),
		e2e: newHistogram(b.latency), queue: newHistogram(b.latency), prefill: newHistogram(b.latency),
		decode: newHistogram(b.latency), promptLen: newHistogram(b.tokens), generatedLen: newHistogram(b.tokens),
	}
}

// tokens writes n tokens of requests that all waited the same time for them.
func (t *tally) tokens(n uint64, wait time.Duration) {
	t.generated += n
	t.itl.observeMany(wait.Seconds(), n)
}

// token writes the token that a request is about to get, its first one with everything that vLLM writes only then.
func (t *tally) token(r *request, now time.Duration) {
	t.generated++
	if r.generated > 0 {
		t.itl.observe((now - r.lastToken).Seconds())
		return
	}
	t.ttft.observe((now - r.arrived).Seconds())
	t.prompt += uint64(r.prompt)
}

// finish writes a finished request. What vLLM never writes for a client that went away is written nowhere.
func (t *tally) finish(r *request, reason string, now time.Duration) {
	t.finished[reason]++
	t.e2e.observe((now - r.arrived).Seconds())
	t.queue.observe((r.scheduled - r.arrived).Seconds())
	t.prefill.observe((r.firstToken - r.scheduled).Seconds())
	t.decode.observe((r.lastToken - r.firstToken).Seconds())
	t.promptLen.observe(float64(r.prompt))
	t.generatedLen.observe(float64(r.generated))
}
