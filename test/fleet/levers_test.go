package fleet_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// usual is a fleet at two thirds of what it can do: calm, with prompts that share beginnings.
func usual() fleet.Scenario {
	return fleet.Scenario{Name: "usual", Engine: fleet.Llama70B(), Load: fleet.Load{
		Rate: 1.2, Random: true, Prompt: 1500, Generation: 250, Tail: .5, CachedShare: .5, Prefixes: 12,
		FirstTokenPatience: time.Minute,
	}}
}

// seen is what clients saw of the calls that ended in a time.
type seen struct {
	answered, failed    int
	firstToken, between time.Duration // means of the answered ones
}

// pool is a fleet whose clients are asked.
type pool struct {
	*fleet.Fleet
	t        *testing.T
	outcomes []fleet.Outcome
}

func newPool(t *testing.T, s fleet.Scenario, o fleet.Options) *pool {
	t.Helper()
	p := &pool{t: t}
	o.Observe = func(out fleet.Outcome) { p.outcomes = append(p.outcomes, out) }
	p.Fleet = newFleet(t, o)
	if err := p.Apply(s); err != nil {
		t.Fatal(err)
	}
	return p
}

// after lets time pass and says what clients saw in it.
func (p *pool) after(d time.Duration) seen {
	p.outcomes = nil
	p.Advance(d)
	var s seen
	for _, o := range p.outcomes {
		if o.Result != fleet.Answered {
			s.failed++
			continue
		}
		s.answered++
		s.firstToken += o.FirstToken
		s.between += o.PerToken
	}
	if s.answered > 0 {
		s.firstToken /= time.Duration(s.answered)
		s.between /= time.Duration(s.answered)
	}
	return s
}

func (p *pool) set(l fleet.Levers) {
	p.t.Helper()
	if err := p.SetLevers(l); err != nil {
		p.t.Fatal(err)
	}
}

func TestEachLeverHurtsInItsOwnWayAndLettingGoHeals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		levers fleet.Levers
		hurts  func(before, now seen) bool
	}{
		"traffic": {fleet.Levers{Traffic: 4}, func(b, n seen) bool { return n.firstToken > 5*b.firstToken }},
		"prompt":  {fleet.Levers{Prompt: 2.5}, func(b, n seen) bool { return n.firstToken > 5*b.firstToken }},
		"output": {fleet.Levers{Output: 4}, func(b, n seen) bool {
			return n.between > b.between*5/4 || n.firstToken > 5*b.firstToken
		}},
		"prefix": {fleet.Levers{PrefixMiss: 1}, func(b, n seen) bool { return n.firstToken > b.firstToken*4/3 }},
		"impatience": {fleet.Levers{GiveUpAfter: fleet.Duration(300 * time.Millisecond)}, func(b, n seen) bool {
			return b.failed == 0 && n.failed > 50
		}},
		"answers that take too long": {
			fleet.Levers{AnswerWithin: fleet.Duration(3 * time.Second)}, func(b, n seen) bool {
				return b.failed == 0 && n.failed > 50
			},
		},
		"one sick GPU": {fleet.Levers{Pods: map[string]fleet.PodLever{"llama-70b-0": {Slow: 4}}}, func(b, n seen) bool {
			return n.firstToken > b.firstToken*3/2
		}},
		"held cache": {fleet.Levers{AllPods: fleet.PodLever{KVHeld: .9}}, func(b, n seen) bool {
			return n.firstToken > 2*b.firstToken
		}},
		"one wedged pod": {
			fleet.Levers{Pods: map[string]fleet.PodLever{"llama-70b-0": {Fault: fleet.Wedged}}},
			func(b, n seen) bool { return n.answered < b.answered && n.failed > b.failed },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, usual(), fleet.Options{Replicas: 3, Seed: 3})
			p.after(10 * time.Minute)
			before := p.after(10 * time.Minute)
			p.set(c.levers)
			if diff := gocmp.Diff(c.levers, p.Levers()); diff != "" {
				t.Errorf("levers (-set +read):\n%s", diff)
			}
			now := p.after(10 * time.Minute)
			if !c.hurts(before, now) {
				t.Errorf("clients saw %+v before and %+v now", before, now)
			}
			p.set(fleet.Levers{})
			p.after(15 * time.Minute)
			healed := p.after(10 * time.Minute)
			if healed.firstToken > before.firstToken*3/2 || healed.failed > before.failed+5 {
				t.Errorf("clients saw %+v before and %+v after it was over", before, healed)
			}
		})
	}
}

