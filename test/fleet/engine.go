package fleet

import (
	"slices"
	"time"
)

// Engine is what an engine can do. The times are of the order of a 70B model on one node of current GPUs.
type Engine struct {
	// KVTokens is the capacity of the KV cache at the default --max-num-batched-tokens. One token less in that argument
	// frees the memory of about one token of activations at start-up, which vLLM gives to the cache.
	KVTokens int `json:"kv_tokens"`
	// MaxNumSeqs and MaxNumBatchedTokens are the arguments' values when the arguments do not say otherwise.
	MaxNumSeqs          int `json:"max_num_seqs"`
	MaxNumBatchedTokens int `json:"max_num_batched_tokens"`
	// Watermark is the part of the cache that admission leaves free (--watermark).
	Watermark float64 `json:"watermark"`
	// NoPrefixCaching reads every prompt in full and counts no queries of the prefix cache, as vLLM does
	// (--no-enable-prefix-caching).
	NoPrefixCaching bool `json:"no_prefix_caching,omitempty"`
	// Step, PerSequence and PerPromptToken make up the time of a step.
	Step           time.Duration `json:"step"`
	PerSequence    time.Duration `json:"per_sequence"`
	PerPromptToken time.Duration `json:"per_prompt_token"`
}

// Fault is what is broken in all engines.
type Fault string

// The faults.
const (
	// NoFault: all is well.
	NoFault Fault = ""
	// Stalled: the engines step, but no request gets on (as with KV transfers that never arrive). Requests pile up in the
	// queue.
	Stalled Fault = "stalled"
	// Wedged: the engines do not step at all, so nothing that they export changes any more.
	Wedged Fault = "wedged"
)

const (
	blockSize = 16
	// cacheWarmup is how long a new engine's prefix cache takes to give its full share.
	cacheWarmup = time.Minute
	// cpuBlocks is V0's swap space: 4 GiB.
	cpuBlocks = 13107
)

// engine is one data-parallel rank.
type engine struct {
	spec    Engine // with the arguments applied
	fault   Fault
	slow    int // steps take this many times as long
	now     time.Duration
	born    time.Duration
	blocks  int // all blocks
	used    int
	running []*request // oldest first
	waiting []*request // next first
	batch   []work     // of the last step, kept for its memory
	tally   *tally
	counts  bool // counts aborts
	// patience is not after the next moment at which a client may give up.
	patience time.Duration
	// gone is told of every request that ends, finished or given up by its client.
	gone func(r *request, finished bool)
}

func (e *engine) inFlight() int { return len(e.running) + len(e.waiting) }

// configure sets what the engine can do from now on. Requests keep their blocks.
func (e *engine) configure(spec Engine) {
	e.spec = spec
	e.blocks = spec.KVTokens / blockSize
}

// enqueue takes a request that arrived at r.arrived, which is not before the last call of advance.
func (e *engine) enqueue(r *request, cachedShare float64) {
	if age := e.now - e.born; age < cacheWarmup {
		cachedShare *= age.Seconds() / cacheWarmup.Seconds()
	}
	r.cached = int(float64(r.prompt)*cachedShare) / blockSize * blockSize
	e.waiting = append(e.waiting, r)
	e.patience = min(e.patience, r.deadline())
}

// advance runs every step that begins before until.
func (e *engine) advance(until time.Duration) {
	for e.now < until {
		if e.inFlight() == 0 {
			e.now = until
			return
		}
		if e.fault == Wedged {
			e.now = until
			e.dropImpatient() // clients leave; the gauges stay as they were
			return
		}
		e.step()
	}
}

// work is what a step does for a request.
type work struct {
	r      *request
	tokens int
}

func (e *engine) step() {
	e.dropImpatient()
	batch, prompts := e.schedule()
	took := e.spec.Step + time.Duration(len(batch))*e.spec.PerSequence + time.Duration(prompts)*e.spec.PerPromptToken
	began := e.now
	e.now += took * time.Duration(max(1, e.slow))
	inStep := uint64(0)
	for _, w := range batch {
		w.r.computed += w.tokens
		if w.r.computed < w.r.known() {
			continue
		}
		if w.r.generated > 0 && w.r.lastToken == began {
			inStep++ // its last token came with the last step, as nearly everybody's
		} else {
			e.tally.token(w.r, e.now)
		}
		e.token(w.r)
	}
	e.tally.tokens(inStep, e.now-began)
	e.publish()
}

