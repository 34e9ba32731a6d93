package slack

import (
	"context"
	"errors"
	"time"
)

const (
	// seats is how many clicks wait at the same time for one kind of lookup: there are three kinds, and places for more
	// clicks than fill their seats (InteractionsConfig.Workers), so that slow lookups hold up no other click.
	seats = 8
	// seatWait is how long a click waits for one of them.
	seatWait = 2 * time.Second
)

// errNoSeat says that too many clicks wait for the same lookup already.
var errNoSeat = errors.New("too many clicks wait for an answer already")

// queue bounds the clicks that wait for one kind of lookup. A nil one bounds nothing.
type queue chan struct{}

func newQueue() queue { return make(queue, seats) }

// take waits for a seat, and not for long. leave gives it back.
func (q queue) take(ctx context.Context) (leave func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, seatWait, errNoSeat)
	defer cancel()
	select {
	case q <- struct{}{}:
		return func() { <-q }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
