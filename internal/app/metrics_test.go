package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// tally answers with what it was given, an error, or, when hang is set, never.
type tally struct {
	st   store.Stats
	err  error
	hang chan struct{}
	// refuses is why no commit works.
	refuses error
	// ahead is the machine's clock.
	ahead time.Duration
}

func (c *tally) Stats(context.Context) (store.Stats, error) {
	if c.hang != nil {
		<-c.hang // as a driver that ignores its context
	}
	return c.st, c.err
}

func (c *tally) Ready(context.Context) error { return c.refuses }

func (c *tally) ClockOffset() time.Duration { return c.ahead }

// shown are the metrics of a store for a bot with the pool llama.
func shown(c counter, logger *slog.Logger, now func() time.Time) *storeMetrics {
	return &storeMetrics{
		counter: c, logger: logger, now: now,
		pools:     func() []string { return []string{"llama"} },
		diagnoses: func() []string { return []string{"queueing", "kv_cache_full"} },
	}
}

// scrape maps each sample, as name{label}, to its value.
func scrape(t *testing.T, m prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			name := f.GetName()
			for _, l := range s.GetLabel() {
				name += "{" + l.GetValue() + "}"
			}
			out[name] = s.GetGauge().GetValue() + s.GetCounter().GetValue() // one of them is not there, and 0
		}
	}
	return out
}

func TestMetricsShowWhatWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	c := &tally{st: store.Stats{
		DeliveriesWaiting: 2, DeliveriesDead: 1, OldestWaiting: now.Add(-90 * time.Second),
		Incidents:  map[string]int64{"deciding": 3},
		OpenWrites: 1, MessagesWaiting: 4, MessagesGivenUp: 1, Folded: 9, LastDelivery: now.Add(-time.Minute),
		Tallies: []incident.Tallied{
			{Family: incident.TallyWrites, Labels: []string{"replicas", "apply", "applied"}, Count: 7},
			{Family: incident.TallyOpened, Labels: []string{"llama"}, Count: 3},
			{Family: incident.TallyClosed, Labels: []string{"llama", "queueing"}, Count: 2},
			{Family: incident.TallyRefusals, Labels: []string{"proposal", "budget"}, Count: 5},
		},
		ClicksWaiting: 5,
		Pauses:        6, Unreadable: 8,
	}, ahead: -90 * time.Second}
	got := scrape(t,
		shown(c, slog.New(slog.DiscardHandler), func() time.Time { return now }))
	maps.DeleteFunc(got, func(_ string, v float64) bool { return v == 0 })
	want := map[string]float64{
		"vllm_medic_store_up": 1, "vllm_medic_deliveries_waiting": 2, "vllm_medic_deliveries_dead": 1,
		"vllm_medic_deliveries_oldest_waiting_seconds": 90,
		"vllm_medic_incidents_open{deciding}":          3, "vllm_medic_writes_open": 1,
		"vllm_medic_writes_total{replicas}{apply}{applied}":  7,
		"vllm_medic_incidents_opened_total{llama}":           3,
		"vllm_medic_incidents_closed_total{queueing}{llama}": 2,
		"vllm_medic_step_refusals_total{budget}{proposal}":   5,
		"vllm_medic_deliveries_last_timestamp_seconds":       float64(now.Add(-time.Minute).Unix()),
		"vllm_medic_messages_waiting":                        4,
		"vllm_medic_incidents_folded":                        9,
		"vllm_medic_messages_given_up":                       1, "vllm_medic_clicks_waiting": 5, "vllm_medic_pauses": 6,
		"vllm_medic_incidents_unreadable":       8,
		"vllm_medic_store_clock_offset_seconds": -90,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A rule on a metric that is missing never fires, so what does not happen is 0.
func TestMetricsOfAnEmptyStoreAreZeroAndThere(t *testing.T) {
	t.Parallel()
	got := scrape(t, shown(&tally{}, slog.New(slog.DiscardHandler), time.Now))
	for _, name := range []string{
		"vllm_medic_deliveries_dead", "vllm_medic_incidents_open{watching}",
		"vllm_medic_writes_total{replicas}{undo}{unknown}", "vllm_medic_deliveries_oldest_waiting_seconds",
		"vllm_medic_decisions_total{expired}{none}", "vllm_medic_verdicts_total{worse}",
		"vllm_medic_incidents_opened_total{llama}", "vllm_medic_rollbacks_total{policy}",
		"vllm_medic_incident_time_to_decision_seconds",
	} {
		if v, there := got[name]; !there || v != 0 {
			t.Errorf("%s = %v, %t", name, v, there)
		}
	}
}

// What can be read is of use while nothing can be written, but the store is not up.
func TestAStoreThatTakesNoCommitsIsDownAndCounted(t *testing.T) {
	t.Parallel()
	m := shown(&tally{st: store.Stats{Pauses: 2}, refuses: errors.New("read-only")}, slog.New(slog.DiscardHandler),
		time.Now)
	if got := scrape(t, m); got["vllm_medic_store_up"] != 0 || got["vllm_medic_pauses"] != 2 {
		t.Errorf("up %v, pauses %v", got["vllm_medic_store_up"], got["vllm_medic_pauses"])
	}
}

func TestAStoreThatCannotBeCountedIsSaidAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		hang := make(chan struct{})
		c := &tally{st: store.Stats{Pauses: 1}}
		m := shown(c, slog.New(slog.NewTextHandler(&logged, nil)), time.Now)
		only := map[string]float64{"vllm_medic_store_up": 0}
		c.err = errors.New("database is locked")
		for range 2 {
			if d := cmp.Diff(only, scrape(t, m)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		}
		c.err, c.hang = nil, hang
		begin := time.Now()
		if d := cmp.Diff(only, scrape(t, m)); d != "" || time.Since(begin) != countTimeout {
			t.Errorf("with a store that hangs, after %s: %s", time.Since(begin), d)
		}
		close(hang)
		if got := scrape(t, m); got["vllm_medic_store_up"] != 1 || got["vllm_medic_pauses"] != 1 {
			t.Errorf("afterwards: %v", got)
		}
		if n := strings.Count(logged.String(), "level=ERROR"); n != 1 {
			t.Errorf("%d errors were logged: %s", n, logged.String())
		}
	})
}
