package fleet_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// split are two prefill pods and three decode pods.
func split() []fleet.Pod {
	return []fleet.Pod{
		{Name: "prefill-0", IP: "10.0.0.1", Role: fleet.Prefill},
		{Name: "prefill-1", IP: "10.0.0.2", Role: fleet.Prefill},
		{Name: "decode-0", IP: "10.0.0.3", Role: fleet.Decode},
		{Name: "decode-1", IP: "10.0.0.4", Role: fleet.Decode},
		{Name: "decode-2", IP: "10.0.0.5", Role: fleet.Decode},
	}
}

// sums adds up the series of pods whose names begin alike, by name.
func sums(t *testing.T, p *pool, pods string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, pod := range split() {
		if !strings.HasPrefix(pod.Name, pods) {
			continue
		}
		for _, s := range parse(t, page(t, p.Fleet, "/pod/"+pod.Name+"/metrics"), "text/plain").samples {
			name := strings.TrimPrefix(s.labels.Get("__name__"), "vllm:")
			if reason := s.labels.Get("reason"); reason != "" {
				name += "/" + reason
			}
			out[name] += s.value
		}
	}
	return out
}

func TestRolesShareTheWork(t *testing.T) {
	t.Parallel()
	s := usual()
	s.Load.Rate = .6
	p := newPool(t, s, fleet.Options{Pods: split(), Seed: 11})
	got := p.after(20 * time.Minute)
	if got.answered < 2500 || got.failed > 0 || got.firstToken > 2*time.Second {
		t.Errorf("clients saw %+v", got)
	}
	prefill, decode := sums(t, p, "prefill"), sums(t, p, "decode")
	mean := func(m map[string]float64, name string) float64 { return m[name+"_sum"] / m[name+"_count"] }
	if n := prefill["generation_tokens_total"]; n != prefill["time_to_first_token_seconds_count"] || n < 2500 {
		t.Errorf("prefill pods generated %.0f tokens for %.0f requests: one each", n,
			prefill["time_to_first_token_seconds_count"])
	}
	if a, b := mean(prefill, "request_prefill_time_seconds"), mean(decode, "request_prefill_time_seconds"); a < 4*b {
		t.Errorf("reading a prompt takes %.3f s in prefill pods and %.3f s in decode pods", a, b)
	}
	if a, b := decode["generation_tokens_total"], prefill["generation_tokens_total"]; a < 100*b {
		t.Errorf("decode pods generated %.0f tokens, prefill pods %.0f", a, b)
	}
	if n, of := decode["nixl_xfer_time_seconds_count"], decode["time_to_first_token_seconds_count"]; n < of || n > of+10 {
		t.Errorf("%.0f transfers for %.0f requests", n, of)
	}
	if _, has := prefill["nixl_xfer_time_seconds_count"]; has {
		t.Error("prefill pods count transfers, which decode pods begin")
	}
	none := s
	none.Load.Rate = 0
	if err := p.Apply(none); err != nil {
		t.Fatal(err)
	}
	p.after(5 * time.Minute)
	if left := sums(t, p, ""); left["kv_cache_usage_perc"] != 0 || left["num_requests_running"] != 0 {
		t.Errorf("when everybody was answered, %g of the caches is in use", left["kv_cache_usage_perc"])
	}
}

func TestAStarvedSideFillsTheOther(t *testing.T) {
	t.Parallel()
	every := func(role string, l fleet.PodLever) fleet.Levers {
		out := fleet.Levers{Pods: map[string]fleet.PodLever{}}
		for _, pod := range split() {
			if strings.HasPrefix(pod.Name, role) {
				out.Pods[pod.Name] = l
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		levers fleet.Levers
		shows  func(prefill, decode map[string]float64) bool
	}{
		"well": {fleet.Levers{}, func(p, d map[string]float64) bool {
			return p["num_requests_waiting"] == 0 && d["num_requests_waiting"] < 5 && p["kv_cache_usage_perc"] < .1
		}},
		"too little prefill": {every("prefill", fleet.PodLever{Slow: 4}), func(p, d map[string]float64) bool {
			return p["num_requests_waiting"] > 50 && d["num_requests_waiting"] < 10
		}},
		// The decode caches fill up; then the blocks that nobody fetches stay in the prefill caches.
		"too little decode": {every("decode", fleet.PodLever{KVHeld: .95}), func(p, d map[string]float64) bool {
			return d["num_requests_waiting_by_reason/capacity"] > 20 && p["kv_cache_usage_perc"] > .4
		}},
		"slow transfers": {every("decode", fleet.PodLever{Transfer: 200}), func(_, d map[string]float64) bool {
			return d["num_requests_waiting_by_reason/deferred"] > 5 && d["num_requests_waiting_by_reason/capacity"] < 5
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := usual()
			s.Load.FirstTokenPatience, s.Load.Patience, s.Load.Rate = 10*time.Minute, 20*time.Minute, .6
			p := newPool(t, s, fleet.Options{Pods: split(), Seed: 12})
			p.after(5 * time.Minute)
			p.set(c.levers)
			p.after(10 * time.Minute)
			prefill, decode := sums(t, p, "prefill"), sums(t, p, "decode")
			if !c.shows(prefill, decode) {
				for _, m := range []string{
					"num_requests_running", "num_requests_waiting_by_reason/capacity", "num_requests_waiting_by_reason/deferred",
					"kv_cache_usage_perc",
				} {
					t.Errorf("%s: prefill %g, decode %g", m, prefill[m], decode[m])
				}
			}
		})
	}
}

func TestEqualsTakeTurns(t *testing.T) {
	t.Parallel()
	first := func(rotate bool) float64 {
		s := usual()
		s.Load.Rate = .01
		p := newPool(t, s, fleet.Options{Replicas: 4, Seed: 14, Rotate: rotate})
		p.after(4 * time.Hour)
		all, of := 0., 0.
		for i, r := range p.State().Replicas {
			if all += float64(r.FirstTokens); i == 0 {
				of = float64(r.FirstTokens)
			}
		}
		return of / all
	}
	if alone, turns := first(false), first(true); alone < .5 || turns < .2 || turns > .3 {
		t.Errorf("of the requests of a quiet hour the first pod of four gets %.2f, and %.2f in turns", alone, turns)
	}
}

func TestRolesDoNotDependOnHowTheyAreWatched(t *testing.T) {
	t.Parallel()
	run := func(piece time.Duration) []fleet.Outcome {
		s := served()
		s.Load.Retries, s.Load.RetryAfter = 1, time.Second
		p := newPool(t, s, fleet.Options{Pods: split(), Seed: 13})
		for range int(4 * time.Minute / piece) {
			p.Advance(piece)
		}
		for _, pod := range []string{"decode-0", "prefill-1"} {
			if err := p.Crash(pod); err != nil {
				t.Fatal(err)
			}
		}
		for range int(4 * time.Minute / piece) {
			p.Advance(piece)
		}
		slices.SortFunc(p.outcomes, func(a, b fleet.Outcome) int { return cmp.Compare(a.Arrived, b.Arrived) })
		return p.outcomes
	}
	whole := run(4 * time.Minute)
	if diff := gocmp.Diff(whole, run(250*time.Millisecond)); diff != "" {
		t.Errorf("time in one piece (-) and in many (+):\n%.2000s", diff)
	}
	if len(whole) < 500 {
		t.Errorf("%d calls ended", len(whole))
	}
	if err := newPool(t, usual(), fleet.Options{}).SetPods([]fleet.Pod{{Name: "a", Role: "both"}}); err == nil {
		t.Error("a role that nobody knows is accepted")
	}
}
