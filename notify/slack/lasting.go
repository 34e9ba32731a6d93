package slack

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/notify"
)

const (
	// limitedFor is how long Slack may limit the rate of calls without a word: a burst of messages is over by then.
	limitedFor = time.Minute
	// limitedMost is how many calls must work for a rate limit to be over, at most.
	limitedMost = 5
)

// channels knows which channels refuse the bot, and why: Slack works, but nobody there sees a message.
type channels struct {
	mu      sync.Mutex
	refused map[string]shutOut
}

type shutOut struct {
	code  string
	since time.Time
}

// note keeps how a call to a channel ended. Only an answer about the channel, or a call that works, says anything.
func (c *channels) note(channel string, err error) {
	var answer *answerError
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case channel == "":
	case err == nil:
		delete(c.refused, channel)
	case errors.As(err, &answer) && ofTheChannel(answer.code):
		if c.refused == nil {
			c.refused = map[string]shutOut{}
		}
		before, known := c.refused[channel]
		if !known {
			before.since = time.Now()
		}
		before.code = answer.code
		c.refused[channel] = before
	}
}

// ofTheChannel says that a shutOut concerns a channel as a whole.
func ofTheChannel(code string) bool {
	switch code {
	case "channel_not_found", "not_in_channel", "is_archived", "is_inactive", "restricted_action",
		"restricted_action_read_only_channel", "restricted_action_thread_only_channel":
		return true
	}
	return false
}

// trouble sums the channels up, without their names; false when none refuses.
func (c *channels) trouble() (Trouble, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var worst shutOut
	for _, r := range c.refused {
		if worst.code == "" || r.since.Before(worst.since) || r.since.Equal(worst.since) && r.code < worst.code {
			worst = r
		}
	}
	if worst.code == "" {
		return Trouble{}, false
	}
	text := "a channel takes no messages: " + worst.code
	if n := len(c.refused); n > 1 {
		text = fmt.Sprintf("%d channels take no messages: %s", n, worst.code)
	}
	return Trouble{Text: text, Next: nextStep(worst.code) + " The log names the incident.", Since: worst.since}, true
}

// limiting knows whether Slack limits the rate of calls all the time.
type limiting struct {
	mu sync.Mutex
	// left is how many calls must still work for it to be over; since is when it began, until when the last answer lasts.
	left         int
	since, until time.Time
}

// note keeps how a call ended.
func (l *limiting) note(now time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limited, is := errors.AsType[*notify.RateLimitedError](err)
	switch {
	case is:
		if l.left == 0 || now.Sub(l.until) > limitedFor {
			l.left, l.since = 0, now
		}
		l.left = min(l.left+1, limitedMost)
		l.until = now.Add(limited.After)
	case err == nil && l.left > 0:
		l.left--
	}
}

// trouble says so when it has lasted for more than limitedFor.
func (l *limiting) trouble(now time.Time) (Trouble, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 || now.Sub(l.since) <= limitedFor || now.Sub(l.until) > limitedFor {
		return Trouble{}, false
	}
	return Trouble{
		Text:  "Slack limits the rate of calls all the time, so messages are late",
		Next:  "Messages are sent when Slack allows it. If it lasts, check that no other program uses the app's token.",
		Since: l.since,
	}, true
}