// token gives a request its next token and ends it after the last one.
func (e *engine) token(r *request) {
	r.generated++
	if r.generated == 1 {
		r.firstToken = e.now
	}
	r.lastToken = e.now
	if r.generated < r.wanted {
		return
	}
	reason := reasonStop
	if r.generated >= r.maxTokens {
		reason = reasonLength
	}
	e.tally.finish(r, reason, e.now)
	e.release(r)
	e.running = slices.DeleteFunc(e.running, func(x *request) bool { return x == r })
	e.gone(r, true)
}

// dropImpatient forgets requests whose clients have gone away. vLLM's Python frontend counts them nowhere.
func (e *engine) dropImpatient() {
	if e.now < e.patience {
		return
	}
	e.patience = forever
	left := func(r *request) bool {
		if !r.gaveUp(e.now) {
			e.patience = min(e.patience, r.deadline())
			return false
		}
		e.release(r)
		if e.counts {
			e.tally.finished[reasonAbort]++
		}
		e.gone(r, false)
		return true
	}
	e.running = slices.DeleteFunc(e.running, left)
	e.waiting = slices.DeleteFunc(e.waiting, left)
}

// schedule chooses what the step computes: running requests first, then new ones while budget, slots and blocks last.
// prompts are the tokens that are not a running request's next one.
func (e *engine) schedule() (_ []work, prompts int) {
	if e.fault == Stalled {
		return nil, 0
	}
	batch, budget := e.batch[:0], e.spec.MaxNumBatchedTokens
	defer func() { e.batch = batch }()
	take := func(r *request, tokens int) {
		batch = append(batch, work{r: r, tokens: tokens})
		budget -= tokens
		if tokens > 1 || r.generated == 0 {
			prompts += tokens
		}
	}
	preempted := false
	for i := 0; i < len(e.running) && budget > 0; i++ {
		r := e.running[i]
		tokens := min(r.known()-r.computed, budget)
		for !e.grow(r, r.computed+tokens, 0) {
			preempted = true
			if e.preemptYoungest() == r {
				return batch, prompts
			}
		}
		take(r, tokens)
	}
	reserve := int(e.spec.Watermark * float64(e.blocks))
	for !preempted && len(e.waiting) > 0 && len(e.running) < e.spec.MaxNumSeqs && budget > 0 {
		r := e.waiting[0]
		if !e.grow(r, r.known(), reserve) {
			break
		}
		e.waiting = e.waiting[1:]
		e.running = append(e.running, r)
		e.admit(r)
		take(r, min(r.known()-r.computed, budget))
	}
	return batch, prompts
}

// admit begins or resumes a request. Only the first time finds its prefix in the cache and ends its time in the queue.
func (e *engine) admit(r *request) {
	r.preempted = false
	if r.admitted {
		return
	}
	r.admitted = true
	r.scheduled = max(e.now, r.arrived)
	if e.spec.NoPrefixCaching {
		r.cached = 0
		return
	}
	r.cached = min(r.cached, (r.prompt-1)/blockSize*blockSize)
	r.computed = r.cached
	e.tally.queried += uint64(r.prompt)
	e.tally.hit += uint64(r.cached)
}

// grow gives a request the blocks for so many tokens, unless fewer than reserve would be left. The last request of all
// gets them anyway: vLLM refuses to start when not even one request fits.
func (e *engine) grow(r *request, tokens, reserve int) bool {
	need := (tokens+blockSize-1)/blockSize - r.blocks
	if need <= 0 {
		return true
	}
	if e.used+need > e.blocks-reserve && e.used > 0 {
		return false
	}
	r.blocks += need
	e.used += need
	return true
}

func (e *engine) release(r *request) {
	e.used -= r.blocks
	r.blocks = 0
}

// preemptYoungest takes the blocks of the running request that came last and puts it in front of the queue.
func (e *engine) preemptYoungest() *request {
	last := len(e.running) - 1
	r := e.running[last]
	e.running = e.running[:last]
	e.release(r)
	r.computed, r.preempted = 0, true
	e.waiting = slices.Insert(e.waiting, 0, r)
	e.tally.preemptions++
	return r
}

// publish sets the gauges, as vLLM does after every step.
func (e *engine) publish() {
	swapped := 0
	for _, r := range e.waiting {
		if r.preempted {
			swapped++
		}
	}
	t := e.tally
	t.running, t.waiting, t.swapped = len(e.running), len(e.waiting), swapped
	t.kv = min(1, float64(e.used)/float64(max(1, e.blocks)))
}
