package incident

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerdictOf(t *testing.T) {
	t.Parallel()
	rd := func(v float64) Reading {
		return Reading{Value: new(v), Unit: UnitSeconds, Direction: HigherIsWorse, Threshold: num(3)}
	}
	low := func(v float64) Reading { return Reading{Value: new(v), Direction: LowerIsWorse, Threshold: num(100)} }
	type reads = map[string]Reading
	none, broken := Reading{}, Reading{Value: num(1), Error: "timeout"}
	for _, tc := range []struct {
		name          string
		before, after reads
		healthy       Truth
		want          Verdict
		found         Finding
	}{
		{"healthy wins", reads{"a": rd(9)}, reads{"a": rd(1)}, True, VerdictRecovered, FoundHealthy},
		{"better, not yet healthy", reads{"a": rd(9)}, reads{"a": rd(4)}, False, VerdictImproved, FoundBetter},
		{"worse", reads{"a": rd(4)}, reads{"a": rd(9)}, False, VerdictWorse, FoundWorse},
		{
			"less than a tenth of the threshold is noise",
			reads{"a": rd(0.1)},
			reads{"a": rd(0.3)},
			False, VerdictUnchanged, FoundUnchanged,
		},
		{
			"less than a tenth of the value is noise",
			reads{"a": rd(100)},
			reads{"a": rd(109)},
			False,
			VerdictUnchanged, FoundUnchanged,
		},
		{"lower is worse", reads{"a": low(200)}, reads{"a": low(50)}, False, VerdictWorse, FoundWorse},
		{
			"one better and one worse",
			reads{"a": rd(9), "b": rd(4)},
			reads{"a": rd(4), "b": rd(9)},
			False, VerdictInconclusive, FoundMixed,
		},
		{
			"no data after is not better",
			reads{"a": rd(9)},
			reads{"a": none},
			Undecided,
			VerdictInconclusive, FoundNoData,
		},
		{"no data before", reads{"a": none}, reads{"a": rd(9)}, False, VerdictInconclusive, FoundNoData},
		{
			"an error is no value",
			reads{"a": rd(9)},
			reads{"a": broken},
			Undecided,
			VerdictInconclusive, FoundNoData,
		},
		{
			"unchanged with a signal that has no data",
			reads{"a": rd(9), "b": rd(9)},
			reads{"a": rd(9), "b": none},
			Undecided, VerdictInconclusive, FoundUnseen,
		},
		{"nothing to compare", nil, nil, Undecided, VerdictInconclusive, FoundNoData},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, shown := VerdictOf(tc.before, tc.after, []string{"a", "b"}[:max(1, len(tc.before))], tc.healthy)
			if got != tc.want || shown.Finding != tc.found {
				t.Errorf("%s (%s), want %s (%s)", got, shown.Finding, tc.want, tc.found)
			}
		})
	}
}

func TestAComparisonHoldsEachSignalWithItsReadings(t *testing.T) {
	t.Parallel()
	rd := func(v float64) Reading {
		return Reading{
			Signal: "s", Short: "S", Value: new(v), Direction: HigherIsWorse, Query: "q", Series: []Point{{Value: v}},
			Pods: []PodValue{{Pod: "p", Value: v}}, Baseline: &Baseline{Mean: v},
		}
	}
	before := map[string]Reading{"better": rd(9), "same": rd(4), "unknown": {Error: "timeout"}, "worse": rd(1)}
	after := map[string]Reading{"better": rd(3), "same": rd(4), "unknown": rd(2), "worse": rd(7)}
	verdict, got := VerdictOf(before, after, []string{"better", "same", "unknown", "worse"}, False)
	if verdict != VerdictInconclusive || got.Finding != FoundMixed {
		t.Errorf("%s, %s", verdict, got.Finding)
	}
	alone := func(v float64) Reading {
		return Reading{Signal: "s", Short: "S", Value: new(v), Direction: HigherIsWorse}
	}
	want := []Move{
		{"worse", MovedWorse, alone(1), alone(7)},
		{"better", MovedBetter, alone(9), alone(3)},
		{"same", MovedNot, alone(4), alone(4)},
		{"unknown", MovedUnknown, Reading{Error: "timeout"}, alone(2)},
	}
	if d := cmp.Diff(want, got.Moves); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestReadingsSpeakPlainly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		r    Reading
		want string
	}{
		{Reading{}, "no data"},
		{Reading{Value: num(3), Error: "timeout"}, "error: timeout"},
		{Reading{Value: new(7.24), Unit: UnitSeconds}, "7.24 s"},
		{Reading{Value: new(0.085), Unit: UnitSeconds}, "85 ms"},
		{Reading{Value: num(0), Unit: UnitSeconds}, "0 s"},
		{Reading{Value: new(0.3), Unit: UnitSeconds, Bound: AtMost}, "≤ 300 ms"},
		{Reading{Value: num(2560), Unit: UnitSeconds, Bound: AtLeast}, "≥ 42 min 40 s"},
		{Reading{Value: new(0.971), Unit: UnitRatio}, "97.1%"},
		{Reading{Value: num(340), Unit: UnitPerSecond}, "340/s"},
		{Reading{Value: num(12), Unit: UnitCount}, "12"},
		{Reading{Value: new(0.00001), Unit: UnitCount}, "<0.0001"},
	} {
		if got := tc.r.Text(); got != tc.want || strings.Contains(got, "e-") {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// Added capacity that does work isn't taken for useless because the load rose meanwhile. All else is judged as it is.
func TestNotEnough(t *testing.T) {
	t.Parallel()
	rates := func(generated, prompts float64) map[string]Reading {
		return map[string]Reading{
			SignalGenerated:    {Value: new(generated), Direction: LowerIsWorse},
			SignalPromptTokens: {Value: new(prompts), Direction: Neutral},
		}
	}
	before := rates(4000, 9000)
	for _, tt := range []struct {
		name   string
		kind   StepKind
		was    Verdict
		after  map[string]Reading
		wanted bool
		want   bool
	}{
		{"worse", StepReplicas, VerdictWorse, rates(5200, 9000), true, true},
		{"unchanged", StepReplicas, VerdictUnchanged, rates(4000, 12000), true, true},
		{"mixed", StepReplicas, VerdictInconclusive, rates(5200, 12000), true, true},
		{"nothing more is asked for", StepReplicas, VerdictWorse, rates(5200, 9000), false, false},
		{"it does no more than before", StepReplicas, VerdictWorse, rates(4200, 9500), true, false},
		{"it does less of one", StepReplicas, VerdictWorse, rates(5200, 7000), true, false},
		{"it does less", StepReplicas, VerdictWorse, rates(3000, 7000), true, false},
		{"work isn't known", StepReplicas, VerdictWorse, nil, true, false},
		{"one of them is known", StepReplicas, VerdictWorse, map[string]Reading{
			SignalGenerated: {Value: new(5200.0)}, SignalPromptTokens: {Error: "timeout"},
		}, true, true},
		{"a throttle adds nothing", StepThrottle, VerdictWorse, rates(5200, 9000), true, false},
		{"an argument adds nothing", StepMaxNumBatchedTokens, VerdictWorse, rates(5200, 9000), true, false},
		{"better", StepReplicas, VerdictImproved, rates(5200, 9000), true, false},
		{"recovered", StepReplicas, VerdictRecovered, rates(5200, 9000), true, false},
	} {
		if got := NotEnough(tt.kind, tt.was, before, tt.after, tt.wanted); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
