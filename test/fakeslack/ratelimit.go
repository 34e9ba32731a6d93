package fakeslack

import (
	"fmt"
	"time"
)

// RateLimit allows Burst calls at once and then one per Every.
type RateLimit struct {
	Every time.Duration
	Burst int
	// PerChannel counts each channel on its own.
	PerChannel bool
}

// RateLimits are by method; a method that is not listed is not limited.
type RateLimits map[string]RateLimit

// DocumentedRateLimits returns the limits of docs.slack.dev/apis/web-api/rate-limits:
// one message a second and channel, and for the others the least that the
// method's tier promises. Slack allows short bursts of messages without saying
// how long; this double allows none.
func DocumentedRateLimits() RateLimits {
	perMinute := func(n int) RateLimit {
		return RateLimit{Every: time.Minute / time.Duration(n), Burst: n}
	}
	const tier2, tier3, tier4 = 20, 50, 100
	return RateLimits{
		"chat.postMessage":      {Every: time.Second, Burst: 1, PerChannel: true},
		"chat.update":           perMinute(tier3),
		"chat.postEphemeral":    perMinute(tier4),
		"conversations.history": perMinute(tier3),
		"conversations.replies": perMinute(tier3),
		"conversations.info":    perMinute(tier3),
		"reactions.add":         perMinute(tier3),
		"users.info":            perMinute(tier4),
		"usergroups.users.list": perMinute(tier2),
		"views.open":            perMinute(tier4),
		"views.update":          perMinute(tier4),
	}
}

// bucket counts tokens for one method, or one method and channel.
type bucket struct {
	tokens       float64
	at           time.Time
	blockedUntil time.Time
}

// takeRate returns nil when the call is within its limit. The caller holds the lock.
func (s *Server) takeRate(r request, now time.Time) *slackError {
	limit, limited := s.opts.RateLimits[r.method]
	if !limited {
		return nil
	}
	key := r.method
	if limit.PerChannel {
		key += " " + r.args["channel"]
	}
	b, ok := s.buckets[key]
	if !ok {
		b = &bucket{tokens: float64(limit.Burst), at: now}
		s.buckets[key] = b
	}
	if now.Before(b.blockedUntil) {
		s.unexpected = append(s.unexpected,
			fmt.Sprintf("%s: called again %s before its Retry-After was over", key, b.blockedUntil.Sub(now).Round(time.Millisecond)))
		return &slackError{code: "ratelimited", retryAfter: b.blockedUntil.Sub(now)}
	}
	b.tokens = min(float64(limit.Burst), b.tokens+float64(now.Sub(b.at))/float64(limit.Every))
	b.at = now
	if b.tokens >= 1 {
		b.tokens--
		return nil
	}
	wait := time.Duration((1 - b.tokens) * float64(limit.Every))
	// The header has whole seconds, and only they bind the caller.
	b.blockedUntil = now.Add(wait)
	return &slackError{code: "ratelimited", retryAfter: wait}
}
