package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// countTimeout bounds how long a scrape waits for the store.
const countTimeout = 2 * time.Second

// counter counts what is in the store.
type counter interface {
	Stats(ctx context.Context) (store.Stats, error)
	Ready(ctx context.Context) error
	ClockOffset() time.Duration
}

// storeMetrics reads the store at each scrape. Replicas on one store show the same numbers. When the store cannot be
// counted in time, only vllm_medic_store_up is there, and 0: no count is better than an old one. A store that can be
// counted and takes no commits is down, too.
type storeMetrics struct {
	counter counter
	logger  *slog.Logger
	now     func() time.Time
	panics  *rescue.Log
	// pools and diagnoses are the names that are shown; others have gone from the configuration.
	pools, diagnoses func() []string
	mu               sync.Mutex
	down             bool
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("vllm_medic_"+name, help, labels, nil)
}

// The metrics of the store. docs/operations.md says what to do about each.
var (
	descUp = desc("store_up",
		"1 when the store takes commits and could be counted for this scrape, else 0; without a count the other metrics of "+
			"the store are missing.")
	descDeliveriesWaiting = desc("deliveries_waiting", "Deliveries of Alertmanager that are not yet part of an incident.")
	descDeliveriesDead    = desc("deliveries_dead", "Alertmanager deliveries that failed permanently.")
	descLastDelivery      = desc("deliveries_last_timestamp_seconds",
		"When the newest delivery came in that the store still keeps; missing when there is none.")
	descOldest = desc("deliveries_oldest_waiting_seconds",
		"Age of the oldest waiting delivery; 0 when none waits.")
	descIncidents       = desc("incidents_open", "Open incidents by state.", "state")
	descDrills          = desc("drills", "Drills in the store by how they ended, running ones included.", "result")
	descUnreadable      = desc("incidents_unreadable", "Incidents in the store that this program cannot read.")
	descOpenWrites      = desc("writes_open", "Writes that were claimed and have not ended.")
	descMessages        = desc("messages_waiting", "Incident messages that are not up to date.")
	descMessagesGivenUp = desc("messages_given_up", "Incident messages that are out of date and need a human.")
	descFolded          = desc("incidents_folded", "Open incidents that Slack shows in a digest only.")
	descClicks          = desc("clicks_waiting", "Clicks that were accepted and not yet handled.")
	descPauses          = desc("pauses", "Pauses in force.")
	descClock           = desc("store_clock_offset_seconds",
		"How far this machine's clock is ahead of the store's, by which the bot goes; 0 on SQLite.")
)

// Describe sends every description.
func (m *storeMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, t := range tallyFamilies {
		out <- t.desc
	}
	for _, d := range []*prometheus.Desc{
		descUp, descDeliveriesWaiting, descDeliveriesDead, descOldest, descLastDelivery, descIncidents, descDrills,
		descUnreadable, descOpenWrites,
		descMessages, descMessagesGivenUp, descFolded,
		descClicks, descPauses, descClock,
	} {
		out <- d
	}
}

// openStates and drillResults have a sample even when nothing has them, so that a rule on them never lacks data.
var (
	openStates = []incident.State{
		incident.StateReceived, incident.StateInvestigating, incident.StateProposed, incident.StateDeciding,
		incident.StateApplying, incident.StateSettling,
		incident.StateVerifying, incident.StateUndoing, incident.StateWatching,
	}
	drillResults = []incident.DrillResult{
		"running", incident.DrillDecided, incident.DrillUndecided, incident.DrillNotAsked, incident.DrillStopped,
		incident.DrillInterrupted, incident.DrillNotStarted,
	}
)

// Collect counts anew.
func (m *storeMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
	defer cancel()
	st, err := m.count(ctx)
	m.report(ctx, err)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if err != nil {
		gauge(descUp, 0)
		return
	}
	up := 1.0
	if m.counter.Ready(ctx) != nil {
		up = 0
	}
	gauge(descUp, up)
	gauge(descDeliveriesWaiting, float64(st.DeliveriesWaiting))
	gauge(descDeliveriesDead, float64(st.DeliveriesDead))
	age := 0.0
	if !st.OldestWaiting.IsZero() {
		age = max(0, m.now().Sub(st.OldestWaiting).Seconds())
	}
	gauge(descOldest, age)
	for _, s := range openStates {
		gauge(descIncidents, float64(st.Incidents[string(s)]), string(s))
	}
	for _, r := range drillResults {
		gauge(descDrills, float64(st.Drills[string(r)]), string(r))
	}
	gauge(descUnreadable, float64(st.Unreadable))
	if !st.LastDelivery.IsZero() {
		gauge(descLastDelivery, float64(st.LastDelivery.UnixMilli())/1000)
	}
	gauge(descOpenWrites, float64(st.OpenWrites))
	m.collectTallies(out, st.Tallies)
	gauge(descMessages, float64(st.MessagesWaiting))
	gauge(descMessagesGivenUp, float64(st.MessagesGivenUp))
	gauge(descFolded, float64(st.Folded))
	gauge(descClicks, float64(st.ClicksWaiting))
	gauge(descPauses, float64(st.Pauses))
	gauge(descClock, m.counter.ClockOffset().Seconds())
}

// count does not wait for a driver that ignores its context.
func (m *storeMetrics) count(ctx context.Context) (store.Stats, error) {
	type answer struct {
		st  store.Stats
		err error
	}
	got := make(chan answer, 1)
	go func() {
		var a answer
		a.err = m.panics.Do(ctx, partMetrics, func() (err error) {
			a.st, err = m.counter.Stats(ctx)
			return err
		})
		got <- a
	}()
	select {
	case a := <-got:
		return a.st, a.err
	case <-ctx.Done():
		return store.Stats{}, context.Cause(ctx)
	}
}

// report logs the begin and the end of a failure, not each scrape.
func (m *storeMetrics) report(ctx context.Context, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (err != nil) == m.down {
		return
	}
	m.down = err != nil
	if m.down {
		m.logger.ErrorContext(ctx, "the store cannot be counted for the metrics", "err", err)
		return
	}
	m.logger.InfoContext(ctx, "the store can be counted for the metrics again")
}
