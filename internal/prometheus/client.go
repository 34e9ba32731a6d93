package prometheus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/sethvargo/go-retry"
)

// maxBackoff caps the wait between two attempts, Retry-After included: a collection has seconds, not minutes.
const maxBackoff = 3 * time.Second

// Client asks one Prometheus: bounded in number and time, again when the failure is transient. It is safe for
// concurrent use.
type Client struct {
	queries, lists v1.API
	connection     *connection
	cfg            Config
	slots          chan struct{}
	logger         *slog.Logger
}

// New returns a Client. Nothing is asked yet.
func New(cfg Config, logger *slog.Logger) (*Client, error) {
	if logger == nil {
		return nil, errors.New("prometheus: a logger is needed")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	c, err := newConnection(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{
		queries: v1.NewAPI(c), lists: v1.NewAPI(lists{c}), connection: c, cfg: cfg,
		slots: make(chan struct{}, cfg.Concurrency), logger: logger,
	}, nil
}

// ClockWarning says that the bot's clock and Prometheus' differed by minutes at the last answer; empty when they did
// not.
func (c *Client) ClockWarning() string { return c.connection.clockWarning() }

// Answer is what Prometheus said to a query, complete. Note holds its harmless warnings.
type Answer struct {
	Value model.Value
	Note  string
}

// Instant evaluates a query at one time.
func (c *Client) Instant(ctx context.Context, query string, at time.Time) (Answer, error) {
	return c.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		v, w, _, err := c.queries.Query(ctx, query, at, v1.WithTimeout(c.cfg.QueryTimeout))
		return v, w, err
	})
}

// Range evaluates a query from one time to another, both included, at every step.
func (c *Client) Range(ctx context.Context, query string, from, to time.Time, step time.Duration) (Answer, error) {
	r := v1.Range{Start: from, End: to, Step: step}
	return c.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		v, w, _, err := c.queries.QueryRange(ctx, query, r, v1.WithTimeout(c.cfg.QueryTimeout))
		return v, w, err
	})
}

type call func(context.Context) (model.Value, v1.Warnings, error)

// ask retries transient failures. The last real error is kept: go-retry would replace it by the context's end.
func (c *Client) ask(ctx context.Context, f call) (Answer, error) {
	var (
		got      Answer
		last     error
		attempts int
	)
	err := retry.Do(ctx, c.backoff(&last), func(ctx context.Context) error {
		attempts++
		var err error
		if got, err = c.once(ctx, f); err == nil {
			return nil
		}
		last = err
		if !transient(err) {
			return err
		}
		c.logger.DebugContext(ctx, "query failed for now", "attempt", attempts, "err", err)
		return retry.RetryableError(err)
	})
	if err == nil {
		return got, nil
	}
	if last != nil && !errors.Is(err, last) {
		err = fmt.Errorf("%w; before that: %w", err, last)
	}
	if attempts > 1 {
		err = fmt.Errorf("%w (%d attempts)", err, attempts)
	}
	return Answer{}, err
}

// backoff is new for each call, because backoffs have state.
func (c *Client) backoff(last *error) retry.Backoff {
	b := retry.WithCappedDuration(maxBackoff, retry.NewExponential(c.cfg.RetryBase))
	b = retry.WithJitterPercent(20, b)
	patient := retry.BackoffFunc(func() (time.Duration, bool) {
		wait, stop := b.Next()
		if status, ok := errors.AsType[*statusError](*last); ok {
			wait = max(wait, min(status.after, maxBackoff))
		}
		return wait, stop
	})
	return retry.WithMaxRetries(uint64(max(c.cfg.Attempts-1, 0)), patient)
}

// once makes one attempt under its own timeout. Waiting for a free slot does not count against it.
func (c *Client) once(ctx context.Context, f call) (Answer, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("not asked: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.QueryTimeout, &slowError{limit: c.cfg.QueryTimeout})
	defer cancel()
	value, warnings, err := f(ctx)
	if err != nil {
		return Answer{}, explain(err)
	}
	note, err := sortWarnings(warnings)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Value: value, Note: note}, nil
}

// slowError is the end of one query's time.
type slowError struct{ limit time.Duration }

// Error names the limit.
func (e *slowError) Error() string { return "Prometheus gave no answer within " + e.limit.String() }
