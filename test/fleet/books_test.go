package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Whatever the load, the arguments and the changes: nothing is lost, nothing is counted twice, no limit is broken.
func TestTheModelKeepsItsBooksUnderAnyLoad(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f, ended := randomFleet(t, rnd)
		for range 60 {
			f.Advance(time.Duration(1+rnd.IntN(5000)) * time.Millisecond)
			checkBooks(t, f, *ended)
			if rnd.IntN(10) == 0 {
				turnSomething(t, f, rnd)
				checkBooks(t, f, *ended)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func randomFleet(t *testing.T, rnd *rand.Rand) (f *Fleet, ended *int) {
	t.Helper()
	ended = new(int)
	f, err := New(Options{
		Replicas: rnd.IntN(4), Ranks: 1 + rnd.IntN(2), CountsAborts: rnd.IntN(2) == 0, Seed: rnd.Uint64(),
		StartUp: time.Duration(rnd.IntN(2)*rnd.IntN(20)) * time.Second, NoSurge: rnd.IntN(2) == 0,
		Observe: func(Outcome) { *ended++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(busyScenario(rnd)); err != nil {
		t.Fatal(err)
	}
	return f, ended
}

// busyScenario has all kinds of clients.
func busyScenario(rnd *rand.Rand) Scenario {
	s := randomScenario(rnd)
	s.Load.Random, s.Load.Prefixes, s.Load.Tail = rnd.IntN(2) == 0, rnd.IntN(20), float64(rnd.IntN(2))*.6
	s.Load.Retries, s.Load.RetryAfter = rnd.IntN(4), time.Second
	if rnd.IntN(3) == 0 {
		s.Load.Burst = Burst{Every: 20 * time.Second, For: 3 * time.Second, Factor: 4}
	}
	return s
}

// randomLevers break all kinds of things.
func randomLevers(rnd *rand.Rand) Levers {
	l := Levers{
		Traffic: rnd.Float64() * 3, Prompt: rnd.Float64() * 3, Output: rnd.Float64() * 3, PrefixMiss: rnd.Float64(),
		GiveUpAfter: Duration(rnd.IntN(2000)) * Duration(time.Millisecond),
		AllPods:     PodLever{Slow: rnd.Float64() * 4, KVHeld: rnd.Float64() * .9},
	}
	for i := range rnd.IntN(3) {
		if l.Pods == nil {
			l.Pods = map[string]PodLever{}
		}
		l.Pods[fmt.Sprintf("llama-70b-%d", i)] = PodLever{Fault: []Fault{NoFault, Stalled, Wedged}[rnd.IntN(3)]}
	}
	return l
}

func turnSomething(t *testing.T, f *Fleet, rnd *rand.Rand) {
	t.Helper()
	var err error
	switch rnd.IntN(10) {
	case 0:
		err = f.SetReplicas(rnd.IntN(5))
	case 1:
		err = f.SetThrottle(rnd.IntN(200))
	case 2:
		err = f.SetRateLimit(float64(rnd.IntN(20)))
	case 3:
		err = f.SetArgs([]string{"--max-num-seqs", "8"})
	case 4:
		f.SetWorse(rnd.IntN(2) == 0)
	case 6:
		err = f.SetLevers(randomLevers(rnd))
	case 7:
		f.DropPrefixCaches()
	case 8:
		if pods := f.State().Replicas; len(pods) > 0 {
			err = []func(string) error{f.Crash, f.Delete}[rnd.IntN(2)](pods[rnd.IntN(len(pods))].Name)
		}
	case 9:
		var pods []Pod
		for i := range rnd.IntN(4) {
			pods = append(pods, Pod{Name: fmt.Sprintf("pod-%d", i), Args: [][]string{nil, {"--max-num-seqs=9"}}[rnd.IntN(2)]})
		}
		err = f.SetPods(pods)
	case 5:
		s := busyScenario(rnd)
		s.Engine.MaxNumSeqs, s.Engine.MaxNumBatchedTokens = 16, 4096
		err = f.Apply(s)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkBooks(t *testing.T, f *Fleet, ended int) {
	t.Helper()
	g := f.gateway
	inFlight := uint64(0)
	for _, r := range f.replicas {
		for _, e := range r.ranks {
			inFlight += uint64(e.inFlight())
			checkEngine(t, e)
		}
	}
	if begun := int(f.calls); begun != ended+int(inFlight)+len(f.comebacks) {
		t.Errorf("%d clients came, but %d are done, %d in flight and %d will come back", begun, ended, inFlight,
			len(f.comebacks))
	}
	if g.total != g.completed+g.destroyed+g.lost+inFlight {
		t.Errorf("%d admitted, but %d completed, %d cancelled, %d lost and %d in flight", g.total, g.completed, g.destroyed,
			g.lost, inFlight)
	}
}

func checkEngine(t *testing.T, e *engine) {
	t.Helper()
	e.settle()
	blocks := 0
	shared := map[*prefix]int{}
	for _, r := range append(append([]*request{}, e.running...), e.waiting...) {
		blocks += r.blocks - r.borrowed
		if r.from != nil {
			shared[r.from]++
		}
		if r.computed > r.known() || r.generated >= r.wanted || r.blocks*blockSize < r.computed {
			t.Errorf("a request of %d+%d tokens has %d computed, %d generated, %d blocks", r.prompt, r.wanted, r.computed,
				r.generated, r.blocks)
		}
	}
	for _, r := range e.waiting {
		if r.blocks != 0 || r.computed > 0 && r.preempted {
			t.Errorf("a waiting request holds %d blocks, %d tokens computed", r.blocks, r.computed)
		}
	}
	for p, users := range shared {
		blocks += p.blocks
		if p.users != users {
			t.Errorf("a prefix has %d users and counts %d", users, p.users)
		}
	}
	ended := uint64(0)
	for reason, n := range e.tally.finished {
		if reason != reasonAbort {
			ended += n
		}
	}
	tl := e.tally
	switch {
	case blocks != e.used:
		t.Errorf("requests hold %d blocks, the engine counts %d", blocks, e.used)
	case tl.kv < 0 || tl.kv > 1:
		t.Errorf("KV usage is %g", tl.kv)
	case ended != tl.e2e.count || ended != tl.queue.count || ended != tl.promptLen.count:
		t.Errorf("%d requests finished, %d end-to-end times, %d queue times, %d prompts", ended, tl.e2e.count, tl.queue.count,
			tl.promptLen.count)
	case tl.ttft.count < ended:
		t.Errorf("%d first tokens, %d finished", tl.ttft.count, ended)
	case tl.generated != tl.ttft.count+tl.itl.count:
		t.Errorf("%d tokens, %d first ones and %d later ones", tl.generated, tl.ttft.count, tl.itl.count)
	case tl.hit > tl.queried:
		t.Errorf("%d tokens were found in the prefix cache, %d were looked for", tl.hit, tl.queried)
	case tl.queue.sum < 0 || tl.prefill.sum < 0 || tl.decode.sum < 0:
		t.Errorf("negative times: queue %g, prefill %g, decode %g", tl.queue.sum, tl.prefill.sum, tl.decode.sum)
	}
}
