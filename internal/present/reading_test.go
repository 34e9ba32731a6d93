package present

import (
	"math"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func read(d incident.Direction, value, threshold float64) incident.Reading {
	return incident.Reading{Direction: d, Unit: incident.UnitCount, Value: &value, Threshold: &threshold}
}

func TestBeyondIsTheBadSideOfAnyThreshold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		r      incident.Reading
		beyond bool
		limit  string
	}{
		"above":                      {read(incident.HigherIsWorse, 3, 2), true, "limit 2"},
		"at it":                      {read(incident.HigherIsWorse, 2, 2), false, "limit 2"},
		"above a threshold of 0":     {read(incident.HigherIsWorse, 1, 0), true, "limit 0"},
		"at a threshold of 0":        {read(incident.HigherIsWorse, 0, 0), false, "limit 0"},
		"below where lower is bad":   {read(incident.LowerIsWorse, 0, 5), true, "limit ≥ 5"},
		"none where some are needed": {read(incident.LowerIsWorse, 0, 0), false, "limit > 0"},
		"above where lower is bad":   {read(incident.LowerIsWorse, 6, 5), false, "limit ≥ 5"},
		"no bad side":                {read(incident.Neutral, 9, 5), false, "limit 5"},
		"no number":                  {read(incident.HigherIsWorse, math.NaN(), 5), false, "limit 5"},
		"without a limit":            {incident.Reading{Value: new(1.0), Direction: incident.HigherIsWorse}, false, ""},
		"without a value": {
			incident.Reading{Threshold: new(1.0), Direction: incident.LowerIsWorse},
			false,
			"limit ≥ 1",
		},
		"an error beside the value": {incident.Reading{Value: new(9.0), Threshold: new(1.0), Error: "x"}, false, "limit 1"},
	} {
		if got := Beyond(tt.r); got != tt.beyond {
			t.Errorf("%s: beyond is %v", name, got)
		}
		if got := Limit(tt.r); got != tt.limit {
			t.Errorf("%s: %q, want %q", name, got, tt.limit)
		}
	}
}

func TestThePodThatStandsOutIsNamed(t *testing.T) {
	t.Parallel()
	pods := []incident.PodValue{{Pod: "a", Value: 2}, {Pod: "b", Value: 48}, {Pod: "c", Value: 1}}
	for name, tt := range map[string]struct {
		r    incident.Reading
		want string
	}{
		"higher is worse": {incident.Reading{Direction: incident.HigherIsWorse, Pods: pods}, "worst b: 48"},
		"lower is worse":  {incident.Reading{Direction: incident.LowerIsWorse, Pods: pods}, "worst c: 1"},
		"no bad side":     {incident.Reading{Direction: incident.Neutral, Pods: pods}, "highest b: 48"},
		"all the same":    {incident.Reading{Direction: incident.HigherIsWorse, Pods: pods[:1]}, ""},
		"no pods":         {incident.Reading{}, ""},
		"nearly the same": {incident.Reading{Direction: incident.HigherIsWorse, Pods: []incident.PodValue{
			{Pod: "a", Value: 52188}, {Pod: "b", Value: 52117},
		}}, ""},
		"a fifth apart": {incident.Reading{Direction: incident.HigherIsWorse, Pods: []incident.PodValue{
			{Pod: "a", Value: 80}, {Pod: "b", Value: 100},
		}}, "worst b: 100"},
		"on both sides of the limit": {
			incident.Reading{Direction: incident.HigherIsWorse, Threshold: new(95.0), Pods: []incident.PodValue{
				{Pod: "a", Value: 90}, {Pod: "b", Value: 97},
			}}, "worst b: 97",
		},
	} {
		if got := WorstPod(tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestAPersonIsNamedByWhatIsKnown(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]incident.Actor{
		"policy": {Kind: "policy", ID: "undo"}, "vllm-medic": {Kind: "bot", ID: "vllm-medic"},
		"ada@example.com": {Kind: "kubernetes", ID: "ada@example.com"},
		"slack:U0ALICE":   {Kind: "slack", ID: "U0ALICE"},
	} {
		if got := Person(a); got != want {
			t.Errorf("%+v is %q, want %q", a, got, want)
		}
	}
}
