package slack

import (
	"slices"
	"time"
)

const (
	// unsteadyFor is over how long the ends of connections are counted.
	unsteadyFor = time.Minute
	// unsteadyFrom is how many ends in that time are more than Slack makes: it ends a connection about once an hour.
	unsteadyFrom = 3
)

// pace decides how soon the next connection is opened after one has ended, and remembers the ends.
type pace struct {
	// ends are those within unsteadyFor; failures counts the waits in a row.
	ends     []time.Time
	failures int
}

// ended notes the end of a connection that Slack had greeted, so that clicks could come, and says whether the next one
// is opened without a wait. It is unless too many ended within a minute.
func (p *pace) ended(now time.Time, lived time.Duration, cfg SocketConfig) bool {
	p.ends = append(slices.DeleteFunc(p.ends, func(t time.Time) bool { return now.Sub(t) > unsteadyFor }), now)
	if lived >= cfg.Settled || len(p.ends) <= cfg.AtOnce {
		p.failures = 0
		return true
	}
	return false
}

// cuts is how many connections have ended within unsteadyFor, when that is more than there should be; else 0.
func (p *pace) cuts(now time.Time) int {
	n := 0
	for _, t := range p.ends {
		if now.Sub(t) <= unsteadyFor {
			n++
		}
	}
	if n < unsteadyFrom {
		return 0
	}
	return n
}

// since is when the ends that count began; zero when there are none.
func (p *pace) since() time.Time {
	if len(p.ends) == 0 {
		return time.Time{}
	}
	return p.ends[0]
}
