package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

const (
	// pastFor bounds how long the page of a closed incident waits for Prometheus.
	pastFor = 5 * time.Second
	// pastPoints are the points of one line: more than a phone has room for.
	pastPoints = 120
	// mostPasts bounds the incidents whose pasts are kept: some hundred KB for each ten.
	mostPasts = 50
	// pastsAtOnce leaves most of Prometheus' attention to incidents, as poolsAtOnce does.
	pastsAtOnce = 2
)

// pasts are the signals of closed incidents over their whole time, for their pages. What is over stays as it was, so
// Prometheus is asked once for each incident. They are safe for concurrent use.
type pasts struct {
	collector interface {
		PastBetween(ctx context.Context, query string, from, to time.Time, points int) ([]incident.Point, error)
	}
	logger *slog.Logger
	slots  chan struct{}

	mu    sync.Mutex
	known map[string]map[string][]incident.Point
	order []string // the keys of known, the oldest first
}

func newPasts(parts clients, logger *slog.Logger) *pasts {
	return &pasts{
		collector: parts.collector, logger: logger, slots: make(chan struct{}, pastsAtOnce),
		known: map[string]map[string][]incident.Point{},
	}
}

// Past implements web.Deps. With an error, it is what came without one.
func (p *pasts) Past(
	ctx context.Context, inc incident.Incident, queries map[string]string, from, to time.Time,
) (map[string][]incident.Point, error) {
	key := fmt.Sprintf("%s %d", inc.ID, inc.Version)
	p.mu.Lock()
	known, ok := p.known[key]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pastFor, fmt.Errorf("prometheus took longer than %s", pastFor))
	defer cancel()
	var (
		wg   rescue.Group
		mu   sync.Mutex
		out  = make(map[string][]incident.Point, len(queries))
		errs []error
	)
	for _, signal := range slices.Sorted(maps.Keys(queries)) {
		wg.Go(func() {
			points, err := p.ask(ctx, queries[signal], from, to)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", signal, err))
				return
			}
			out[signal] = points
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		p.logger.WarnContext(ctx, "the past of a closed incident could not be read", "incident", inc.ID, "err", err)
		return out, errs[0]
	}
	p.keep(key, out)
	return out, nil
}

func (p *pasts) ask(ctx context.Context, query string, from, to time.Time) ([]incident.Point, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.slots }()
	return p.collector.PastBetween(ctx, query, from, to, pastPoints)
}

func (p *pasts) keep(key string, past map[string][]incident.Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[key]; known {
		return
	}
	p.known[key], p.order = past, append(p.order, key)
	if len(p.order) > mostPasts {
		delete(p.known, p.order[0])
		p.order = p.order[1:]
	}
}
