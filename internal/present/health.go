package present

import (
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Health says how a pool is doing against its targets, by readings that carry them as thresholds. absent is why there
// are no metrics of the pool at all; empty when there are some. It is never healthy on no data.
func Health(readings map[string]incident.Reading, absent string) (level Level, text string) {
	if r, ok := Worst(incident.Incident{Readings: readings}); ok {
		return LevelCritical, Clip(Line(r.Label()), 50) + " " + r.Text() + " (" + Limit(r) + ")"
	}
	targets, measured, failed, idle := 0, 0, "", 0
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		r := readings[name]
		if r.HasValue() && *r.Value == 0 && (name == "running" || name == "waiting") {
			idle++
		}
		if r.Error != "" && failed == "" {
			failed = r.Error
		}
		if r.Threshold == nil {
			continue
		}
		targets++
		if r.HasValue() {
			measured++
		}
	}
	switch {
	case len(readings) == 0 && absent == "":
		return LevelUnknown, "not read yet"
	case failed != "":
		return LevelUnknown, "can't be read: " + Clip(Line(failed), 160)
	case absent != "":
		return LevelUnknown, "no metrics: " + Clip(Line(absent), 160)
	case measured == 0 && idle == 2:
		return LevelUnknown, "no traffic"
	case targets == 0:
		return LevelUnknown, "no targets set"
	case measured == 0:
		return LevelUnknown, "no data"
	case measured < targets:
		return LevelHealthy, "within targets, as far as there is data"
	}
	return LevelHealthy, "within targets"
}
