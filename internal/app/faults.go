package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// The parts of the app in whose work a panic is counted.
const (
	partPlaybooks = "playbooks"
	partFiles     = "files"
	partPrune     = "prune"
	partMetrics   = "metrics"
)

// The metrics of what goes wrong in the program itself. docs/operations.md says what to do about each.
var (
	descPanics = desc("panics_total", "Internal errors that were caught, by the part of the program.", "part")
	descHung   = desc("turns_hung",
		"Turns on incidents that timed out and are still running.")
	descGivenUp = desc("turns_given_up_total", "Turns on incidents that timed out.")
)

// faults counts what goes wrong in the program itself.
type faults struct {
	engine interface{ Turns() remediation.Turns }
	panics *rescue.Log
}

// Describe sends every description.
func (f faults) Describe(out chan<- *prometheus.Desc) {
	out <- descPanics
	out <- descHung
	out <- descGivenUp
}

// Collect counts anew.
func (f faults) Collect(out chan<- prometheus.Metric) {
	counts := f.panics.Counts()
	for _, part := range slices.Sorted(maps.Keys(counts)) {
		out <- prometheus.MustNewConstMetric(descPanics, prometheus.CounterValue, float64(counts[part]), part)
	}
	turns := f.engine.Turns()
	out <- prometheus.MustNewConstMetric(descHung, prometheus.GaugeValue, float64(turns.Hung))
	out <- prometheus.MustNewConstMetric(descGivenUp, prometheus.CounterValue, float64(turns.GivenUp))
}

// rescued is a pruner whose panics are errors.
type rescued struct {
	pruner

	panics *rescue.Log
}

// Prune implements pruner.
func (r rescued) Prune(ctx context.Context, now time.Time, keep store.Keep) (out store.Pruned, err error) {
	err = r.panics.Do(ctx, partPrune, func() (err error) {
		out, err = r.pruner.Prune(ctx, now, keep)
		return err
	})
	return out, err
}
