package evidence

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

// asker sends queries: bounded in number and time, tried again when the failure is transient.
type asker struct {
	api    v1.API
	client *client
	cfg    Config
	slots  chan struct{}
	logger *slog.Logger
}

func newAsker(cfg Config, logger *slog.Logger) (*asker, error) {
	c, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	return &asker{api: v1.NewAPI(c), client: c, cfg: cfg, slots: make(chan struct{}, cfg.Concurrency), logger: logger}, nil
}

// answer is what Prometheus said, complete; note holds its harmless warnings.
type answer struct {
	value model.Value
	note  string
}

// instant evaluates a query at one time.
func (a *asker) instant(ctx context.Context, query string, at time.Time) (answer, error) {
	return a.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		v, w, _, err := a.api.Query(ctx, query, at, v1.WithTimeout(a.cfg.QueryTimeout))
		return v, w, err
	})
}

// span evaluates a query at evenly spaced times up to at.
func (a *asker) span(ctx context.Context, query string, at time.Time) (answer, error) {
	step := (a.cfg.HistoryWindow / time.Duration(a.cfg.HistoryPoints)).Truncate(time.Millisecond)
	r := v1.Range{Start: at.Add(-step * time.Duration(a.cfg.HistoryPoints-1)), End: at, Step: step}
	return a.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		v, w, _, err := a.api.QueryRange(ctx, query, r, v1.WithTimeout(a.cfg.QueryTimeout))
		return v, w, err
	})
}

type call func(context.Context) (model.Value, v1.Warnings, error)

// ask retries transient failures. The last real error is kept: go-retry would replace it by the context's end.
func (a *asker) ask(ctx context.Context, f call) (answer, error) {
	var (
		got      answer
		last     error
		attempts int
	)
	err := retry.Do(ctx, a.backoff(&last), func(ctx context.Context) error {
		attempts++
		var err error
		if got, err = a.once(ctx, f); err == nil {
			return nil
		}
		last = err
		if !transient(err) {
			return err
		}
		a.logger.DebugContext(ctx, "query failed for now", "attempt", attempts, "err", err)
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
	return answer{}, err
}

// backoff is new for each call, because backoffs have state.
func (a *asker) backoff(last *error) retry.Backoff {
	b := retry.WithCappedDuration(maxBackoff, retry.NewExponential(a.cfg.RetryBase))
	b = retry.WithJitterPercent(20, b)
	patient := retry.BackoffFunc(func() (time.Duration, bool) {
		wait, stop := b.Next()
		if status, ok := errors.AsType[*statusError](*last); ok {
			wait = max(wait, min(status.after, maxBackoff))
		}
		return wait, stop
	})
	return retry.WithMaxRetries(uint64(max(a.cfg.Attempts-1, 0)), patient)
}

// once makes one attempt under its own timeout. Waiting for a free slot does not count against it.
func (a *asker) once(ctx context.Context, f call) (answer, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return answer{}, fmt.Errorf("not asked: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.cfg.QueryTimeout, &slowError{limit: a.cfg.QueryTimeout})
	defer cancel()
	value, warnings, err := f(ctx)
	if err != nil {
		return answer{}, explain(err)
	}
	note, err := sortWarnings(warnings)
	if err != nil {
		return answer{}, err
	}
	return answer{value: value, note: note}, nil
}

// slowError is the end of one query's time.
type slowError struct{ limit time.Duration }

// Error names the limit.
func (e *slowError) Error() string { return "Prometheus gave no answer within " + e.limit.String() }

// deadlineError is the end of the time for a whole collection.
type deadlineError struct{ limit time.Duration }

// Error names the limit.
func (e *deadlineError) Error() string {
	return "the deadline of " + e.limit.String() + " for all readings ended first"
}
