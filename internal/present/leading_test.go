package present

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// target is a reading of a latency with a target of the pool of one second.
func target(value float64) incident.Reading {
	r := read(incident.HigherIsWorse, value, 1)
	r.Unit, r.ThresholdFrom = incident.UnitSeconds, incident.OriginSLO
	return r
}

func TestTheWorstReadingIsNamedFirst(t *testing.T) {
	t.Parallel()
	readings := map[string]incident.Reading{
		"tokens_lost": read(incident.HigherIsWorse, 1, 0),
		"waiting":     read(incident.HigherIsWorse, 30, 10),
		"tokens":      read(incident.LowerIsWorse, 10, 100),
		"fine":        read(incident.HigherIsWorse, 1, 10),
	}
	if a, b := excess(readings["waiting"]), excess(readings["tokens"]); a != 2 || b != 9 {
		t.Errorf("%v and %v times beyond; want 2 and 9", a, b)
	}
	for name, tt := range map[string]struct {
		more    map[string]incident.Reading
		healthy []string
		want    string
	}{
		"a threshold of 0 is the furthest away": {nil, nil, "tokens_lost"},
		"what must recover comes first":         {nil, []string{"fine", "waiting", "tokens"}, "waiting"},
		"users feel a missed target": {
			map[string]incident.Reading{"ttft_p95": target(2)}, []string{"waiting"}, "ttft_p95",
		},
		"a target that is met is no news": {
			map[string]incident.Reading{"ttft_p95": target(1)}, []string{"waiting"}, "waiting",
		},
		"a target without a value is not known to be missed": {
			map[string]incident.Reading{"ttft_p95": {Threshold: new(1.0), ThresholdFrom: incident.OriginSLO}},
			[]string{"waiting"},
			"waiting",
		},
		"a limit of a rule is no target": {
			map[string]incident.Reading{"ttft_p95": read(incident.HigherIsWorse, 2, 1)}, []string{"waiting"}, "waiting",
		},
		"the first token is what is felt first, however far the others are": {
			map[string]incident.Reading{"ttft_p95": target(2), "tpot_p95": target(9), "e2e_p95": target(9)},
			nil, "ttft_p95",
		},
		"then the pace": {
			map[string]incident.Reading{"ttft_p95": target(1), "tpot_p95": target(2), "e2e_p95": target(9)},
			nil, "tpot_p95",
		},
		"the time in the queue is a part of the wait for the first token": {
			map[string]incident.Reading{"queue_time_p95": target(9), "ttft_p95": target(2)},
			[]string{"queue_time_p95", "waiting"},
			"ttft_p95",
		},
		"a missed queue time is before the length of the queue": {
			map[string]incident.Reading{"queue_time_p95": target(9)}, []string{"waiting", "queue_time_p95"}, "queue_time_p95",
		},
		"a target of somebody's own is one, too": {
			map[string]incident.Reading{"first_audio": target(2)}, []string{"waiting"}, "first_audio",
		},
		"the incident is about the latency that must recover": {
			map[string]incident.Reading{"ttft_p95": target(2), "tpot_p95": target(2)}, []string{"tpot_p95"}, "tpot_p95",
		},
		"unless it has recovered": {
			map[string]incident.Reading{"ttft_p95": target(2), "tpot_p95": target(1)}, []string{"tpot_p95"}, "ttft_p95",
		},
		"a lost answer is worse than a late one": {
			map[string]incident.Reading{"ttft_p95": target(2), "abort_ratio": read(incident.HigherIsWorse, 0.5, 0.1)},
			[]string{"waiting", "abort_ratio"},
			"abort_ratio",
		},
		"an engine that is down says more than the latency of the others": {
			map[string]incident.Reading{"e2e_p95": target(2), "pods_down": read(incident.HigherIsWorse, 1, 0)},
			[]string{"pods_down"},
			"pods_down",
		},
		"an alert that can never fire is no engine that is gone": {
			map[string]incident.Reading{"ttft_p95": target(2), "dead_alerts": read(incident.HigherIsWorse, 1, 0)},
			[]string{"dead_alerts"},
			"ttft_p95",
		},
		"nothing at all is generated": {
			map[string]incident.Reading{"ttft_p95": target(2), "generation_tokens_rate": read(incident.LowerIsWorse, 0, 100)},
			[]string{"generation_tokens_rate"},
			"generation_tokens_rate",
		},
		"too little is generated": {
			map[string]incident.Reading{"ttft_p95": target(2), "generation_tokens_rate": read(incident.LowerIsWorse, 9, 100)},
			[]string{"generation_tokens_rate"},
			"ttft_p95",
		},
		"where the incident is about it": {
			map[string]incident.Reading{"ttft_p95": target(2), "abort_ratio": read(incident.HigherIsWorse, 0.5, 0.1)},
			[]string{"waiting"},
			"ttft_p95",
		},
	} {
		inc := incident.Incident{Readings: maps.Clone(readings), Diagnosis: &incident.Diagnosis{Healthy: tt.healthy}}
		maps.Copy(inc.Readings, tt.more)
		if got, ok := Worst(inc); !ok || got.Signal != tt.want {
			t.Errorf("%s: %q is named, want %q", name, got.Signal, tt.want)
		}
	}
	for name, inc := range map[string]incident.Incident{
		"nothing is beyond": {Readings: map[string]incident.Reading{"fine": readings["fine"], "ttft_p95": target(1)}},
		"nothing is read":   {},
	} {
		if got, ok := Worst(inc); ok {
			t.Errorf("%s: %q", name, got.Signal)
		}
	}
}

