package live

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// refusal is the reason of a refusal; a test fails on any other error.
func refusal(t *testing.T, err error) string {
	t.Helper()
	var no *incident.RefusedError
	if err != nil && !errors.As(err, &no) {
		t.Fatalf("want a refusal, got %T: %v", err, err)
	}
	if no == nil {
		return ""
	}
	return no.Reason
}

func TestAdjustMakesAStepSmallerButNeverBiggerOrTheOtherWayRound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		l           Limits
		from, asked int64
		to          int64
		verdict     incident.GuardVerdict
		reason      string
	}{
		{"up within", Limits{Min: 2, Max: 8}, 2, 3, 3, incident.GuardPass, "within 2 to 8"},
		{"up to the limit exactly", Limits{Min: 2, Max: 8}, 7, 8, 8, incident.GuardPass, "within"},
		{"up beyond the limit", Limits{Min: 2, Max: 8}, 6, 12, 8, incident.GuardShrink, "8 instead of 12: the maximum is 8"},
		{
			"up beyond somebody else's limit", Limits{Min: 2, Max: 8}.AtMost(7, "spec.maxReplicas of X"), 6, 12, 7,
			incident.GuardShrink, "the maximum is 7, spec.maxReplicas of X",
		},
		{
			"a wider limit of somebody else changes nothing", Limits{Min: 2, Max: 8}.AtMost(9, "X"), 6, 12, 8,
			incident.GuardShrink, "the maximum is 8",
		},
		{
			"up beyond the step",
			Limits{Min: 2, Max: 8, Step: 2},
			2, 8, 4, incident.GuardShrink,
			"one step changes it by at most 2",
		},
		{"the step ends at the limit", Limits{Min: 2, Max: 8, Step: 6}, 2, 20, 8, incident.GuardShrink, "the maximum is 8"},
		{"up at the limit", Limits{Min: 2, Max: 8}, 8, 9, 0, "", "already at the limit: 8 (the maximum is 8)"},
		{"up from beyond the limit", Limits{Min: 2, Max: 8}, 9, 10, 0, "", "already at the limit: 9"},
		{
			"up, but still too low",
			Limits{Min: 4, Max: 8},
			1, 2, 0, "",
			"2 would still be out of bounds (the minimum is 4",
		},
		{"up from below into the bounds", Limits{Min: 2, Max: 8}, 1, 3, 3, incident.GuardPass, "within"},
		{"down within", Limits{Min: 16, Max: 1024}, 512, 256, 256, incident.GuardPass, "within"},
		{
			"down beyond the limit",
			Limits{Min: 300, Max: 1024},
			512, 256, 300, incident.GuardShrink,
			"300 instead of 256: the minimum is 300",
		},
		{
			"down beyond vLLM's limit", Limits{Min: 16, Max: 1024}.AtLeast(400, "set by --max-num-seqs"), 512, 256, 400,
			incident.GuardShrink, "the minimum is 400, set by --max-num-seqs",
		},
		{
			"down beyond the step",
			Limits{Min: 16, Max: 1024, Step: 100},
			512, 256, 412, incident.GuardShrink,
			"one step changes it by at most 100",
		},
		{
			"down at the limit",
			Limits{Min: 16, Max: 1024},
			16, 8, 0, "",
			"already at the limit: 16 (the minimum is 16)",
		},
		{
			"down, but still too high",
			Limits{Min: 16, Max: 1024},
			4096, 2048, 0, "",
			"2048 would still be out of bounds (the maximum is 1024",
		},
		{"down into the bounds", Limits{Min: 16, Max: 1024}, 2000, 1000, 1000, incident.GuardPass, "within"},
		{"no change", Limits{Min: 1, Max: 9}, 3, 3, 0, "", "the change is too small: 3 stays 3"},
		{"bounds that exclude each other", Limits{Min: 9, Max: 5}, 7, 8, 0, "", "already at the limit"},
		{"no bounds at all", Limits{}, 7, 8, 0, "", "already at the limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to, g, err := tt.l.Adjust(tt.from, tt.asked)
			got := refusal(t, err)
			if tt.verdict != "" {
				if got != "" || to != tt.to || g.Verdict != tt.verdict {
					t.Fatalf("to %d, verdict %q, refusal %q; want %d, %q", to, g.Verdict, got, tt.to, tt.verdict)
				}
				got = g.Reason
			}
			if !strings.Contains(got, tt.reason) {
				t.Errorf("reason %q, want it to contain %q", got, tt.reason)
			}
		})
	}
}

func FuzzAdjustStaysWithinTheLimitsAndBetweenTheEnds(f *testing.F) {
	f.Add(int64(2), int64(8), int64(0), int64(3), int64(5))
	f.Add(int64(16), int64(1024), int64(100), int64(512), int64(1))
	f.Fuzz(func(t *testing.T, low, high, step, from, asked int64) {
		for _, n := range []int64{low, high, step, from, asked} {
			if n < 0 || n > Biggest {
				return // configuration and readers keep values in this range
			}
		}
		to, _, err := Limits{Min: low, Max: high, Step: step}.Adjust(from, asked)
		if err != nil {
			return
		}
		if to < low || to > high || step > 0 && max(to-from, from-to) > step {
			t.Errorf("%d is out of %d to %d in steps of %d", to, low, high, step)
		}
		if asked > from && (to <= from || to > asked) || asked < from && (to >= from || to < asked) {
			t.Errorf("from %d to %d ended at %d", from, asked, to)
		}
	})
}

