package fleet

import (
	"math/rand/v2"
	"time"
)

// arrivals says when the next request comes. Between two of them one unit of demand passes, or a random amount that is
// one on average; so a demand that changes on the way changes when the next one comes, and nothing else.
type arrivals struct {
	load  Load
	since time.Duration // when the load began, for its bursts
	// demand is what comes outside of a burst, in requests per second.
	demand float64

	asOf time.Duration // when need was right
	need float64       // units that must still pass
	next time.Duration // when they have passed
	sent int
}

// start begins a load.
func (a *arrivals) start(l Load, demand float64, now time.Duration, rnd *rand.Rand) {
	*a = arrivals{load: l, since: now, demand: demand, asOf: now}
	a.draw(rnd)
}

// took is called when the next request has come.
func (a *arrivals) took(rnd *rand.Rand) {
	a.sent++
	a.asOf = a.next
	a.draw(rnd)
}

func (a *arrivals) draw(rnd *rand.Rand) {
	a.need = 1
	if a.load.Random {
		a.need = rnd.ExpFloat64()
	}
	a.solve()
}

// setDemand changes how much comes from now on.
func (a *arrivals) setDemand(demand float64, now time.Duration) {
	if demand == a.demand {
		return
	}
	for a.asOf < now {
		rate, until := a.rate(a.asOf)
		until = min(until, now)
		a.need = max(0, a.need-rate*(until-a.asOf).Seconds())
		a.asOf = until
	}
	a.demand = demand
	a.solve()
}

// solve finds when the needed units have passed.
func (a *arrivals) solve() {
	a.next = forever
	at, need := a.asOf, a.need
	for range 1000 { // bursts without any demand between them
		rate, until := a.rate(at)
		if rate > 0 {
			if took := need / rate; until == forever || took < (until-at).Seconds() {
				a.next = at + time.Duration(took*float64(time.Second))
				return
			}
			need -= rate * (until - at).Seconds()
		}
		if until == forever {
			return
		}
		at = until
	}
}

// rate is how much comes at a moment, and until when.
func (a *arrivals) rate(at time.Duration) (perSecond float64, until time.Duration) {
	b := a.load.Burst
	if b.Every == 0 || a.demand == 0 {
		return a.demand, forever
	}
	into := (at - a.since) % b.Every
	if calm := b.Every - b.For; into < calm {
		return a.demand, at - into + calm
	}
	return a.demand * b.Factor, at - into + b.Every
}
