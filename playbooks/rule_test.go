package playbooks

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// ruleSignals are the signals of the rules in these tests.
const ruleSignals = `
signals:
  - {name: lat, title: Latency, query: max(lat), unit: seconds, direction: higher_is_worse, source: test}
  - {name: other, title: Other latency, query: max(other), unit: seconds, direction: higher_is_worse, source: test}
  - {name: use, title: Use, query: max(use), unit: ratio, direction: higher_is_worse, source: test}
  - {name: count, title: Count, query: max(count), unit: count, direction: neutral, source: test}
`

func newRuleLoader(t *testing.T) *loader {
	t.Helper()
	l := &loader{
		files:  []File{{Name: "signals.yaml", Data: []byte(ruleSignals)}},
		broken: map[string]bool{},
		first:  map[string]strictyaml.Problem{},
		catalog: &Catalog{
			targets: map[string]string{}, byName: map[string]incident.Signal{}, picks: map[string]bool{},
			facts: map[string]factSource{}, ratios: map[string]ratio{}, peers: map[string]peers{},
		},
	}
	l.options()
	l.read()
	l.readSignals()
	if err := l.startRules(); err != nil {
		t.Fatal(err)
	}
	if len(l.problems) > 0 {
		t.Fatal(l.problems)
	}
	return l
}

func compileForTest(t *testing.T, l *loader, text string) *rule {
	t.Helper()
	r := l.rule(strictyaml.Value{}, text)
	if r == nil {
		t.Fatalf("%q does not compile: %v", text, l.problems)
	}
	return r
}

func value(v float64) incident.Reading { return incident.Reading{Value: &v} }

func bounded(v float64, b incident.Bound) incident.Reading {
	return incident.Reading{Value: &v, Bound: b}
}

func noData() incident.Reading           { return incident.Reading{} }
func failed(why string) incident.Reading { return incident.Reading{Error: why} }

