package fleet

import (
	"math"
	"time"
)

// coast is a run of steps in which every running request gets its next token and nothing else happens: nobody comes,
// finishes, gives up or is preempted. Such steps are most of an engine's life. Only what all of them have in common is
// worked out for each; the requests learn of them at the end (settle). What comes out is the same as with steps one by
// one.
type coast struct {
	steps int // taken, and not yet written into the requests
	left  int // that may still be taken
	// work is that of the next step.
	work stepWork
	// crossing counts the requests that need a new block at the steps whose number has this remainder.
	crossing [blockSize]int
}

// begin starts a coast if the next step is such a step. Nothing must have happened since the last step but arrivals.
func (e *engine) begin() bool {
	e.coast = coast{left: math.MaxInt}
	c := &e.coast
	if e.fault != NoFault || len(e.running) == 0 || len(e.running) > e.spec.MaxNumBatchedTokens || e.overfull() {
		c.left = 0
		return false
	}
	for _, r := range e.running {
		spare := r.blocks*blockSize - r.computed
		if r.generated == 0 || r.computed != r.known()-1 || r.lastToken != e.now || spare < 0 || spare >= blockSize {
			c.left = 0
			return false
		}
		c.left = min(c.left, r.wanted-r.generated-1)
		c.crossing[spare]++
		c.work.context += r.computed + 1
	}
	c.work.seqs = len(e.running)
	return c.left > 0
}

// blocked says that no waiting request can be admitted by the next step as long as no running one ends.
func (e *engine) blocked() bool {
	if e.now >= e.arriving {
		return false
	}
	if len(e.waiting) == 0 || len(e.running) >= e.spec.MaxNumSeqs || len(e.running) >= e.spec.MaxNumBatchedTokens {
		return true
	}
	return !e.fits(e.waiting[0])
}

// glide takes such steps until something else happens or time is up.
func (e *engine) glide(until time.Duration) {
	c := &e.coast
	for c.left > 0 && e.now < until && e.now < e.patience && e.now < e.arriving {
		need := c.crossing[c.steps%blockSize]
		if need > 0 && e.used+need > e.blocks-e.taken() {
			c.left = 0
			return
		}
		e.used += need
		e.handedOut += need
		took := e.slowed(e.spec.of(c.work))
		e.now += took
		e.tally.tokens(uint64(c.work.seqs), took)
		c.work.context += c.work.seqs
		c.steps++
		c.left--
	}
}

// settle writes the steps of a coast into the requests and ends it.
func (e *engine) settle() {
	c := e.coast
	e.coast = coast{}
	if c.steps == 0 {
		return
	}
	for _, r := range e.running {
		if at := r.blocks*blockSize - r.computed; c.steps > at {
			r.blocks += 1 + (c.steps-at-1)/blockSize
		}
		r.computed += c.steps
		r.generated += c.steps
		r.lastToken = e.now
	}
}
