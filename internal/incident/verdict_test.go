package incident

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	rd := func(v float64) Reading {
		return Reading{Value: new(v), Unit: UnitSeconds, Direction: HigherIsWorse, Threshold: num(3)}
	}
	low := func(v float64) Reading { return Reading{Value: new(v), Direction: LowerIsWorse, Threshold: num(100)} }
	none, broken := Reading{}, Reading{Value: num(1), Error: "timeout"}
	for _, tc := range []struct {
		name          string
		before, after map[string]Reading
		healthy       Truth
		want          Verdict
	}{
		{"healthy wins", map[string]Reading{"a": rd(9)}, map[string]Reading{"a": rd(1)}, True, VerdictRecovered},
		{"better, not yet healthy", map[string]Reading{"a": rd(9)}, map[string]Reading{"a": rd(4)}, False, VerdictImproved},
		{"worse", map[string]Reading{"a": rd(4)}, map[string]Reading{"a": rd(9)}, False, VerdictWorse},
		{
			"less than a tenth of the threshold is noise",
			map[string]Reading{"a": rd(0.1)},
			map[string]Reading{"a": rd(0.3)},
			False, VerdictUnchanged,
		},
		{
			"less than a tenth of the value is noise",
			map[string]Reading{"a": rd(100)},
			map[string]Reading{"a": rd(109)},
			False,
			VerdictUnchanged,
		},
		{"lower is worse", map[string]Reading{"a": low(200)}, map[string]Reading{"a": low(50)}, False, VerdictWorse},
		{
			"one better and one worse",
			map[string]Reading{"a": rd(9), "b": rd(4)},
			map[string]Reading{"a": rd(4), "b": rd(9)},
			False, VerdictInconclusive,
		},
		{
			"no data after is not better",
			map[string]Reading{"a": rd(9)},
			map[string]Reading{"a": none},
			Undecided,
			VerdictInconclusive,
		},
		{"no data before", map[string]Reading{"a": none}, map[string]Reading{"a": rd(9)}, False, VerdictInconclusive},
		{
			"an error is no value",
			map[string]Reading{"a": rd(9)},
			map[string]Reading{"a": broken},
			Undecided,
			VerdictInconclusive,
		},
		{
			"unchanged with a blind signal",
			map[string]Reading{"a": rd(9), "b": rd(9)},
			map[string]Reading{"a": rd(9), "b": none},
			Undecided, VerdictInconclusive,
		},
		{"nothing to compare", nil, nil, Undecided, VerdictInconclusive},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, why := VerdictOf(tc.before, tc.after, []string{"a", "b"}[:max(1, len(tc.before))], tc.healthy)
			if got != tc.want || why == "" {
				t.Errorf("%s (%s), want %s", got, why, tc.want)
			}
		})
	}
}

func TestAVerdictSaysInWordsWhatWasNotThere(t *testing.T) {
	t.Parallel()
	nine := Reading{Title: "Waiting", Value: num(9), Unit: UnitCount}
	none := Reading{Title: "Waiting"}
	away := Reading{Title: "Waiting", Error: "timeout"}
	slow := Reading{Title: "Waiting", Error: "refused"}
	for _, tc := range []struct {
		name          string
		before, after Reading
		want          string
	}{
		{"values", nine, Reading{Title: "Waiting", Value: num(4), Unit: UnitCount}, "Waiting 9 -> 4"},
		{"never", none, none, "Waiting had no data before or after"},
		{"gone", nine, none, "Waiting was 9 before and has no data after"},
		{"new", none, nine, "Waiting had no data before and is 9 after"},
		{"an error all along", away, away, "Waiting could not be read before or after (timeout)"},
		{"two errors", away, slow, "Waiting could not be read before (timeout) or after (refused)"},
		{"an error after", nine, away, "Waiting was 9 before and could not be read after (timeout)"},
		{"an error before", away, nine, "Waiting could not be read before (timeout) and is 9 after"},
		{"an error, then nothing", away, none, "Waiting could not be read before (timeout) and has no data after"},
		{"nothing, then an error", none, away, "Waiting had no data before and could not be read after (timeout)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, why := VerdictOf(map[string]Reading{"a": tc.before}, map[string]Reading{"a": tc.after}, []string{"a"}, Undecided)
			if !strings.HasSuffix(why, ": "+tc.want+".") {
				t.Errorf("got %q, want %q in it", why, tc.want)
			}
		})
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
		{Reading{Value: num(2560), Unit: UnitSeconds, Bound: AtLeast}, "≥ 2560 s"},
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