func TestRulesAreThreeValued(t *testing.T) {
	t.Parallel()
	const yes, no, open = incident.True, incident.False, incident.Undecided
	stale := 7.0
	readings := map[string]map[string]incident.Reading{
		"values":    {"lat": value(7), "other": value(2), "use": value(0.97), "count": value(0)},
		"no data":   {"lat": noData(), "other": value(2), "use": noData(), "count": value(0)},
		"error":     {"lat": failed("timeout"), "other": value(2), "use": failed("timeout"), "count": failed("x")},
		"not asked": {"other": value(2)},
		"at most":   {"lat": bounded(0.3, incident.AtMost), "other": bounded(0.2, incident.AtMost), "count": value(0)},
		"at least":  {"lat": bounded(10, incident.AtLeast), "other": bounded(20, incident.AtLeast), "count": value(0)},
		"not finite": {
			"lat": value(math.NaN()), "other": value(math.Inf(1)), "use": value(math.Inf(-1)), "count": value(0),
		},
		// A reading with an error has no value, whatever stands in it; a bound nobody knows is no bound.
		"doubtful": {
			"lat":   {Value: &stale, Error: "timeout"},
			"other": {Value: &stale, Bound: "about"},
		},
	}
	target := incident.SLO{TTFT: 3, TPOT: 0.05}
	tests := []struct {
		rule string
		on   string
		slo  incident.SLO
		want incident.Truth
	}{
		{rule: "lat > 5.0s", on: "values", want: yes},
		{rule: "lat > 7.0s", on: "values", want: no},
		{rule: "lat >= 7.0s", on: "values", want: yes},
		{rule: "lat < 7.0s", on: "values", want: no},
		{rule: "lat <= 7.0s", on: "values", want: yes},
		{rule: "lat > 5s", on: "values", want: yes},
		{rule: "5s < lat", on: "values", want: yes},
		{rule: "5.0s >= lat", on: "values", want: no},
		{rule: "7.0s <= lat", on: "values", want: yes},
		{rule: "7.0s > lat", on: "values", want: no},
		{rule: "lat > other", on: "values", want: yes},
		{rule: "other > lat", on: "values", want: no},
		{rule: "other > 0.5 * lat", on: "values", want: no},
		{rule: "lat > other * 3", on: "values", want: yes},
		{rule: "lat > -1.0 * other", on: "values", want: yes},
		{rule: "count <= 0.0", on: "values", want: yes},

		// A missing reading settles no comparison, in whatever way it is missing.
		{rule: "lat > 5.0s", on: "no data", want: open},
		{rule: "lat <= 5.0s", on: "no data", want: open},
		{rule: "!(lat > 5.0s)", on: "no data", want: open},
		{rule: "lat >= 0.0", on: "error", want: open},
		{rule: "lat > other", on: "error", want: open},
		{rule: "other > lat", on: "not asked", want: open},
		{rule: "2.0 * lat > 1.0s", on: "no data", want: open},
		{rule: "0.0 * lat <= 1.0s", on: "no data", want: open},
		{rule: "lat > 1.0s", on: "not finite", want: open},
		{rule: "other > 1.0s", on: "not finite", want: open},
		{rule: "use < 50%", on: "not finite", want: open},
		{rule: "lat > 1.0s", on: "doubtful", want: open},
		{rule: "other > 1.0s", on: "doubtful", want: open},

		// Kleene's "and", "or" and "not".
		{rule: "other > 5.0s && lat > 5.0s", on: "no data", want: no},
		{rule: "lat > 5.0s && other > 5.0s", on: "no data", want: no},
		{rule: "lat > 5.0s && other < 5.0s", on: "no data", want: open},
		{rule: "lat > 5.0s || other < 5.0s", on: "no data", want: yes},
		{rule: "other < 5.0s || lat > 5.0s", on: "no data", want: yes},
		{rule: "lat > 5.0s || other > 5.0s", on: "no data", want: open},
		{rule: "lat > 5.0s || use > 50%", on: "no data", want: open},
		{rule: "lat > 5.0s && use > 50%", on: "no data", want: open},
		{rule: "!(lat > 5.0s && other > 5.0s)", on: "no data", want: yes},
		{rule: "!(lat > 5.0s || other < 5.0s)", on: "no data", want: no},
		{rule: "!(lat > 5.0s || other > 5.0s)", on: "no data", want: open},
		{rule: "(lat > 5.0s || other < 5.0s) && count <= 0.0", on: "no data", want: yes},
		{rule: "lat > 5.0s && other > 5.0s && use > 50% && count > 1.0", on: "no data", want: no},
		// Even a tautology rests on the reading: it is not there, so it is not told.
		{rule: "lat > 5.0s || lat <= 5.0s", on: "no data", want: open},

		// A bound decides what it settles, and nothing else.
		{rule: "lat < 5.0s", on: "at most", want: yes},
		{rule: "lat >= 5.0s", on: "at most", want: no},
		{rule: "lat > 0.1s", on: "at most", want: open},
		{rule: "lat <= 0.1s", on: "at most", want: open},
		{rule: "lat > 0.3s", on: "at most", want: no},
		{rule: "lat >= 0.3s", on: "at most", want: open},
		{rule: "lat <= 0.3s", on: "at most", want: yes},
		{rule: "lat < 0.3s", on: "at most", want: open},
		{rule: "other < lat", on: "at most", want: open},
		{rule: "lat > 5.0s", on: "at least", want: yes},
		{rule: "lat > 10.0s", on: "at least", want: open},
		{rule: "lat >= 10.0s", on: "at least", want: yes},
		{rule: "lat < 10.0s", on: "at least", want: no},
		{rule: "lat < 60.0s", on: "at least", want: open},
		{rule: "2.0 * lat > 15.0s", on: "at least", want: yes},
		{rule: "-1.0 * lat < 0.0", on: "at least", want: yes},
		{rule: "0.5 * lat > other", on: "at least", want: open},

		// A pool without a target has no target of zero.
		{rule: "lat > slo.ttft", on: "values", slo: target, want: yes},
		{rule: "lat > slo.ttft", on: "values", want: open},
		{rule: "lat <= slo.ttft", on: "values", want: open},
		{rule: "slo.ttft < lat", on: "values", slo: target, want: yes},
		{rule: "lat > slo.ttft.or(10.0s)", on: "values", want: no},
		{rule: "lat > slo.ttft.or(10s)", on: "values", slo: target, want: yes},
		{rule: "lat > slo.ttft.or(5s)", on: "values", want: yes},
		{rule: "lat > 2.0 * slo.ttft.or(3.0s)", on: "values", want: yes},
		{rule: "lat > slo.ttft.or(3.0s)", on: "no data", slo: target, want: open},
		{rule: "lat > slo.ttft.or(0.0s)", on: "values", want: open},
		{rule: "slo.ttft > slo.tpot && lat > 1.0s", on: "values", slo: target, want: yes},

		// Both are undecided when it could not be asked: a Prometheus that is away is no metric that does not exist.
		{rule: "present(lat)", on: "values", want: yes},
		{rule: "present(lat)", on: "no data", want: no},
		{rule: "present(lat)", on: "error", want: open},
		{rule: "present(lat)", on: "not asked", want: open},
		{rule: "present(lat) && lat > 5s", on: "no data", want: no},
		{rule: "present(lat) && lat > 5s", on: "error", want: open},
		{rule: "present(lat)", on: "at most", want: yes},
		{rule: "present(lat)", on: "not finite", want: no},
		{rule: "present(slo.ttft) && lat > 1.0s", on: "values", want: no},
		{rule: "present(slo.ttft) && lat > 1.0s", on: "values", slo: target, want: yes},
		{rule: "absent(lat)", on: "values", want: no},
		{rule: "absent(lat)", on: "no data", want: yes},
		{rule: "absent(lat)", on: "error", want: open},
		{rule: "absent(lat)", on: "not asked", want: open},
		{rule: "absent(lat)", on: "at least", want: no},
		{rule: "absent(lat)", on: "not finite", want: yes},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" on "+tt.on, func(t *testing.T) {
			t.Parallel()
			l := newRuleLoader(t)
			r := compileForTest(t, l, tt.rule)
			a := r.ask(l.catalog.factsOf(incident.Evidence{Readings: readings[tt.on]}, tt.slo))
			if a.err != nil {
				t.Fatal(a.err)
			}
			if a.truth != tt.want {
				t.Errorf("got %s, want %s", a.truth, tt.want)
			}
			if own := a.truthOfParts(r.shape); own != a.truth {
				t.Errorf("the conditions give %s, the rule %s", own, a.truth)
			}
		})
	}
}

