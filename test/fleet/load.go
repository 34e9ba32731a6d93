package fleet

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Load is what clients ask for.
type Load struct {
	// Rate is the arrivals per second for each replica that there is when the load begins. The demand then stays, whatever
	// the replicas do.
	Rate float64 `json:"rate"`
	// Random lets requests arrive at random moments (a Poisson process); else they are evenly spaced.
	Random bool `json:"random,omitempty"`
	// Burst is a part of the time with more requests.
	Burst Burst `json:"burst,omitzero"`
	// Prompt and Generation are the mean tokens of a request.
	Prompt     int `json:"prompt"`
	Generation int `json:"generation"`
	// Spread is how far requests differ from the mean, as a part of it: 0.5 means half to one and a half, evenly.
	Spread float64 `json:"spread,omitempty"`
	// Tail, when above 0, is the sigma of a log-normal distribution that lengths have instead: most are shorter than the
	// mean, a few many times as long.
	Tail float64 `json:"tail,omitempty"`
	// CachedShare of each prompt is a beginning that other prompts share, one of so many Prefixes (1 when 0).
	CachedShare float64 `json:"cached_share"`
	Prefixes    int     `json:"prefixes,omitempty"`
	// FirstTokenPatience is how long clients wait for the first token, Patience how long for the last one; 0 is for ever.
	FirstTokenPatience time.Duration `json:"first_token_patience"`
	Patience           time.Duration `json:"patience"`
	// Retries is how often a client tries again after it was refused, lost its replica or gave up; RetryAfter is its
	// first wait, of which each further one is twice the one before. Half to one and a half of it, as chance has it.
	Retries    int           `json:"retries,omitempty"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`
}

// Burst multiplies the arrivals by Factor during the last For of each Every.
type Burst struct {
	Every  time.Duration `json:"every"`
	For    time.Duration `json:"for"`
	Factor float64       `json:"factor"`
}

// minRetryAfter bounds how far the engines may run ahead of clients that come back.
const minRetryAfter = 100 * time.Millisecond

func (l Load) validate() error {
	switch {
	case l.Rate < 0, l.Prompt < 1, l.Generation < 1:
		return errors.New("rate must not be negative, prompt and generation must be at least 1")
	case l.Spread < 0 || l.Spread >= 1, l.CachedShare < 0 || l.CachedShare >= 1:
		return errors.New("spread and cached_share must be in [0, 1)")
	case l.Tail < 0 || l.Tail > 2:
		return errors.New("tail must be in [0, 2]")
	case l.Prefixes < 0, l.Retries < 0:
		return errors.New("prefixes and retries must not be negative")
	case l.Retries > 0 && l.RetryAfter < 2*minRetryAfter:
		return fmt.Errorf("retry_after must be at least %s", 2*minRetryAfter)
	case l.Burst != Burst{} && (l.Burst.For <= 0 || l.Burst.For >= l.Burst.Every || l.Burst.Factor < 0):
		return errors.New("a burst must last shorter than its period, and its factor must not be negative")
	}
	return nil
}

// request is one request from its arrival at the frontend to its end.
type request struct {
	call    *call
	arrived time.Duration
	// prompt and wanted are tokens, shared is the part of the prompt that begins as that of others with the same prefix.
	prompt, wanted, shared, maxTokens int
	prefix                            int
	// Give up times; 0 is never.
	firstDeadline, lastDeadline time.Duration

	// computed tokens have their KV in blocks, generated ones have been sent.
	computed, generated, blocks int
	// borrowed blocks are those of a prefix; they are among the blocks.
	borrowed int
	from     *prefix
	// remote says that a prefill engine has read the prompt and its blocks are to be fetched, which they are at fetchedAt.
	// Until then the lender keeps owed blocks.
	remote    bool
	fetchedAt time.Duration
	lender    *engine
	owed      int
	preempted bool
	// admitted says that scheduled is set.
	admitted bool
	// queued is when the engine got it, late how much later than the engine's its first token was ready for the client.
	queued, late                     time.Duration
	scheduled, firstToken, lastToken time.Duration
}

// known is the number of tokens whose KV the next token needs.
func (r *request) known() int { return r.prompt + r.generated }

// awaits says that the client may leave because it hasn't seen the first token. One that is late in the front end comes
// later than the engine has it.
func (r *request) awaits() bool {
	return r.firstDeadline > 0 && (r.generated == 0 || r.late > 0 && r.firstToken+r.late > r.firstDeadline)
}

// gaveUp says whether the client has gone away by now.
func (r *request) gaveUp(now time.Duration) bool {
	return r.awaits() && now >= r.firstDeadline || r.lastDeadline > 0 && now >= r.lastDeadline
}

// forever is a time that never comes.
const forever = time.Duration(math.MaxInt64)

// deadline is the next time at which the client may give up; forever when it is patient.
func (r *request) deadline() time.Duration {
	next := forever
	if r.awaits() {
		next = r.firstDeadline
	}
	if r.lastDeadline > 0 {
		next = min(next, r.lastDeadline)
	}
	return next
}

// request makes the k-th request of a load. Without a tail, lengths follow two sequences that fill their range evenly
// and never repeat. None is longer than longest, which the engine can hold.
func (l Load) request(k int, at time.Duration, rnd *rand.Rand, longest int) *request {
	r := &request{
		arrived: at,
		prompt:  l.length(l.Prompt, k, math.Phi, rnd),
		wanted:  l.length(l.Generation, k, math.Sqrt2, rnd),
		// A tenth of the evenly spread answers would be longer than the client allows and end with reason "length".
		maxTokens: max(1, int(float64(l.Generation)*(1+.8*l.Spread+4*l.Tail))),
	}
	r.prompt = min(r.prompt, longest*3/4)
	r.wanted = min(r.wanted, r.maxTokens, longest-r.prompt)
	r.shared = int(float64(r.prompt)*l.CachedShare) / blockSize * blockSize
	if l.Prefixes > 1 {
		r.prefix = rnd.IntN(l.Prefixes)
	}
	l.wait(r)
	return r
}

// wait sets until when the client of a request that arrives now waits.
func (l Load) wait(r *request) {
	if l.FirstTokenPatience > 0 {
		r.firstDeadline = r.arrived + l.FirstTokenPatience
	}
	if l.Patience > 0 {
		r.lastDeadline = r.arrived + l.Patience
	}
}

func (l Load) length(mean, k int, step float64, rnd *rand.Rand) int {
	if l.Tail > 0 {
		return max(1, int(float64(mean)*math.Exp(l.Tail*rnd.NormFloat64()-l.Tail*l.Tail/2)))
	}
	_, u := math.Modf(float64(k) * step)
	return max(1, int(float64(mean)*(1+l.Spread*(2*u-1))))
}
