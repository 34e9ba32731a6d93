package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ahead is what one payload told of the time after its receipt.
type ahead struct {
	// alerts is how many had such a time, by how far the farthest was.
	alerts int
	by     time.Duration
}

// add takes an alert, and returns it with times that can be true.
func (a *ahead) add(in incident.Alert) incident.Alert {
	out, by := in.AtReceipt()
	if by > 0 {
		a.alerts, a.by = a.alerts+1, max(a.by, by)
	}
	return out
}

// Senders with a clock that is ahead are told of once a day. Beyond aheadKept of them the one that was told of first is
// forgotten: who they are is what requests say, which may be anything.
const (
	aheadAgain = 24 * time.Hour
	aheadKept  = 64
)

// early watches for senders whose clock is ahead.
type early struct {
	count  prometheus.Counter
	logger *slog.Logger

	mu   sync.Mutex
	said map[string]time.Time
}

func newEarly(logger *slog.Logger) *early {
	return &early{
		count: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "vllm_medic_webhook_alerts_ahead_total",
			Help: "Alerts of accepted deliveries that began or ended after they were received, as they say.",
		}),
		logger: logger, said: map[string]time.Time{},
	}
}

// note counts what an accepted delivery told of the time after its receipt, and says it once for each sender.
func (e *early) note(ctx context.Context, d incident.Delivery, told ahead, sender ...any) {
	if told.alerts == 0 {
		return
	}
	e.count.Add(float64(told.alerts))
	if e.first(d.Sender, d.ReceivedAt) {
		e.logger.With(sender...).WarnContext(ctx,
			"alerts begin or end after they were received; the time of the receipt is taken instead",
			"ahead", told.by.Round(time.Second), "alerts", told.alerts,
			"reason", "the clock of Prometheus or Alertmanager is ahead of the bot's, or somebody else posts here")
	}
}

// first says whether it is time to tell of a sender.
func (e *early) first(sender string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at, known := e.said[sender]; known && now.Sub(at) < aheadAgain {
		return false
	}
	if len(e.said) >= aheadKept {
		oldest := sender
		for s, at := range e.said {
			if oldest == sender || at.Before(e.said[oldest]) {
				oldest = s
			}
		}
		delete(e.said, oldest)
	}
	e.said[sender] = now
	return true
}
