package fleet

import (
	"math"
	"time"
)

// Load is what clients ask for.
type Load struct {
	// Rate is the arrivals per second for each replica that there is when the load begins. The demand then stays, whatever
	// the replicas do.
	Rate float64 `json:"rate"`
	// Prompt and Generation are the mean tokens of a request.
	Prompt     int `json:"prompt"`
	Generation int `json:"generation"`
	// Spread is how far requests differ from the mean, as a part of it: 0.5 means half to one and a half, evenly.
	Spread float64 `json:"spread"`
	// CachedShare of each prompt is in a warm prefix cache.
	CachedShare float64 `json:"cached_share"`
	// FirstTokenPatience is how long clients wait for the first token, Patience how long for the last one; 0 is for ever.
	FirstTokenPatience time.Duration `json:"first_token_patience"`
	Patience           time.Duration `json:"patience"`
}

// request is one request from its arrival at the frontend to its end.
type request struct {
	arrived time.Duration
	// prompt and wanted are tokens, cached is the part of the prompt that the prefix cache gave.
	prompt, wanted, cached, maxTokens int
	// Give up times; 0 is never.
	firstDeadline, lastDeadline time.Duration

	// computed tokens have their KV in blocks, generated ones have been sent.
	computed, generated, blocks int
	preempted                   bool
	// admitted says that scheduled is set.
	admitted                         bool
	scheduled, firstToken, lastToken time.Duration
}

// known is the number of tokens whose KV the next token needs.
func (r *request) known() int { return r.prompt + r.generated }

// gaveUp says whether the client has gone away by now.
func (r *request) gaveUp(now time.Duration) bool {
	return r.firstDeadline > 0 && r.generated == 0 && now >= r.firstDeadline || r.lastDeadline > 0 && now >= r.lastDeadline
}

// forever is a time that never comes.
const forever = time.Duration(math.MaxInt64)

// deadline is the next time at which the client may give up; forever when it is patient.
func (r *request) deadline() time.Duration {
	next := forever
	if r.firstDeadline > 0 && r.generated == 0 {
		next = r.firstDeadline
	}
	if r.lastDeadline > 0 {
		next = min(next, r.lastDeadline)
	}
	return next
}

// request makes the k-th request of a load. Lengths follow two sequences that fill their range evenly and never repeat.
func (l Load) request(k int, at time.Duration) *request {
	r := &request{
		arrived: at,
		prompt:  l.spread(l.Prompt, k, math.Phi),
		wanted:  l.spread(l.Generation, k, math.Sqrt2),
		// A tenth of the evenly spread answers would be longer than the client allows and end with reason "length".
		maxTokens: max(1, int(float64(l.Generation)*(1+.8*l.Spread))),
	}
	r.wanted = min(r.wanted, r.maxTokens)
	if l.FirstTokenPatience > 0 {
		r.firstDeadline = at + l.FirstTokenPatience
	}
	if l.Patience > 0 {
		r.lastDeadline = at + l.Patience
	}
	return r
}

func (l Load) spread(mean, k int, step float64) int {
	_, u := math.Modf(float64(k) * step)
	return max(1, int(float64(mean)*(1+l.Spread*(2*u-1))))
}
