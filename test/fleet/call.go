package fleet

import (
	"container/heap"
	"time"
)

// Result is how a client's call ended.
type Result string

// The results.
const (
	Answered Result = "answered" // completely
	Refused  Result = "refused"  // by the gateway, each time
	GaveUp   Result = "gave up"  // the client was no longer willing to wait
	Lost     Result = "lost"     // a replica went away with it
)

// Outcome is a call as its client saw it, with all tries.
type Outcome struct {
	// Arrived and Ended are simulated times since the start.
	Arrived, Ended time.Duration
	Result         Result
	// FirstToken is the time from the first try to the first token that was followed by all others, PerToken the mean
	// time between tokens; 0 unless Answered.
	FirstToken, PerToken time.Duration
	Tries                int
}

// call is what a client wants, over all its tries.
type call struct {
	load     Load
	arrived  time.Duration
	tries    int
	chance   uint64 // decides its waits
	template request
	again    time.Duration // when it comes back
}

// comebacks are the clients that will try again, the next one first.
type comebacks []*call

func (c comebacks) Len() int { return len(c) }

func (c comebacks) Less(i, j int) bool {
	if c[i].again != c[j].again {
		return c[i].again < c[j].again
	}
	return c[i].chance < c[j].chance
}
func (c comebacks) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

//nolint:forcetypeassert // container/heap's own shape
func (c *comebacks) Push(x any) { *c = append(*c, x.(*call)) }

func (c *comebacks) Pop() any {
	old := *c
	x := old[len(old)-1]
	*c = old[:len(old)-1]
	return x
}

// nextCall is a new client with its first request.
func (f *Fleet) nextCall() *request {
	l := f.scenario.Load
	l.Prompt, l.Generation = f.levers.lengths(l)
	if d := time.Duration(f.levers.GiveUpAfter); d > 0 {
		l.FirstTokenPatience = d
	}
	if d := time.Duration(f.levers.AnswerWithin); d > 0 {
		l.Patience = d
	}
	r := l.request(f.arrivals.sent, f.now, f.rnd, f.scenario.longest())
	if f.levers.PrefixMiss > 0 && f.rnd.Float64() < f.levers.PrefixMiss {
		r.prefix, r.shared = noPrefix, 0
	}
	f.calls++
	c := &call{load: l, arrived: f.now, chance: f.rnd.Uint64(), template: *r}
	r.call = c
	return r
}

// try sends a client's request to the gateway.
func (f *Fleet) try(r *request) {
	r.call.tries++
	if how, ok := f.send(r); !ok {
		f.failed(r.call, how, f.now)
	}
}

// failed ends a call or lets the client come back.
func (f *Fleet) failed(c *call, how Result, now time.Duration) {
	if c.tries > c.load.Retries {
		f.observe(Outcome{Arrived: c.arrived, Ended: now, Result: how, Tries: c.tries})
		return
	}
	wait := c.load.RetryAfter << min(c.tries-1, 6)
	part := float64(mix(c.chance+uint64(c.tries))>>11) / (1 << 53)
	c.again = now + time.Duration(float64(wait)*(.5+part))
	heap.Push(&f.comebacks, c)
	f.gateway.retried++
}

// comeBack sends the next client that tries again.
func (f *Fleet) comeBack() {
	c, _ := heap.Pop(&f.comebacks).(*call)
	r := c.template
	r.call, r.arrived = c, f.now
	c.load.wait(&r)
	f.try(&r)
}

func (f *Fleet) observe(o Outcome) {
	if f.opts.Observe != nil {
		f.opts.Observe(o)
	}
}

// mix is SplitMix64's finalizer: chance that belongs to a call and not to the order in which engines are asked.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
