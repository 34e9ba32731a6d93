package slack

import (
	"context"
	"errors"
	"time"

	"github.com/sethvargo/go-retry"

	"github.com/vllm-medic/vllm-medic/notify"
)

const (
	// retries is how often a call that changes nothing twice is repeated at once.
	retries = 2
	// patience is the longest wait between two of them. A longer rate limit goes to the caller.
	patience = 3 * time.Second
)

// repeat makes a call that may be made any number of times, and makes it again on failures that pass by themselves. The
// error is the last real one, also when ctx ends in between.
func (c *Client) repeat(ctx context.Context, method string, call func(context.Context) error) error {
	var last error
	of := everywhere(method)
	attempt := func(ctx context.Context) error {
		if wait := c.limits.remaining(of); wait > 0 {
			last = &notify.RateLimitedError{After: wait}
		} else {
			last = notifyError(call(ctx), false)
		}
		if last == nil || !passing(last) {
			return last
		}
		if limited, ok := errors.AsType[*notify.RateLimitedError](last); ok {
			c.limits.extend(of, limited.After)
		}
		return retry.RetryableError(last)
	}
	err := retry.Do(ctx, backoff(&last), attempt)
	if last != nil {
		return c.wrap(of, last)
	}
	return c.wrap(of, err)
}

// backoff is new for each operation, because back-offs hold state. It waits as long as a rate limit says.
func backoff(last *error) retry.Backoff {
	b := retry.NewExponential(200 * time.Millisecond)
	b = retry.WithCappedDuration(patience, b)
	b = retry.WithJitterPercent(20, b)
	b = retry.WithMaxRetries(retries, b)
	return retry.BackoffFunc(func() (time.Duration, bool) {
		wait, stop := b.Next()
		if limited, ok := errors.AsType[*notify.RateLimitedError](*last); ok {
			wait = limited.After
		}
		return wait, stop || wait > patience
	})
}

// passing says that the same call may work in a moment.
func passing(err error) bool {
	var permanent *notify.PermanentError
	var gone *notify.GoneError
	return !errors.As(err, &permanent) && !errors.As(err, &gone)
}