// withPast is a reading with a past that ends at its value.
func withPast(r incident.Reading, values ...float64) incident.Reading {
	start := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	for n, v := range append(values, *r.Value) {
		r.Series = append(r.Series, incident.Point{At: start.Add(time.Duration(n) * time.Minute), Value: v})
	}
	return r
}

func drawable(r incident.Reading) bool { return Past(r) != nil }

// decided is an incident in which a change was made by a TTFT beyond its target. Since then TTFT is fine, while the
// whole answer still takes too long.
func decided() incident.Incident {
	before := map[string]incident.Reading{
		"ttft_p95": target(7), "e2e_p95": target(3), "waiting": read(incident.HigherIsWorse, 40, 5),
	}
	read := time.Date(2026, 5, 1, 3, 20, 0, 0, time.UTC)
	moves := &incident.Comparison{Moves: []incident.Move{{Signal: "waiting"}}}
	return incident.Incident{
		Pool: "llama", State: incident.StateWatching, HealthySince: read, ReadAt: read, ChangedAt: read.Add(-time.Minute),
		Readings: map[string]incident.Reading{
			"ttft_p95": withPast(target(0.5), 0.4, 7), "e2e_p95": withPast(target(4), 0.9, 3),
			"waiting": withPast(before["waiting"], 1, 40), "alone": withPast(target(1), 50, 60),
		},
		Diagnosis: &incident.Diagnosis{Name: "queueing", Healthy: []string{"waiting"}},
		Plan: &incident.Plan{Steps: []incident.Step{{
			ID: "p1-s1", Kind: incident.StepThrottle, State: incident.StepApplied, AppliedAt: read.Add(-time.Minute),
			Verification: &incident.Verification{Before: before, At: read, Comparison: moves},
		}}},
		Decisions: []incident.Decision{{Verb: incident.Approve, Step: "p1-s1"}},
	}
}

