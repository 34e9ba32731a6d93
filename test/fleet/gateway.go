package fleet

import "time"

// gateway is the proxy in front of the fleet: Envoy's circuit breaker and local rate limit, and its counters.
type gateway struct {
	throttle int     // requests in flight at most; 0 is no limit
	perSec   float64 // requests per second at most; 0 is no limit
	tokens   float64
	filled   time.Duration

	// total were sent to an engine; completed, destroyed (the client left) and lost (the replica went away) are how they
	// ended.
	total, completed, destroyed, lost uint64
	// rejected never reached an engine: throttle, rate limit, or no replica. overflowed are those of the throttle.
	rejected, overflowed uint64
	// retried are those that came back or will.
	retried uint64
}

// admit says whether a request may pass, and counts it.
func (g *gateway) admit(now time.Duration, inFlight int, enforced bool) bool {
	g.tokens = min(max(1, g.perSec), g.tokens+(now-g.filled).Seconds()*g.perSec)
	g.filled = now
	switch {
	case !enforced:
	case g.throttle > 0 && inFlight >= g.throttle:
		g.rejected++
		g.overflowed++
		return false
	case g.perSec > 0 && g.tokens < 1:
		g.rejected++
		return false
	case g.perSec > 0:
		g.tokens--
	}
	g.total++
	return true
}
