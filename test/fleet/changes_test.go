package fleet_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// remedy is a change, and whether the fleet must then be well.
type remedy struct {
	name  string
	turn  func(*fleet.Fleet) error
	heals bool
}

func replicas(n int) remedy {
	return remedy{name: "replicas", heals: true, turn: func(f *fleet.Fleet) error { return f.SetReplicas(n) }}
}

func throttle(n int) remedy {
	return remedy{name: "throttle", heals: true, turn: func(f *fleet.Fleet) error { return f.SetThrottle(n) }}
}

func TestAGoodChangeHealsTheMetrics(t *testing.T) {
	t.Parallel()
	well := map[string][]bound{
		"high-ttft":     {{ttft, 0, 2.5}, {queue, 0, 5}, {waiting, ever, 5}},
		"queue-backlog": {{ttft, 0, 2.5}, {queue, 0, 5}, {waiting, ever, 5}},
		"swapping":      {{preempt, ever, 1}, {waiting, ever, 5}, {ttft, 0, 2.5}},
		"cache-full":    {{kvHigh, 0, .95}, {waiting, ever, 5}, {ttft, 0, 2.5}},
		"abort-spike":   {{started + " - " + finished, -100, 250}, {ttft, 0, 2.5}, {waiting, ever, 5}},
	}
	cures := map[string][]remedy{
		"high-ttft":     {replicas(3), throttle(128)},
		"queue-backlog": {replicas(4), throttle(90)},
		"swapping":      {replicas(3), throttle(110)},
		"cache-full":    {replicas(3), throttle(120)},
		"abort-spike":   {replicas(4), throttle(90)},
	}
	for scenario, remedies := range cures {
		for _, r := range remedies {
			t.Run(scenario+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				h := watch(t, fleet.Options{Scenario: scenario}, "vllm-alerts.yaml")
				h.pass(10 * time.Minute)
				if len(h.fired()) == 0 {
					t.Fatal("nothing fired before the change")
				}
				if err := r.turn(h.fleet); err != nil {
					t.Fatal(err)
				}
				h.pass(12 * time.Minute)
				for _, b := range well[scenario] {
					h.check(fleet.V1, b)
				}
				h.fired()
				h.pass(3 * time.Minute)
				if names := h.fired(); len(names) > 0 {
					t.Errorf("still firing: %q", names)
				}
			})
		}
	}
}

func TestTooSmallAChangeDoesNotHeal(t *testing.T) {
	t.Parallel()
	h := watch(t, fleet.Options{Scenario: "high-ttft", Replicas: 4}, "")
	h.pass(10 * time.Minute)
	if err := h.fleet.SetThrottle(1024); err != nil {
		t.Fatal(err)
	}
	h.pass(10 * time.Minute)
	h.check(fleet.V1, bound{ttft, 5, none})
}

func TestFewerReplicasMakeItWorse(t *testing.T) {
	t.Parallel()
	h := watch(t, fleet.Options{Scenario: "healthy", Replicas: 3}, "")
	h.pass(10 * time.Minute)
	h.check(fleet.V1, bound{ttft, 0, .5})
	if err := h.fleet.SetReplicas(1); err != nil {
		t.Fatal(err)
	}
	h.pass(10 * time.Minute)
	h.check(fleet.V1, bound{ttft, 2.5, none})
}

// A smaller token budget: tokens come more evenly, and the memory that its activations do not need becomes KV cache.
func TestASmallerTokenBudgetSmoothsTokensAndGrowsTheCacheALittle(t *testing.T) {
	t.Parallel()
	slowest := `histogram_quantile(0.999, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m])))`
	longPrompts, err := fleet.ScenarioNamed("healthy")
	if err != nil {
		t.Fatal(err)
	}
	longPrompts.Load.Prompt, longPrompts.Load.Rate, longPrompts.Engine.KVTokens = 8000, 1, 200_000
	with := func(args ...string) (itl, kvTokens float64) {
		h := watch(t, fleet.Options{Args: args}, "")
		if err := h.fleet.Apply(longPrompts); err != nil {
			t.Fatal(err)
		}
		h.pass(10 * time.Minute)
		return h.value(slowest), float64(h.fleet.State().Replicas[0].KVTokens)
	}
	bigITL, bigKV := with("--max-num-batched-tokens=16384")
	smallITL, smallKV := with("--max-num-batched-tokens=2048")
	if smallITL > bigITL/2 {
		t.Errorf("p99.9 between tokens is %g s with 2048 and %g s with 16384, want less than half", smallITL, bigITL)
	}
	if grown := smallKV - bigKV; grown <= 0 || grown > .1*bigKV {
		t.Errorf("the cache has %g tokens with 2048 and %g with 16384, want a little more", smallKV, bigKV)
	}
}

func TestTheWorseSwitchMakesEachChangeHurtAndTheWayBackHeal(t *testing.T) {
	t.Parallel()
	args := func(list ...string) func(*fleet.Fleet) error {
		return func(f *fleet.Fleet) error { return f.SetArgs(list) }
	}
	for name, c := range map[string]struct{ there, back func(*fleet.Fleet) error }{
		"replicas": {replicas(3).turn, replicas(2).turn},
		"throttle": {throttle(90).turn, throttle(0).turn},
		"rate limit": {func(f *fleet.Fleet) error { return f.SetRateLimit(4) }, func(f *fleet.Fleet) error {
			return f.SetRateLimit(0)
		}},
		"arguments": {args("--max-num-batched-tokens=4096"), args()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := watch(t, fleet.Options{Scenario: "queue-backlog"}, "")
			h.pass(5 * time.Minute)
			h.fleet.SetWorse(true)
			h.pass(time.Minute)
			before, finishedBefore := h.value(itl), h.value(finished)
			if err := c.there(h.fleet); err != nil {
				t.Fatal(err)
			}
			if !h.fleet.State().Hurt {
				t.Error("the state does not say that the change hurts")
			}
			h.pass(7 * time.Minute)
			if after := h.value(itl); after < 1.5*before {
				t.Errorf("p95 between tokens went from %g s to %g s, want much worse", before, after)
			}
			if after := h.value(finished); after > .8*finishedBefore {
				t.Errorf("finished requests went from %g to %g, want fewer", finishedBefore, after)
			}
			if err := c.back(h.fleet); err != nil {
				t.Fatal(err)
			}
			if h.fleet.State().Hurt {
				t.Error("the state says that the change hurts, but it is gone")
			}
			h.pass(7 * time.Minute)
			if after := h.value(itl); after > 1.2*before {
				t.Errorf("p95 between tokens is %g s after the way back, was %g s", after, before)
			}
		})
	}
}

func TestWorseTurnedOffLetsChangesHealAgain(t *testing.T) {
	t.Parallel()
	h := watch(t, fleet.Options{Scenario: "high-ttft"}, "")
	h.fleet.SetWorse(true)
	h.pass(5 * time.Minute)
	if err := h.fleet.SetReplicas(4); err != nil {
		t.Fatal(err)
	}
	h.pass(5 * time.Minute)
	h.check(fleet.V1, bound{ttft, 5, none})
	h.fleet.SetWorse(false)
	h.pass(10 * time.Minute)
	h.check(fleet.V1, bound{ttft, 0, 2.5})
}
