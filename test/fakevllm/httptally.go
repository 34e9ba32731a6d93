package fakevllm

import "time"

// httpTally is what the API server's instrumentation (prometheus-fastapi-instrumentator) has counted. It knows no model and no engine.
type httpTally struct {
	requests           uint64
	duration, detailed *histogram
	// Sizes in bytes, about four to a token; the sums only have to be plausible.
	received, sent float64
}

func newHTTPTally() *httpTally {
	perHandler, detailed := httpBuckets()
	return &httpTally{duration: newHistogram(perHandler), detailed: newHistogram(detailed)}
}

// answered counts a request that was answered 2xx, also when its stream broke later.
func (h *httpTally) answered(took time.Duration, prompt, generated int) {
	h.requests++
	h.duration.observe(took.Seconds())
	h.detailed.observe(took.Seconds())
	h.received += float64(4 * prompt)
	h.sent += float64(4 * generated)
}
