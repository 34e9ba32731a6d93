package present

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// A pool is called healthy only on data that says so.
func TestAPoolIsHealthyOnDataAlone(t *testing.T) {
	t.Parallel()
	ttft := func(v float64) incident.Reading {
		return incident.Reading{
			Short: "TTFT p95", Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, Value: &v, Threshold: new(2.0),
			ThresholdFrom: incident.OriginSLO,
		}
	}
	none := ttft(0)
	none.Value = nil
	zero := incident.Reading{Value: new(0.0)}
	for name, c := range map[string]struct {
		readings map[string]incident.Reading
		absent   string
		level    Level
		text     string
	}{
		"within":     {map[string]incident.Reading{"ttft_p95": ttft(1)}, "", LevelHealthy, "within targets"},
		"beyond":     {map[string]incident.Reading{"ttft_p95": ttft(7.2)}, "", LevelCritical, "TTFT p95 7.2 s (target 2 s)"},
		"not read":   {nil, "", LevelUnknown, "not read yet"},
		"no data":    {map[string]incident.Reading{"ttft_p95": none}, "", LevelUnknown, "no data"},
		"no target":  {map[string]incident.Reading{"running": {Value: new(3.0)}}, "", LevelUnknown, "no targets set"},
		"no metrics": {map[string]incident.Reading{"ttft_p95": none}, "no series", LevelUnknown, "no metrics: no series"},
		"idle": {
			map[string]incident.Reading{"ttft_p95": none, "running": zero, "waiting": zero}, "", LevelUnknown, "no traffic",
		},
		"failed": {
			map[string]incident.Reading{"ttft_p95": ttft(1), "e2e_p95": {Error: "timeout"}},
			"", LevelUnknown,
			"can't be read: timeout",
		},
		"part": {
			map[string]incident.Reading{"ttft_p95": ttft(1), "tpot_p95": none},
			"", LevelHealthy,
			"within targets, as far as there is data",
		},
	} {
		level, text := Health(c.readings, c.absent)
		if level != c.level || text != c.text {
			t.Errorf("%s: %s %q, want %s %q", name, level, text, c.level, c.text)
		}
		voice.Check(t, name, voice.Message(text))
	}
}
