package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

func TestAPodOfAnotherVersionSpellsItsOwnWay(t *testing.T) {
	t.Parallel()
	p := newPool(t, usual(), fleet.Options{Replicas: 2, Seed: 7})
	pods := []fleet.Pod{
		{Name: "old", IP: "10.0.0.1"}, {Name: "new", IP: "10.0.0.2", Dialect: fleet.V1Middle},
	}
	if err := p.SetPods(pods); err != nil {
		t.Fatal(err)
	}
	p.after(5 * time.Minute)
	for pod, want := range map[string][2]string{
		"old": {"vllm:inter_token_latency_seconds_count", "vllm:time_per_output_token_seconds_count"},
		"new": {"vllm:time_per_output_token_seconds_count", "vllm:inter_token_latency_seconds_count"},
	} {
		text := string(page(t, p.Fleet, "/pod/"+pod+"/metrics"))
		if !strings.Contains(text, want[0]) || strings.Contains(text, want[1]) {
			t.Errorf("%s should export %s and not %s", pod, want[0], want[1])
		}
	}
	before := p.State().Replicas[1].PromptTokens
	pods[1].Dialect = fleet.V1
	if err := p.SetPods(pods); err != nil {
		t.Fatal(err)
	}
	if s := p.State().Replicas; s[1].PromptTokens != 0 || before == 0 || s[0].PromptTokens == 0 {
		t.Errorf("an upgrade replaces the pod and no other: %d tokens before, then %+v", before, s)
	}
	pods[0].Dialect = "vllm-2"
	if err := p.SetPods(pods); err == nil {
		t.Error("a version that nobody knows is accepted")
	}
}

// rankTokens are the tokens that each rank of the first pod generated in a time.
func rankTokens(t *testing.T, p *pool, d time.Duration) [2]float64 {
	t.Helper()
	read := func() (out [2]float64) {
		for _, s := range parse(t, page(t, p.Fleet, "/replica/0/metrics"), "text/plain").samples {
			if s.labels.Get("__name__") == "vllm:generation_tokens_total" {
				out[s.labels.Get("engine")[0]-'0'] = s.value
			}
		}
		return out
	}
	before := read()
	p.after(d)
	after := read()
	return [2]float64{after[0] - before[0], after[1] - before[1]}
}

func TestOneRankOfAPodCanBeSlowOrGetMore(t *testing.T) {
	t.Parallel()
	only := func(l fleet.PodLever) fleet.Levers {
		return fleet.Levers{Pods: map[string]fleet.PodLever{"llama-70b-0/1": l}}
	}
	p := newPool(t, usual(), fleet.Options{Replicas: 2, Ranks: 2, Seed: 8})
	even := rankTokens(t, p, 10*time.Minute)
	p.set(only(fleet.PodLever{Slow: 4}))
	slow := rankTokens(t, p, 10*time.Minute)
	p.set(only(fleet.PodLever{Share: 4}))
	p.after(5 * time.Minute)
	more := rankTokens(t, p, 10*time.Minute)
	if even[1] < .6*even[0] || slow[1] > .6*slow[0] || more[1] < 2.5*more[0] {
		t.Errorf("tokens of the two ranks: even %.0f, with the second one slow %.0f, with four times its share %.0f",
			even, slow, more)
	}
	if err := p.SetLevers(only(fleet.PodLever{Share: -1})); err == nil {
		t.Error("a negative share is accepted")
	}
}
