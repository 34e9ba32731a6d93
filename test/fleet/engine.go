package fleet

import (
	"slices"
	"time"
)

// Engine is what an engine can do.
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
	// APIServers share the work of the front end (--api-server-count); 0 is 1.
	APIServers int `json:"api_servers,omitempty"`
	Cost
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
	// cpuBlocks is V0's swap space: 4 GiB.
	cpuBlocks = 13107
)

// engine is one data-parallel rank.
type engine struct {
	spec  Engine // with the arguments applied
	fault Fault
	slow  float64 // steps take this many times as long; 0 is 1
	share float64 // of the requests, against 1 of another engine
	// cpu is how many times as long the front end takes, coming the requests that it still has, late how long a token
	// waits for it.
	cpu    float64
	coming int
	// turn is the number of the last request that the router gave it.
	turn uint64
	late time.Duration
	now  time.Duration

	blocks, used int
	// held blocks belong to transfers that nobody fetches; see PodLever. No request gets them.
	held int
	// lent blocks are those of prompts that this prefill engine has read and no decode engine has fetched yet.
	lent int
	// handedOut counts the blocks that were ever given to requests.
	handedOut int
	prefixes  map[int]*prefix

	running []*request // oldest first
	waiting []*request // next first
	// receiving are requests of a decode engine whose blocks are on their way, arriving is when the next of them come.
	receiving []*request
	arriving  time.Duration
	role      Role
	// transfer is how many times as long a transfer takes; 0 is 1. got is told of each request whose blocks have come.
	transfer float64
	got      func(*request)
	swapped  int    // waiting requests that were preempted
	batch    []work // of the last step, kept for its memory
	coast    coast

	tally  *tally
	counts bool // counts aborts
	// patience is not after the next moment at which a client may give up.
	patience time.Duration
	// gone is told of every request that ends.
	gone func(r *request, how ending)
	// began, when set, is told of every request whose first token is there.
	began func(r *request)
}

// ending is how a request left an engine.
type ending int

const (
	finished  ending = iota
	prefilled        // a prefill engine has read the prompt
	gaveUp           // the client went away
	lost             // the engine did
)

func (e *engine) inFlight() int { return e.here() + e.coming }

// here are the requests that the engine has.
func (e *engine) here() int { return len(e.running) + len(e.waiting) + len(e.receiving) }

// taken are the blocks that no request of this engine has and none can get.
func (e *engine) taken() int { return e.held + e.lent }

// outside is what the API server adds to a first or last token now.
func (e *engine) outside() time.Duration { return e.spec.Frontend + e.late }

// filled is how much of its share the engine would have with one request more.
func (e *engine) filled() float64 { return float64(e.inFlight()+1) / e.share }

// before says that the router prefers the engine to another one, which stands before it in the list.
func (e *engine) before(other *engine, rotate bool) bool {
	mine, others := e.filled(), other.filled()
	return mine < others || rotate && mine == others && e.turn < other.turn
}

// overfull says that more blocks are in use than there are, since some became unusable.
func (e *engine) overfull() bool { return e.used > e.blocks-e.taken() }

// configure sets what the engine can do from now on. Requests keep their blocks.
func (e *engine) configure(spec Engine) {
	e.settle()
	e.spec = spec
	e.blocks = spec.KVTokens / blockSize
}

// enqueue takes a request that arrived at r.arrived, which is not before the last call of advance.
func (e *engine) enqueue(r *request) {
	e.waiting = append(e.waiting, r)
	e.patience = min(e.patience, r.deadline())
}

// advance runs every step that begins before until.
func (e *engine) advance(until time.Duration) {
	for e.now < until {
		if e.here() == 0 {
			e.now = until
			return
		}
		if e.fault == Wedged { // clients leave; the gauges stay as they were
			e.now = min(until, max(e.now, e.patience))
			e.dropImpatient()
			continue
		}
		if len(e.running)+len(e.waiting) == 0 && e.now < e.arriving { // nothing to do until blocks come
			e.now = min(until, e.arriving, max(e.now, e.patience))
			e.dropImpatient()
			continue
		}
		e.steps(until)
		e.publish()
	}
}

// steps takes at least one step that begins before until.
func (e *engine) steps(until time.Duration) {
	e.dropImpatient()
	if (e.coast.left > 0 || e.coast.steps == 0 && e.begin()) && e.blocked() {
		if e.glide(until); e.now >= until {
			return
		}
	}
	e.settle()
	e.dropImpatient()
	e.step()
}

// work is what a step does for a request.
type work struct {
	r      *request
	tokens int
}

func (e *engine) step() {
	batch, load := e.schedule()
	began := e.now
	e.now += e.slowed(e.spec.of(load))
	inStep := uint64(0)
	for _, w := range batch {
		w.r.computed += w.tokens
		if w.r.computed < w.r.known() {
			continue
		}
		if w.r.generated > 0 && w.r.lastToken == began {
			inStep++ // its last token came with the last step, as nearly everybody's
		} else {
			if w.r.generated == 0 {
				w.r.late = e.late
			}
			e.tally.token(w.r, e.now, e.outside())
		}
		e.token(w.r)
	}
	e.tally.tokens(inStep, e.now-began)
}

// slowed is how long this engine takes for what another one does in d.
func (e *engine) slowed(d time.Duration) time.Duration {
	if e.slow == 0 || e.slow == 1 {
		return d
	}
	return time.Duration(float64(d) * e.slow)
}