func TestDroppedPrefixCachesFillAgain(t *testing.T) {
	t.Parallel()
	p := newPool(t, usual(), fleet.Options{Replicas: 2, Seed: 4})
	p.after(10 * time.Minute)
	rate := func(d time.Duration) float64 {
		h := watchHits(t, p.Fleet)
		p.after(d)
		return h()
	}
	before := rate(20 * time.Minute)
	p.DropPrefixCaches()
	first, later := rate(10*time.Second), rate(20*time.Minute)
	if before < .25 || first > before/2 || later < before*.7 {
		t.Errorf("the hit rate was %.2f, %.2f just after and %.2f later", before, first, later)
	}
}

// watchHits starts to watch the prefix cache; the result says the hit rate since then.
func watchHits(t *testing.T, f *fleet.Fleet) func() float64 {
	t.Helper()
	read := func() (asked, found float64) {
		for _, s := range parse(t, page(t, f, "/metrics?replica=0"), "text/plain").samples {
			switch s.labels.Get("__name__") {
			case "vllm:prefix_cache_queries_total":
				asked = s.value
			case "vllm:prefix_cache_hits_total":
				found = s.value
			}
		}
		return asked, found
	}
	asked, found := read()
	return func() float64 {
		a, h := read()
		return (h - found) / (a - asked)
	}
}

func page(t *testing.T, f *fleet.Fleet, path string) []byte {
	t.Helper()
	b, _ := get(t, f, path, "text/plain")
	return b
}

func TestTheSameSeedGivesTheSameAndAnotherOneDoesNot(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, piece time.Duration) []fleet.Outcome {
		s := usual()
		s.Load.Rate, s.Load.Retries, s.Load.RetryAfter = 3, 2, time.Second
		s.Load.FirstTokenPatience = 5 * time.Second
		s.Load.Burst = fleet.Burst{Every: 5 * time.Minute, For: time.Minute, Factor: 3}
		p := newPool(t, s, fleet.Options{Replicas: 2, Seed: seed, StartUp: 40 * time.Second})
		pass := func(d time.Duration) {
			for ; d > piece; d -= piece {
				p.Advance(piece)
			}
			p.Advance(d)
		}
		pass(3 * time.Minute)
		p.set(fleet.Levers{Traffic: 1.5, Pods: map[string]fleet.PodLever{"llama-70b-1": {Slow: 2}}})
		pass(3 * time.Minute)
		if err := p.Crash("llama-70b-0"); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		if err := p.SetReplicas(3); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Minute)
		slices.SortFunc(p.outcomes, func(a, b fleet.Outcome) int { return cmp.Compare(a.Arrived, b.Arrived) })
		return p.outcomes
	}
	whole := run(1, time.Hour)
	if diff := gocmp.Diff(whole, run(1, 173*time.Millisecond)); diff != "" {
		t.Errorf("the same seed, with time in one piece (-) and in many (+):\n%.2000s", diff)
	}
	if gocmp.Equal(whole, run(2, time.Hour)) {
		t.Error("another seed gives the same calls")
	}
	tries, results := 0, map[fleet.Result]int{}
	for _, o := range whole {
		tries = max(tries, o.Tries)
		results[o.Result]++
	}
	if tries != 3 || results[fleet.Answered] == 0 || results[fleet.GaveUp] == 0 {
		t.Errorf("at most %d tries, results %v: this test should see retries and clients that gave up", tries, results)
	}
}
