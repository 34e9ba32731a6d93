package present

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// load are readings of requests per second that arrive and finish, and of requests that run.
func load(arrive, finish, run float64) map[string]incident.Reading {
	out := map[string]incident.Reading{}
	for name, v := range map[string]float64{
		incident.SignalArrivals: arrive, incident.SignalFinished: finish, incident.SignalRunning: run,
	} {
		out[name] = incident.Reading{Signal: name, Value: &v}
	}
	return out
}

// A throttle rejects what arrives beyond what finishes, and more where it is below what runs. Where one of the three
// isn't known, nothing is said: no data is not zero.
func TestTheShareThatAThrottleRejects(t *testing.T) {
	t.Parallel()
	without := func(name string) map[string]incident.Reading {
		out := load(18, 9, 100)
		delete(out, name)
		return out
	}
	bound := load(18, 9, 100)
	r := bound[incident.SignalFinished]
	r.Bound = incident.AtLeast
	bound[incident.SignalFinished] = r
	left := load(18, 9, 100)
	left[incident.SignalAbandoned] = incident.Reading{Value: new(0.5), Unit: incident.UnitRatio}
	for _, tt := range []struct {
		name     string
		readings map[string]incident.Reading
		to       string
		setting  string
		want     string
	}{
		{"half, as in the tour", load(18, 9, 100), "129", "maxParallelRequests", "About half of the requests"},
		{"a third", load(12, 8, 100), "112", "maxParallelRequests", "About 1 in 3 requests"},
		{"below what runs", load(12, 8, 160), "80", "maxParallelRequests", "About 2 in 3 requests"},
		{"all is served", load(5, 5, 100), "120", "maxParallelRequests", "Hardly any request"},
		{"nothing finishes", load(5, 0, 100), "120", "maxParallelRequests", "Nearly all requests"},
		{"more than arrives", load(5, 9, 100), "120", "maxParallelRequests", "Hardly any request"},
		{"clients that leave make room", left, "129", "maxParallelRequests", "Hardly any request"},
		{"requests per second", load(18, 9, 100), "10", "requests", ""},
		{"arrivals aren't known", without(incident.SignalArrivals), "129", "maxParallelRequests", ""},
		{"what finishes isn't known", without(incident.SignalFinished), "129", "maxParallelRequests", ""},
		{"what runs isn't known", without(incident.SignalRunning), "129", "maxParallelRequests", ""},
		{"only a bound is known", bound, "129", "maxParallelRequests", ""},
		{"nothing arrives", load(0, 0, 100), "129", "maxParallelRequests", ""},
		{"no number", load(18, 9, 100), "none", "maxParallelRequests", ""},
	} {
		s := incident.Step{Kind: incident.StepThrottle, To: incident.Set(tt.to), Target: incident.Target{Setting: tt.setting}}
		want := tt.want
		if want != "" {
			want += " would be rejected."
		}
		if got := Price(incident.Incident{Readings: tt.readings}, s); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

// What a throttle rejects is in its verdict, also that nobody measures it; a pool that turns away every third request
// is not called healthy.
func TestTheVerdictHasThePrice(t *testing.T) {
	t.Parallel()
	ratio := func(v *float64) incident.Reading { return incident.Reading{Value: v, Unit: incident.UnitRatio} }
	over := func(b, a *float64) *incident.Comparison {
		m := incident.RejectedOver(incident.StepThrottle, map[string]incident.Reading{incident.SignalRejected: ratio(b)},
			map[string]incident.Reading{incident.SignalRejected: ratio(a)})
		return &incident.Comparison{Finding: incident.FoundHealthy, Rejected: m}
	}
	for _, tt := range []struct {
		c    *incident.Comparison
		want string
	}{
		{over(new(0.0), new(0.22)), "Rejected by the gateway 0% → 22%"},
		{over(nil, new(0.22)), "Rejected by the gateway now: 22%"},
		{over(nil, nil), "What the gateway rejects isn't measured"},
		{over(new(0.1), nil), "What the gateway rejects isn't measured"},
		{&incident.Comparison{Rejected: incident.RejectedOver(incident.StepReplicas, nil, nil)}, ""},
		{nil, ""},
	} {
		if got := Rejected(tt.c); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	throttled := incident.Incident{
		Pool: "llama", State: incident.StateWatching, HealthySince: at, ChangedAt: at,
		Plan: &incident.Plan{Steps: []incident.Step{{
			ID: "p1-s1", Kind: incident.StepThrottle, State: incident.StepApplied, RevertAfter: time.Minute, AppliedAt: at,
			From: incident.Set("184"), To: incident.Set("129"), Undo: incident.Set("184"),
		}}},
	}
	for _, tt := range []struct {
		share *float64
		level Level
		news  string
		state string
	}{
		{new(0.36), LevelWarning, "fast again, but 36% of requests are rejected", "rejecting requests"},
		{new(0.22), LevelHealthy, "recovered, temporary throttle in place", "recovered"},
		{nil, LevelHealthy, "recovered, temporary throttle in place", "recovered"},
	} {
		inc := throttled
		inc.Readings = map[string]incident.Reading{incident.SignalRejected: ratio(tt.share)}
		if LevelOf(inc) != tt.level || News(inc) != tt.news || State(inc) != tt.state {
			t.Errorf("%s: %q, %q", LevelOf(inc), News(inc), State(inc))
		}
	}
}

// More replicas take GPUs, and the time that pods of this very pool took.
func TestThePriceOfReplicas(t *testing.T) {
	t.Parallel()
	pods := []incident.Pod{
		{GPUs: 4, ServedAfter: 7 * time.Minute}, {GPUs: 4, ServedAfter: 5 * time.Minute}, {GPUs: 4}, {},
	}
	for _, tt := range []struct {
		name     string
		pods     []incident.Pod
		from, to string
		setting  string
		want     string
	}{
		{"both", pods, "3", "6", "replicas", "Needs 12 more GPUs (3 pods × 4). Pods of this pool took 7 min to serve."},
		{
			"no GPUs",
			[]incident.Pod{{ServedAfter: time.Minute}},
			"1", "2", "replicas",
			"Pods of this pool took 1 min to serve.",
		},
		{"no history", []incident.Pod{{GPUs: 1}}, "1", "2", "replicas", "Needs 1 more GPU (1 pod × 1)."},
		{"nothing is known", nil, "1", "2", "replicas", ""},
		{"an autoscaler's minimum", pods, "1", "2", "minReplicas", ""},
		{"fewer", pods, "3", "2", "replicas", ""},
	} {
		s := incident.Step{
			Kind: incident.StepReplicas, From: incident.Set(tt.from), To: incident.Set(tt.to),
			Target: incident.Target{APIVersion: "apps/v1", Setting: tt.setting},
		}
		inc := incident.Incident{Cluster: incident.Cluster{Pods: tt.pods}}
		if got := Price(inc, s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if Priced(inc, s) != strings.Contains(tt.want, "GPU") {
			t.Errorf("%s: priced: %t", tt.name, Priced(inc, s))
		}
		s.Target.APIVersion = "leaderworkerset.x-k8s.io/v1"
		if got := Price(inc, s); strings.Contains(got, "GPU") {
			t.Errorf("%s: %q for groups of pods, of which nobody knows how many pods they are", tt.name, got)
		}
	}
}
