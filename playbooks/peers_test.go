package playbooks_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// podsWith is a reading of single pods, called a, b, c and so on.
func podsWith(values ...float64) incident.Reading {
	var r incident.Reading
	for i, v := range values {
		r.Pods = append(r.Pods, incident.PodValue{Pod: string(rune('a' + i)), Value: v})
	}
	highest := slices.Max(values)
	r.Value = &highest
	return r
}

// slowFirstTokens diagnoses a pool with a target of 500 ms whose pods have these TTFT p95.
func slowFirstTokens(t *testing.T, pods incident.Reading, prefill ...float64) playbooks.Result {
	t.Helper()
	ev := readings(with(map[string]float64{"ttft_p95": 3}))
	ev.Readings["ttft_worst_pod"] = pods
	if prefill != nil {
		ev.Readings["prefill_pods"] = podsWith(prefill...)
	}
	c := builtin(t, playbooks.Options{})
	return c.Diagnose(playbooks.Input{Alerts: alerts("vLLMPodSlow"), Pool: chat(), Evidence: ev})
}

func TestOutliersAreThoseFarAboveTheMedianOfTheirRole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pods    []float64
		prefill []float64
		want    string // as the condition shows them; empty: nobody
	}{
		"one of two":              {pods: []float64{6, .2}, want: "6 s (a)"},
		"two of six":              {pods: []float64{.2, 6, .2, .2, 4, .2}, want: "6 s (b, e)"},
		"half of four":            {pods: []float64{6, 6, .2, .2}, want: "6 s (a, b)"},
		"more than half":          {pods: []float64{6, 6, 6, .2}},
		"alone":                   {pods: []float64{6}},
		"all":                     {pods: []float64{6, 6, 6}},
		"within target":           {pods: []float64{.49, .1, .1}},
		"at 1.67 times":           {pods: []float64{.835, .5, .5}},
		"peers over target":       {pods: []float64{6, .6, .6}},
		"an only prefill pod":     {pods: []float64{6, .2, .2}, prefill: []float64{1, 0, 0}},
		"an only decode pod":      {pods: []float64{6, .2, .2}, prefill: []float64{0, 1, 1}},
		"one of two prefill pods": {pods: []float64{6, .4, .1, .1}, prefill: []float64{1, 1, 0, 0}, want: "6 s (a)"},
		"peers in the role over target": {
			pods: []float64{6, .6, .1, .1}, prefill: []float64{1, 1, 0, 0},
		},
		"decode pods, whatever prefill pods take": {
			pods: []float64{.9, 2, .1, .1}, prefill: []float64{1, 0, 0, 0}, want: "2 s (b)",
		},
		"roles that don't differ": {pods: []float64{6, .2, .2}, prefill: []float64{1, 1, 1}, want: "6 s (a)"},
		"a pod of no known role":  {pods: []float64{.2, .2, 6}, prefill: []float64{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := slowFirstTokens(t, podsWith(tt.pods...), tt.prefill...)
			if tt.want == "" {
				if nameOf(got.Diagnosis) == "one-bad-replica" {
					t.Fatalf("pods are called bad: %+v", got.Diagnosis.Evidence)
				}
				return
			}
			if nameOf(got.Diagnosis) != "one-bad-replica" {
				t.Fatalf("got %s, want one-bad-replica", nameOf(got.Diagnosis))
			}
			if !slices.ContainsFunc(got.Diagnosis.Evidence, func(c incident.Condition) bool {
				return c.Signal == "ttft_outliers" && c.Seen == tt.want
			}) {
				t.Errorf("%q is in no condition: %+v", tt.want, got.Diagnosis.Evidence)
			}
			advice := got.Steps[0].Advice
			if !strings.Contains(advice, "lower TTFT p95: "+tt.want) || strings.Contains(advice, "TPOT p95") {
				t.Errorf("the advice doesn't name them: %q", advice)
			}
		})
	}
}

func TestPodsThatCannotBeComparedAreNoOutliersAndNotRuledOut(t *testing.T) {
	t.Parallel()
	many := make([]float64, incident.MaxPodValues)
	many[0] = 6
	for name, r := range map[string]incident.Reading{
		"not asked for": {Error: "timeout"}, "more than are kept": podsWith(many...),
	} {
		got := slowFirstTokens(t, r)
		if o := verdictOf(t, got, "one-bad-replica"); o.Verdict != incident.Undecided {
			t.Errorf("%s: one-bad-replica is %s (%s), want undecided", name, o.Verdict, o.Why)
		}
	}
	// No data of any pod is an answer: nobody served long enough, or had enough requests.
	if o := verdictOf(t, slowFirstTokens(t, incident.Reading{}), "one-bad-replica"); o.Verdict != incident.False {
		t.Errorf("without data one-bad-replica is %s (%s), want false", o.Verdict, o.Why)
	}
	// A mean that this vLLM doesn't export leaves the percentile to decide.
	ev := readings(with(map[string]float64{"tpot_p95": .06, "tpot_worst_pod": .4, "tpot_second_pod": .03}))
	ev.Readings["tpot_mean_worst_pod"] = incident.Reading{}
	c := builtin(t, playbooks.Options{})
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMPodSlow"), Pool: chat(), Evidence: ev})
	if nameOf(got.Diagnosis) != "one-bad-replica" {
		t.Errorf("without means: %s, want one-bad-replica", nameOf(got.Diagnosis))
	}
}

func TestManyOutliersAreCountedOnceTheFirstAreNamed(t *testing.T) {
	t.Parallel()
	values := make([]float64, 16)
	for i := range values {
		values[i] = .1
		if i < 7 {
			values[i] = 6 - float64(i)/10
		}
	}
	got := slowFirstTokens(t, podsWith(values...))
	if nameOf(got.Diagnosis) != "one-bad-replica" {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	if advice := got.Steps[0].Advice; !strings.Contains(advice, "6 s (a, b, c, d and "+strconv.Itoa(7-4)+" more)") {
		t.Errorf("the advice is %q", advice)
	}
}