// One watches the line fall that one has decided by.
func TestTheLineThatWasDecidedByIsDrawnAfterAChange(t *testing.T) {
	t.Parallel()
	running := func(inc *incident.Incident, op incident.Op, before map[string]incident.Reading) {
		inc.HealthySince, inc.State = time.Time{}, incident.StateVerifying
		inc.Plan.Steps[0].State = incident.StepApplying
		inc.Active = &incident.Active{Step: "p1-s1", Op: op, Before: before, Phase: incident.PhaseVerify}
	}
	for name, tt := range map[string]struct {
		change func(*incident.Incident)
		want   string
	}{
		"recovered": {func(*incident.Incident) {}, "ttft_p95"},
		"being checked for the first time": {func(inc *incident.Incident) {
			before := inc.Plan.Steps[0].Verification.Before
			inc.Plan.Steps[0].Verification = nil
			running(inc, incident.OpApply, before)
		}, "ttft_p95"},
		"about to be written": {func(inc *incident.Incident) {
			inc.Plan.Steps[0].Verification = nil
			running(inc, incident.OpApply, nil)
		}, "e2e_p95"},
		"being rolled back": {func(inc *incident.Incident) { running(inc, incident.OpUndo, nil) }, "ttft_p95"},
		"to be rolled back": {func(inc *incident.Incident) {
			inc.State, inc.UndoOffered, inc.HealthySince = incident.StateDeciding, "p1-s1", time.Time{}
		}, "ttft_p95"},
		"closed": {func(inc *incident.Incident) { inc.State = incident.StateClosed }, "ttft_p95"},
		"closed by somebody": {func(inc *incident.Incident) {
			inc.State, inc.HealthySince, inc.ReadAt = incident.StateClosed, time.Time{}, inc.ReadAt.Add(time.Hour)
		}, "ttft_p95"},
		"something else is asked": {func(inc *incident.Incident) {
			inc.State, inc.HealthySince = incident.StateDeciding, time.Time{}
		}, "e2e_p95"},
		"something else is wrong": {func(inc *incident.Incident) {
			inc.HealthySince, inc.ReadAt = time.Time{}, inc.ReadAt.Add(time.Hour)
		}, "e2e_p95"},
		"the line has no data any more": {func(inc *incident.Incident) {
			inc.Readings["ttft_p95"] = incident.Reading{Signal: "ttft_p95"}
		}, "e2e_p95"},
		"nothing was changed": {func(inc *incident.Incident) { inc.DryRun = true }, "e2e_p95"},
		"another cause was found since": {func(inc *incident.Incident) {
			inc.Diagnosis = &incident.Diagnosis{Name: "slow_decode", Healthy: []string{"e2e_p95"}}
			inc.Plan.Steps[0].Verification.Before["ttft_p95"] = target(1)
			inc.Plan.Steps[0].Verification.Before["e2e_p95"] = target(1)
		}, "waiting"},
		"an older version compared in words alone": {func(inc *incident.Incident) {
			inc.Plan.Steps[0].Verification.Comparison = nil
		}, "ttft_p95"},
	} {
		inc := decided()
		tt.change(&inc)
		if got, ok := Drawn(inc, drawable); !ok || got.Signal != tt.want {
			t.Errorf("%s: %q is drawn, want %q", name, got.Signal, tt.want)
		}
	}
}

func TestWithoutATroubleThatCanBeDrawnThePastDecides(t *testing.T) {
	t.Parallel()
	fine := withPast(target(0.5), 0.5, 0.5)
	for name, tt := range map[string]struct {
		readings map[string]incident.Reading
		want     string
	}{
		"what was felt at the peak": {map[string]incident.Reading{
			"ttft_p95": withPast(target(0.5), 3, 2), "waiting": withPast(read(incident.HigherIsWorse, 1, 5), 90, 80),
		}, "ttft_p95"},
		"the worst limit of the past": {map[string]incident.Reading{
			"ttft_p95": fine, "a": withPast(read(incident.HigherIsWorse, 1, 5), 9, 9),
			"b": withPast(read(incident.LowerIsWorse, 9, 5), 1, 9),
		}, "b"},
		"what users feel where nothing was ever wrong": {map[string]incident.Reading{
			"a": withPast(read(incident.HigherIsWorse, 4, 5), 4, 4), "e2e_p95": fine, "tpot_p95": fine,
		}, "tpot_p95"},
		"anything": {map[string]incident.Reading{
			"b": withPast(read(incident.HigherIsWorse, 4, 5), 4, 4), "a": withPast(read(incident.HigherIsWorse, 1, 5), 1, 1),
		}, "a"},
		"nothing that can be drawn": {map[string]incident.Reading{"ttft_p95": target(9)}, ""},
		"nothing that has a line to keep to": {map[string]incident.Reading{
			"ttft_p95": withPast(incident.Reading{Value: new(9.0)}, 9, 9),
		}, ""},
	} {
		got, ok := Drawn(incident.Incident{Readings: tt.readings}, drawable)
		if got.Signal != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q is drawn, want %q", name, got.Signal, tt.want)
		}
	}
}

// Where Prometheus was away nothing is known, so nothing is drawn.
func TestALineEndsWhereDataIsMissing(t *testing.T) {
	t.Parallel()
	at := func(seconds ...int) (out []incident.Point) {
		for _, s := range seconds {
			out = append(out, incident.Point{At: began.Add(time.Duration(s) * time.Second), Value: float64(s)})
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		points []incident.Point
		want   []int
	}{
		{"none is missing", at(0, 15, 30, 45), []int{4}},
		{"one is missing", at(0, 15, 45, 60), []int{2, 2}},
		{"one alone between two gaps", at(0, 15, 75, 135, 150), []int{2, 1, 2}},
		{"the newest is nearer than the others", at(0, 15, 30, 37), []int{4}},
		{"one", at(0), []int{1}},
	} {
		var got []int
		for _, run := range Runs(tt.points) {
			got = append(got, len(run))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: runs of %v, want %v", tt.name, got, tt.want)
		}
	}
}