func TestRulesSayWhy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		rule     string
		readings map[string]incident.Reading
		slo      incident.SLO
		want     string
	}{
		{
			name: "false comparison", rule: "count > 5.0", readings: map[string]incident.Reading{"count": value(0)},
			want: "Count 0, not above 5",
		},
		{
			name: "true comparison", rule: "lat > 3.0s", readings: map[string]incident.Reading{"lat": value(7.2)},
			want: "Latency 7.2 s, above 3 s",
		},
		{
			name: "mirrored", rule: "3.0s >= lat", readings: map[string]incident.Reading{"lat": value(7.2)},
			want: "Latency 7.2 s, above 3 s",
		},
		{
			name: "first false part of and", rule: "lat > 3.0s && count > 5.0 && use > 50%",
			readings: map[string]incident.Reading{"lat": value(7.2), "count": value(0), "use": value(0.1)},
			want:     "Count 0, not above 5",
		},
		{
			name: "every part of a false or", rule: "count > 5.0 || use >= 95%",
			readings: map[string]incident.Reading{"count": value(0), "use": value(0.5)},
			want:     "Count 0, not above 5; Use 50%, below 95%",
		},
		{
			name: "first true part of or", rule: "count > 5.0 || use >= 95% || lat > 1.0s",
			readings: map[string]incident.Reading{"count": value(0), "use": value(0.97), "lat": value(9)},
			want:     "Use 97%, not below 95%",
		},
		{
			name: "only what leaves it open", rule: "count <= 0.0 && use > 50% && (lat > 1.0s || other > 1.0s)",
			readings: map[string]incident.Reading{"count": value(0), "other": value(0.5)},
			want:     "Use not read; Latency not read",
		},
		{name: "no data", rule: "use > 50%", readings: map[string]incident.Reading{"use": noData()}, want: "no data for Use"},
		{
			name: "error", rule: "use > 50%", readings: map[string]incident.Reading{"use": failed("context deadline exceeded")},
			want: "Use could not be read (context deadline exceeded)",
		},
		{
			name: "long error is cut", rule: "use > 50%",
			readings: map[string]incident.Reading{"use": failed(strings.Repeat("é", 500))},
			want:     "Use could not be read (" + strings.Repeat("é", 160) + "...)",
		},
		{
			name: "bound", rule: "lat > 0.1s", readings: map[string]incident.Reading{"lat": bounded(0.3, incident.AtMost)},
			want: "Latency ≤ 300 ms, so it may or may not be above 100 ms",
		},
		{
			name: "target", rule: "lat > slo.ttft", readings: map[string]incident.Reading{"lat": value(1)},
			want: "the pool has no TTFT target",
		},
		{
			name: "mirrored at most", rule: "8.0s <= lat", readings: map[string]incident.Reading{"lat": value(7.2)},
			want: "Latency 7.2 s, below 8 s",
		},
		{
			name: "mirrored above", rule: "8.0s > lat", readings: map[string]incident.Reading{"lat": value(7.2)},
			want: "Latency 7.2 s, below 8 s",
		},
		{
			name: "not", rule: "!(lat > 3.0s)", readings: map[string]incident.Reading{"lat": value(7.2)},
			want: "Latency 7.2 s, above 3 s",
		},
		{
			name: "two readings", rule: "other > 0.5 * lat",
			readings: map[string]incident.Reading{"lat": value(7.2), "other": value(1)},
			want:     "Other latency 1 s, not above 3.6 s (half of Latency)",
		},
		{
			name: "presence", rule: "present(lat) && count > 1.0",
			readings: map[string]incident.Reading{"lat": noData(), "count": value(2)},
			want:     "Latency: no data",
		},
		{
			name: "the same reason once", rule: "lat > 1.0s || lat > 2.0s",
			readings: map[string]incident.Reading{"lat": noData()}, want: "no data for Latency",
		},
		{
			name: "all that has no data in one", rule: "lat > 1.0s && count > 1.0 && use > 50% && other > 1.0s",
			readings: map[string]incident.Reading{"lat": noData(), "use": noData(), "other": value(2)},
			want:     "no data for Latency, Use; Count not read",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newRuleLoader(t)
			r := compileForTest(t, l, tt.rule)
			got := r.ask(l.catalog.factsOf(incident.Evidence{Readings: tt.readings}, tt.slo)).why()
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestEvidenceShowsEachConditionWithWhatWasSeen(t *testing.T) {
	t.Parallel()
	l := newRuleLoader(t)
	r := compileForTest(t, l, "lat > slo.ttft.or(3.0s) && (use > 95% || 5 < count) && other < 0.5 * lat && present(use)")
	readings := map[string]incident.Reading{
		"lat": value(7.2), "use": noData(), "count": value(12), "other": bounded(0.3, incident.AtMost),
	}
	got := r.ask(l.catalog.factsOf(incident.Evidence{Readings: readings}, incident.SLO{TTFT: 0.5})).evidence()
	want := []incident.Condition{
		{
			Text: "lat > slo.ttft.or(3.0s)", Truth: incident.True, Signal: "lat", Label: "Latency", Seen: "7.2 s",
			Relation: incident.RelationAbove, Threshold: "500 ms", ThresholdFrom: incident.OriginSLO,
			SeenValue:      incident.Amount{Value: 7.2, Unit: incident.UnitSeconds},
			ThresholdValue: incident.Amount{Value: 0.5, Unit: incident.UnitSeconds},
		},
		{
			Text: "use > 95%", Truth: incident.Undecided, Signal: "use", Label: "Use", Seen: "no data",
			Relation: incident.RelationAbove, Threshold: "95%",
			ThresholdValue: incident.Amount{Value: 0.95, Unit: incident.UnitRatio},
		},
		{
			Text: "5 < count", Truth: incident.True, Signal: "count", Label: "Count", Seen: "12",
			Relation: incident.RelationAbove, Threshold: "5",
			SeenValue:      incident.Amount{Value: 12, Unit: incident.UnitCount},
			ThresholdValue: incident.Amount{Value: 5, Unit: incident.UnitCount},
		},
		{
			Text: "other < 0.5 * lat", Truth: incident.True, Signal: "other", Label: "Other latency", Seen: "≤ 300 ms",
			Relation: incident.RelationBelow, Threshold: "3.6 s (half of Latency)",
			ThresholdFrom:  incident.OriginReading,
			SeenValue:      incident.Amount{Value: 0.3, Bound: incident.AtMost, Unit: incident.UnitSeconds},
			ThresholdValue: incident.Amount{Value: 3.6, Unit: incident.UnitSeconds},
		},
		{
			Text: "present(use)", Truth: incident.False, Signal: "use", Label: "Use", Seen: "no data",
			Relation: incident.RelationPresent,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The bounds must hold for what nobody would write, and must not be near what somebody would.
func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("lat > 1s && ", n) + "lat > 1s" }
	for name, text := range map[string]string{
		"long":      long(200),
		"expensive": strings.Repeat("lat>1s&&", 250) + "lat>1s",
		"deep":      strings.Repeat("!(", 60) + "lat > 1s" + strings.Repeat(")", 60),
	} {
		l := newRuleLoader(t)
		if r := l.rule(strictyaml.Value{}, text); r != nil || len(l.problems) == 0 {
			t.Errorf("the %s rule was accepted", name)
		}
	}
	compileForTest(t, newRuleLoader(t), long(30))
}

// What is beyond all numbers has no number in JSON, and must not keep an incident from being stored.
func TestAnAmountIsANumber(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]quantity{
		"nothing known":     {why: "no data"},
		"too large":         {known: true, lo: math.Inf(1), hi: math.Inf(1)},
		"too small":         {known: true, lo: math.Inf(-1), hi: math.Inf(-1)},
		"no number":         {known: true, lo: math.NaN(), hi: math.NaN()},
		"at most too large": {known: true, lo: math.Inf(-1), hi: math.Inf(1)},
	} {
		if got := q.amount(incident.UnitCount); got != (incident.Amount{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