func TestCheckRefusesBothSides(t *testing.T) {
	t.Parallel()
	l := Limits{Min: 2, Max: 4}
	for n, want := range map[int64]string{1: "the minimum is 2", 2: "", 4: "", 5: "the maximum is 4"} {
		if got := refusal(t, l.Check(n)); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestTimesRefusesWhatIsNoFactor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		now  int64
		req  incident.StepRequest
		want int64
		why  string
	}{
		{1024, incident.StepRequest{Factor: 0.5}, 512, ""},
		{3, incident.StepRequest{Factor: 0.5}, 2, ""},
		{1000, incident.StepRequest{Factor: 1.5}, 1500, ""},
		{1, incident.StepRequest{Factor: 0.1}, 0, "not a usable value"},
		{8, incident.StepRequest{}, 0, "a factor above 0"},
		{8, incident.StepRequest{Factor: -1}, 0, "a factor above 0"},
		{8, incident.StepRequest{Factor: 2, Add: 1}, 0, "and nothing else"},
		{8, incident.StepRequest{Factor: math.NaN()}, 0, "a factor above 0"},
		{8, incident.StepRequest{Factor: math.Inf(1)}, 0, "not a usable value"},
		{8, incident.StepRequest{Factor: 1e300}, 0, "not a usable value"},
	} {
		got, err := Times(tt.now, tt.req)
		if why := refusal(t, err); got != tt.want || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%d times %+v: %d, %q", tt.now, tt.req, got, why)
		}
	}
}

func TestAPersonChoosesASmallerChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		now, asked, chosen int64
		want               string
	}{
		{256, 128, 0, ""},
		{256, 128, 128, ""},
		{256, 128, 255, ""},
		{2, 5, 3, ""},
		{2, 5, 5, ""},
		{256, 128, 127, "127 isn't a smaller change than 256 to 128"},
		{256, 128, 256, "isn't a smaller change"},
		{256, 128, 300, "isn't a smaller change"},
		{256, 128, -1, "isn't a smaller change"},
		{2, 5, 6, "isn't a smaller change"},
		{2, 5, 2, "isn't a smaller change"},
	} {
		got, err := Chosen(tt.now, tt.asked, incident.StepRequest{Chosen: tt.chosen})
		if no := refusal(t, err); !strings.Contains(no, tt.want) || (no == "") != (tt.want == "") {
			t.Errorf("%+v: refused for %q", tt, no)
		}
		if want := max(tt.chosen, 0); err == nil && want != 0 && got != want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

// A throttle that is sized by what is in flight is never stricter than its factor of that, and stays what it was while
// the estimate wavers.
func TestLoweredMultipliesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		now  int64
		req  incident.StepRequest
		want int64
		why  string
	}{
		"not measured":                 {512, incident.StepRequest{Factor: 0.7}, 358, ""},
		"fewer than the limit":         {512, incident.StepRequest{Factor: 0.7, Of: 253}, 177, ""},
		"a part of one":                {512, incident.StepRequest{Factor: 0.7, Of: 99.2}, 70, ""},
		"just about the limit":         {184, incident.StepRequest{Factor: 0.7, Of: 181}, 129, ""},
		"just below that":              {184, incident.StepRequest{Factor: 0.7, Of: 165}, 115, ""},
		"more than the limit":          {512, incident.StepRequest{Factor: 0.7, Of: 600}, 358, ""},
		"near what is asked about":     {512, incident.StepRequest{Factor: 0.7, Of: 210, Asked: 177}, 177, ""},
		"far from it":                  {512, incident.StepRequest{Factor: 0.7, Of: 150, Asked: 177}, 105, ""},
		"without an estimate any more": {512, incident.StepRequest{Factor: 0.7, Asked: 177}, 358, ""},
		"asked above the limit":        {200, incident.StepRequest{Factor: 0.7, Of: 253, Asked: 253}, 140, ""},
		"a person chose less":          {512, incident.StepRequest{Factor: 0.7, Of: 210, Asked: 177, Chosen: 180}, 180, ""},
		"a person chose more":          {512, incident.StepRequest{Factor: 0.7, Of: 253, Chosen: 100}, 0, "isn't a smaller"},
		"next to nothing":              {512, incident.StepRequest{Factor: 0.1, Of: 2}, 0, "not a usable value"},
		"no throttle raises":           {512, incident.StepRequest{Factor: 1.5}, 0, "only lowers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Lowered(tt.now, tt.req)
			if why := refusal(t, err); got != tt.want || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
				t.Errorf("%d, %q; want %d, %q", got, why, tt.want, tt.why)
			}
		})
	}
}
