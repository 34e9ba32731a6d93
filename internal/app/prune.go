package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/store"
)

const (
	// pruneEvery is how often what is over is removed from the store.
	pruneEvery = time.Hour
	// pruneRounds bounds the batches of one turn; what is left then waits for the next one.
	pruneRounds = 100
	// pruneTimeout bounds one batch.
	pruneTimeout = 30 * time.Second
)

// pruner removes what is over.
type pruner interface {
	Prune(ctx context.Context, now time.Time, keep store.Keep) (store.Pruned, error)
}

// prune removes what is over, at once and then every hour, until the context ends. It never fails: what could not be
// removed is tried again.
func prune(ctx context.Context, p pruner, log *slog.Logger, now func() time.Time) error {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		pruneOnce(ctx, p, log, now)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func pruneOnce(ctx context.Context, p pruner, log *slog.Logger, now func() time.Time) {
	var all store.Pruned
	for range pruneRounds {
		got, err := batch(ctx, p, now())
		if err != nil {
			if ctx.Err() == nil {
				log.ErrorContext(ctx, "what is over could not be removed from the store; it is tried again in an hour", "err", err)
			}
			return
		}
		all.Deliveries, all.Ended, all.Clicks, all.Incidents = all.Deliveries+got.Deliveries, all.Ended+got.Ended,
			all.Clicks+got.Clicks, all.Incidents+got.Incidents
		if got.All() == 0 {
			break
		}
	}
	if all.All() > 0 {
		log.InfoContext(ctx, "what is over was removed from the store", "deliveries", all.Deliveries, "ended_alerts",
			all.Ended, "clicks", all.Clicks, "incidents", all.Incidents)
	}
}

func batch(ctx context.Context, p pruner, now time.Time) (store.Pruned, error) {
	ctx, cancel := context.WithTimeout(ctx, pruneTimeout)
	defer cancel()
	return p.Prune(ctx, now, store.DefaultKeep)
}
