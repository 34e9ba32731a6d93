package actions

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

func TestTurnMakesAStepSmallerButNeverBiggerOrTheOtherWayRound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		l           limits
		from, asked int64
		to          int64
		verdict     incident.GuardVerdict
		reason      string
	}{
		{"up within", limits{min: 2, max: 8}, 2, 3, 3, incident.GuardPass, "within 2 to 8"},
		{"up to the limit exactly", limits{min: 2, max: 8}, 7, 8, 8, incident.GuardPass, "within"},
		{"up beyond the limit", limits{min: 2, max: 8}, 6, 12, 8, incident.GuardShrink, "8 instead of 12: 8 is the most"},
		{"up beyond somebody else's limit", limits{min: 2, max: 8}.lower(7, "spec.maxReplicas of X"), 6, 12, 7, incident.GuardShrink, "7 is the most, spec.maxReplicas of X"},
		{"a wider limit of somebody else changes nothing", limits{min: 2, max: 8}.lower(9, "X"), 6, 12, 8, incident.GuardShrink, "8 is the most"},
		{"up beyond the step", limits{min: 2, max: 8, step: 2}, 2, 8, 4, incident.GuardShrink, "one step changes it by 2 at most"},
		{"the step ends at the limit", limits{min: 2, max: 8, step: 6}, 2, 20, 8, incident.GuardShrink, "8 is the most"},
		{"up at the limit", limits{min: 2, max: 8}, 8, 9, 0, "", "it is at its limit already: 8, and 8 is the most"},
		{"up from beyond the limit", limits{min: 2, max: 8}, 9, 10, 0, "", "at its limit already: 9"},
		{"up, but still too low", limits{min: 4, max: 8}, 1, 2, 0, "", "2 would still be outside of the bounds: 4 is the least"},
		{"up from below into the bounds", limits{min: 2, max: 8}, 1, 3, 3, incident.GuardPass, "within"},
		{"down within", limits{min: 16, max: 1024}, 512, 256, 256, incident.GuardPass, "within"},
		{"down beyond the limit", limits{min: 300, max: 1024}, 512, 256, 300, incident.GuardShrink, "300 instead of 256: 300 is the least"},
		{"down beyond vLLM's limit", limits{min: 16, max: 1024}.raise(400, "set by --max-num-seqs"), 512, 256, 400, incident.GuardShrink, "400 is the least, set by --max-num-seqs"},
		{"down beyond the step", limits{min: 16, max: 1024, step: 100}, 512, 256, 412, incident.GuardShrink, "one step changes it by 100 at most"},
		{"down at the limit", limits{min: 16, max: 1024}, 16, 8, 0, "", "it is at its limit already: 16, and 16 is the least"},
		{"down, but still too high", limits{min: 16, max: 1024}, 4096, 2048, 0, "", "2048 would still be outside of the bounds: 1024 is the most"},
		{"down into the bounds", limits{min: 16, max: 1024}, 2000, 1000, 1000, incident.GuardPass, "within"},
		{"no change", limits{min: 1, max: 9}, 3, 3, 0, "", "the change is too small: 3 stays 3"},
		{"bounds that exclude each other", limits{min: 9, max: 5}, 7, 8, 0, "", "at its limit already"},
		{"no bounds at all", limits{}, 7, 8, 0, "", "at its limit already"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to, g, err := tt.l.turn(tt.from, tt.asked)
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

func FuzzTurnStaysWithinTheLimitsAndBetweenTheEnds(f *testing.F) {
	f.Add(int64(2), int64(8), int64(0), int64(3), int64(5))
	f.Add(int64(16), int64(1024), int64(100), int64(512), int64(1))
	f.Fuzz(func(t *testing.T, low, high, step, from, asked int64) {
		for _, n := range []int64{low, high, step, from, asked} {
			if n < 0 || n > biggest {
				return // configuration and readers keep values in this range
			}
		}
		to, _, err := limits{min: low, max: high, step: step}.turn(from, asked)
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

func TestWithinRefusesBothSides(t *testing.T) {
	t.Parallel()
	l := limits{min: 2, max: 4}
	for n, want := range map[int64]string{1: "2 is the least", 2: "", 4: "", 5: "4 is the most"} {
		if got := refusal(t, l.within(n)); !strings.Contains(got, want) || (got == "") != (want == "") {
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
		{1, incident.StepRequest{Factor: 0.1}, 0, "no usable value"},
		{8, incident.StepRequest{}, 0, "a factor above 0"},
		{8, incident.StepRequest{Factor: -1}, 0, "a factor above 0"},
		{8, incident.StepRequest{Factor: 2, Add: 1}, 0, "and nothing else"},
		{8, incident.StepRequest{Factor: math.NaN()}, 0, "a factor above 0"},
		{8, incident.StepRequest{Factor: math.Inf(1)}, 0, "no usable value"},
		{8, incident.StepRequest{Factor: 1e300}, 0, "no usable value"},
	} {
		got, err := times(tt.now, tt.req)
		if why := refusal(t, err); got != tt.want || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%d times %+v: %d, %q", tt.now, tt.req, got, why)
		}
	}
}

func TestMoreAddsReplicasAndNothingElse(t *testing.T) {
	t.Parallel()
	l := limits{min: 1, max: 8}
	for _, req := range []incident.StepRequest{{}, {Add: -1}, {Factor: 2}, {Add: 1, Factor: 2}, {Add: math.MaxInt64}} {
		if _, _, err := more(2, req, l); refusal(t, err) == "" {
			t.Errorf("%+v is not refused", req)
		}
	}
	if to, _, err := more(2, incident.StepRequest{Add: 3}, l); err != nil || to != 5 {
		t.Errorf("2 and 3 more: %d, %v", to, err)
	}
}