// token gives a request its next token and ends it after the last one.
func (e *engine) token(r *request) {
	r.generated++
	if r.generated == 1 {
		r.firstToken = e.now
		e.keep(r)
		if e.began != nil {
			e.began(r)
		}
	}
	r.lastToken = e.now
	if r.generated < r.wanted && e.role != Prefill {
		return
	}
	reason := reasonStop
	if r.generated >= r.maxTokens || e.role == Prefill { // which is asked for one token
		reason = reasonLength
	}
	e.tally.finish(r, reason, e.now, e.outside())
	e.running = slices.DeleteFunc(e.running, func(x *request) bool { return x == r })
	if e.role == Prefill {
		e.lend(r)
		e.gone(r, prefilled)
		return
	}
	e.release(r)
	e.gone(r, finished)
}

// dropImpatient forgets requests whose clients have gone away. vLLM's Python frontend counts them nowhere.
func (e *engine) dropImpatient() {
	if e.now < e.patience {
		return
	}
	e.settle()
	e.patience = forever
	left := func(r *request) bool {
		if !r.gaveUp(e.now) {
			e.patience = min(e.patience, r.deadline())
			return false
		}
		e.release(r)
		if r.preempted {
			e.swapped--
		}
		if e.counts {
			e.tally.finished[reasonAbort]++
		}
		e.gone(r, gaveUp)
		return true
	}
	e.running = slices.DeleteFunc(e.running, left)
	e.waiting = slices.DeleteFunc(e.waiting, left)
	e.receiving = slices.DeleteFunc(e.receiving, left)
}

// schedule chooses what the step computes: running requests first, then new ones while budget, slots and blocks last.
func (e *engine) schedule() (_ []work, load stepWork) {
	if e.fault == Stalled {
		return nil, load
	}
	e.received()
	batch, budget := e.batch[:0], e.spec.MaxNumBatchedTokens
	defer func() { e.batch = batch }()
	take := func(r *request, tokens int) {
		batch = append(batch, work{r: r, tokens: tokens})
		budget -= tokens
		load.seqs++
		if tokens > 1 || r.generated == 0 {
			load.chunk(r.computed, tokens)
		} else {
			load.context += r.computed + tokens
		}
	}
	preempted := false
	for i := 0; i < len(e.running) && budget > 0; i++ {
		r := e.running[i]
		tokens := min(r.known()-r.computed, budget)
		for !e.grow(r, r.computed+tokens) {
			preempted = true
			if e.preemptYoungest() == r {
				return batch, load
			}
		}
		take(r, tokens)
	}
	for !preempted && len(e.waiting) > 0 && len(e.running) < e.spec.MaxNumSeqs && budget > 0 {
		r := e.waiting[0]
		if !e.fits(r) {
			break
		}
		e.waiting = e.waiting[1:]
		if r.remote {
			e.receive(r)
			continue
		}
		e.running = append(e.running, r)
		e.admit(r)
		take(r, min(r.known()-r.computed, budget))
	}
	return batch, load
}

// fits says whether the blocks for a waiting request are free above the watermark. The last request of all gets them
// anyway: vLLM refuses to start when not even one request fits.
func (e *engine) fits(r *request) bool {
	if e.used+e.lent == 0 {
		return true
	}
	p, hit := e.hit(r)
	need := blocksFor(r.known()) - hit
	if hit > 0 && p.users == 0 {
		need += p.blocks
	}
	return e.used+need <= e.blocks-e.taken()-int(e.spec.Watermark*float64(e.blocks))
}

// admit begins or resumes a request that fits. What it finds in the cache counts the first time only, and so does its
// time in the queue.
func (e *engine) admit(r *request) {
	if r.preempted {
		e.swapped--
	}
	p, hit := e.hit(r)
	e.borrow(r, p, hit)
	r.computed = hit * blockSize
	need := blocksFor(r.known()) - r.blocks
	r.blocks += need
	e.used += need
	e.handedOut += need
	r.preempted = false
	if r.admitted {
		return
	}
	r.admitted = true
	r.scheduled = max(e.now, r.queued)
	if !e.spec.NoPrefixCaching {
		e.tally.queried += uint64(r.prompt)
		e.tally.hit += uint64(r.computed)
	}
}

func blocksFor(tokens int) int { return (tokens + blockSize - 1) / blockSize }

// grow gives a running request the blocks for so many tokens if they are free.
func (e *engine) grow(r *request, tokens int) bool {
	need := blocksFor(tokens) - r.blocks
	if need <= 0 {
		return true
	}
	if e.used+need > e.blocks-e.taken() && len(e.running) > 1 {
		return false
	}
	r.blocks += need
	e.used += need
	e.handedOut += need
	return true
}

// preemptYoungest takes the blocks of the running request that came last and puts it in front of the queue.
func (e *engine) preemptYoungest() *request {
	last := len(e.running) - 1
	r := e.running[last]
	e.running = e.running[:last]
	e.release(r)
	r.computed, r.preempted = 0, true
	e.swapped++
	e.waiting = slices.Insert(e.waiting, 0, r)
	e.tally.preemptions++
	return r
}

// publish sets the gauges, as vLLM does after every step.
func (e *engine) publish() {
	t := e.tally
	t.running, t.waiting, t.swapped = len(e.running), len(e.waiting)+len(e.receiving), e.swapped
	t.deferred = len(e.receiving)
	t.kv = e.usage()
}

// usage is the part of the cache that is in use, 0 to 1.
func (e *engine) usage() float64 {
	return min(1, float64(e.used+e.taken())/float64(max(1, e.blocks)))
}
