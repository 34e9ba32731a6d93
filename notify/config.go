package notify

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// Part is the part of the program for whose work a panic is counted.
const Part = "messages"

// Config says how messages are delivered. Zero durations get the defaults named beside them.
type Config struct {
	// Owner names this process in claims; it must differ between replicas.
	Owner string
	// Sink is the sink that is delivered to (incident.SinkSlack). Each has a dispatcher, so that a slow one holds up no
	// other.
	Sink string
	// Sweep is how often the outbox is looked at without being woken (1 s).
	Sweep time.Duration
	// Lease is how long a claim on a message holds (1 m). One message never takes longer than three quarters of it.
	Lease time.Duration
	// Parallel is how many messages are worked on at the same time (16).
	Parallel int
	// Gap is the least time between two edits of one message, so that bursts are merged (incident.CountGap in Slack, whose
	// store brings it forward to incident.EditGap for what somebody waits for; incident.EditGap elsewhere).
	Gap time.Duration
	// DigestGap is Gap for a digest (5 s), which changes with each of its incidents.
	DigestGap time.Duration
	// LookAfter is how long after a lost answer the channel is searched, so that a slow post can still appear (15 s).
	LookAfter time.Duration
	// AmbiguousWait is how long after a lost answer a post is repeated once, when the channel cannot be searched (3 m).
	AmbiguousWait time.Duration
	// RetryMin and RetryMax bound the wait after a failure that may pass by itself (2 s, 5 m); it doubles each time.
	RetryMin, RetryMax time.Duration
	// RetryRefused is how long after a refusal that somebody has to act on a message is tried again (5 m): nobody tells
	// the bot that the app was invited or got its scope.
	RetryRefused time.Duration
	// Drain is how long the calls in flight may still take when Run is told to stop (10 s).
	Drain time.Duration
	// Panics logs and counts what was caught; nil only catches.
	Panics *rescue.Log
	// Now is the time that the outbox's claims and due times are told in (time.Now). Dispatchers on one outbox must agree
	// about it.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.Sink = cmp.Or(c.Sink, incident.SinkSlack)
	c.Sweep = cmp.Or(c.Sweep, time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Parallel = cmp.Or(c.Parallel, 16)
	gap := incident.EditGap
	if c.Sink == incident.SinkSlack {
		gap = incident.CountGap
	}
	c.Gap = cmp.Or(c.Gap, gap)
	c.DigestGap = cmp.Or(c.DigestGap, 5*time.Second)
	c.LookAfter = cmp.Or(c.LookAfter, 15*time.Second)
	c.AmbiguousWait = cmp.Or(c.AmbiguousWait, 3*time.Minute)
	c.RetryMin = cmp.Or(c.RetryMin, 2*time.Second)
	c.RetryMax = cmp.Or(c.RetryMax, 5*time.Minute)
	c.RetryRefused = cmp.Or(c.RetryRefused, 5*time.Minute)
	c.Drain = cmp.Or(c.Drain, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Owner == "" {
		errs = append(errs, errors.New("notify: Owner is empty; name this process"))
	}
	if c.Parallel < 0 {
		errs = append(errs, fmt.Errorf("notify: Parallel is %d; use 1 or more", c.Parallel))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Sweep", c.Sweep},
		{"Lease", c.Lease},
		{"Gap", c.Gap},
		{"DigestGap", c.DigestGap},
		{"LookAfter", c.LookAfter},
		{"AmbiguousWait", c.AmbiguousWait},
		{"RetryMin", c.RetryMin},
		{"RetryMax", c.RetryMax},
		{"RetryRefused", c.RetryRefused},
		{"Drain", c.Drain},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("notify: %s is %s; it must not be negative", d.name, d.value))
		}
	}
	if c.RetryMax < c.RetryMin {
		errs = append(errs, fmt.Errorf("notify: RetryMax (%s) is less than RetryMin (%s)", c.RetryMax, c.RetryMin))
	}
	return errors.Join(errs...)
}

// gap is the least time between two edits of a message.
func (c Config) gap(m incident.Message) time.Duration {
	if m.Kind == incident.KindDigest {
		return c.DigestGap
	}
	return c.Gap
}

// backoff is the wait after the n-th failure in a row, from 1.
func (c Config) backoff(n int) time.Duration {
	wait := c.RetryMin
	for range max(0, n-1) {
		if wait >= c.RetryMax/2 {
			return c.RetryMax
		}
		wait *= 2
	}
	return min(wait, c.RetryMax)
}
