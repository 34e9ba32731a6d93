package fleet

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func randomScenario(rnd *rand.Rand) Scenario {
	s := healthy()
	s.Name = "random"
	s.Load = Load{
		Rate: rnd.Float64() * 20, Prompt: 1 + rnd.IntN(3000), Generation: 1 + rnd.IntN(600), Spread: rnd.Float64() * .9,
		CachedShare:        rnd.Float64() * .9,
		FirstTokenPatience: time.Duration(rnd.IntN(30)) * time.Second, Patience: time.Duration(rnd.IntN(60)) * time.Second,
	}
	s.Engine.MaxNumSeqs = 1 + rnd.IntN(256)
	s.Engine.MaxNumBatchedTokens = s.Engine.MaxNumSeqs + rnd.IntN(8192)
	s.Engine.KVTokens = 20_000 + rnd.IntN(100_000)
	s.Engine.Watermark = rnd.Float64() * .1
	s.Fault = []Fault{NoFault, NoFault, NoFault, Stalled, Wedged}[rnd.IntN(5)]
	s.FaultAfter = time.Duration(rnd.IntN(60)) * time.Second
	return s
}

func TestAStepKeepsTheBudgetAndTheSlots(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		s := randomScenario(rnd)
		e := &engine{tally: newTally(vllm.V1), gone: func(*request, ending) {}}
		e.configure(s.Engine)
		for k := range 1 + rnd.IntN(400) {
			e.enqueue(s.Load.request(k, 0, rnd, s.longest()))
		}
		for range 20 {
			batch, _ := e.schedule()
			tokens := 0
			for _, w := range batch {
				tokens += w.tokens
				if w.tokens < 1 {
					t.Fatalf("a request of the batch computes %d tokens", w.tokens)
				}
			}
			if tokens > s.Engine.MaxNumBatchedTokens || len(e.running) > s.Engine.MaxNumSeqs {
				t.Fatalf("%d tokens of %d, %d requests of %d", tokens, s.Engine.MaxNumBatchedTokens, len(e.running),
					s.Engine.MaxNumSeqs)
			}
			if e.used > e.blocks {
				t.Fatalf("%d blocks of %d", e.used, e.blocks)
			}
			e.step()
		}
	}
}

func TestHowTimeIsCutIntoCallsChangesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			whole, pieces := played(t, s.Name, 90*time.Second), played(t, s.Name, 137*time.Millisecond)
			if diff := cmp.Diff(whole, pieces, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("one call (-) and many (+):\n%s", diff)
			}
		})
	}
}

// played runs a scenario with changes at fixed times, each span cut into pieces, and returns all that was written.
func played(t *testing.T, scenario string, piece time.Duration) [][]*tally {
	t.Helper()
	f, err := New(Options{Scenario: scenario})
	if err != nil {
		t.Fatal(err)
	}
	pass := func(d time.Duration) {
		for ; d > piece; d -= piece {
			f.Advance(piece)
		}
		f.Advance(d)
	}
	pass(90 * time.Second)
	if err := f.SetReplicas(3); err != nil {
		t.Fatal(err)
	}
	pass(45 * time.Second)
	if err := f.SetThrottle(100); err != nil {
		t.Fatal(err)
	}
	pass(45 * time.Second)
	var out [][]*tally
	for _, r := range f.replicas {
		var ranks []*tally
		for _, e := range r.ranks {
			ranks = append(ranks, e.tally)
		}
		out = append(out, ranks)
	}
	return out
}

func TestAHistogramCountsAsPrometheusDoes(t *testing.T) {
	t.Parallel()
	h := newHistogram([]float64{1, 2, 5})
	for _, v := range []float64{0, 1, 1.5, 2, 5, 5.1, 100} {
		h.observe(v)
	}
	if diff := cmp.Diff(map[float64]uint64{1: 2, 2: 4, 5: 5}, h.cumulative()); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
	if h.count != 7 || h.sum != 114.6 {
		t.Errorf("count %d and sum %g, want 7 and 114.6", h.count, h.sum)
	}
}

func TestQueueTimeIsUntilTheFirstSchedulingAndPreemptionShowsBetweenTokens(t *testing.T) {
	t.Parallel()
	e := &engine{tally: newTally(vllm.V1), gone: func(*request, ending) {}}
	e.configure(Engine{KVTokens: 320, MaxNumSeqs: 8, MaxNumBatchedTokens: 1000, Cost: Cost{Step: time.Second}})
	// Two requests whose prompts fit and whose answers do not: 150 + 150 tokens at first, 200 + 200 in the end, of 320.
	e.enqueue(&request{prompt: 150, wanted: 50, maxTokens: 100})
	e.enqueue(&request{prompt: 150, wanted: 50, maxTokens: 100})
	e.advance(5 * time.Minute)
	if e.tally.finished[reasonStop] != 2 {
		t.Fatalf("finished: %v, want both", e.tally.finished)
	}
	if e.tally.preemptions == 0 {
		t.Error("nothing was preempted")
	}
	if e.tally.queue.sum != 0 {
		t.Errorf("queue times sum up to %g s, want 0: both began at once", e.tally.queue.sum)
	}
	longest := e.tally.itl.count - e.tally.itl.cumulative()[5]
	if longest == 0 {
		t.Error("no wait of more than 5 s between two tokens, although one request was thrown out")
	}
	if e.used != 0 {
		t.Errorf("%d blocks are still held", e.used)
	}
}

func TestArgumentsAreReadAsVLLMReadsThem(t *testing.T) {
	t.Parallel()
	base := gpu()
	for _, c := range []struct {
		args   string
		tokens int
		seqs   int
	}{
		{"", 8192, 64},
		{"--max-num-batched-tokens 4096", 4096, 64},
		{"--max-num-batched-tokens=4096", 4096, 64},
		{"--max_num_batched_tokens=4096", 4096, 64},
		{"--max_num_batched_tokens 4096", 4096, 64},
		{"--max-num-batched-tokens=4096 --max-num-batched-tokens 2048", 2048, 64}, // the last one wins
		{"--max-num-batched-tokens 8k", 8000, 64},
		{"--max-num-batched-tokens 8K", 8192, 64},
		{"--max-num-batched-tokens 25.6k", 25600, 64},
		{"--max-num-seqs 128 --model x --max-num-batched-tokens 2048", 2048, 128},
		{"serve model --max-model-len=8192 --enable-prefix-caching", 8192, 64},
	} {
		got, err := base.withArgs(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		if got.MaxNumBatchedTokens != c.tokens || got.MaxNumSeqs != c.seqs {
			t.Errorf("%q gives %d tokens and %d requests, want %d and %d", c.args, got.MaxNumBatchedTokens, got.MaxNumSeqs,
				c.tokens, c.seqs)
		}
		if want := base.KVTokens + base.MaxNumBatchedTokens - c.tokens; got.KVTokens != want {
			t.Errorf("%q gives a cache of %d tokens, want %d", c.args, got.KVTokens, want)
		}
	}
}

func TestWithoutPrefixCachingNothingIsAskedOrFound(t *testing.T) {
	t.Parallel()
	for args, asked := range map[string]bool{
		"": true, "--no-enable-prefix-caching": false, "--no_enable_prefix_caching --max-num-seqs=8": false,
		"--no-enable-prefix-caching --enable-prefix-caching": true,
	} {
		spec, err := gpu().withArgs(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		e := &engine{tally: newTally(vllm.V1), gone: func(*request, ending) {}, now: time.Hour}
		e.configure(spec)
		for begin := range 2 { // the second one finds what the first one left
			at := time.Hour + time.Duration(begin)*time.Minute
			e.enqueue(&request{arrived: at, prompt: 1000, shared: 496, wanted: 5, maxTokens: 5})
			e.advance(at + time.Minute)
		}
		if e.tally.finished[reasonLength] != 2 || (e.tally.queried > 0) != asked || (e.tally.hit > 0) != asked {
			t.Errorf("%q: %v finished, %d asked, %d found", args, e.tally.finished, e.tally.queried, e.tally.hit)
		}
	}
}

func TestArgumentsThatVLLMRefusesAreRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--max-num-batched-tokens 32": "max_num_batched_tokens (32) must be greater than or equal to max_num_seqs (64)",
		"--max-num-seqs 9000": "max_num_batched_tokens (8192) must be greater than or equal to " +
			"max_num_seqs (9000)",
		"--max-num-batched-tokens":        "expected one argument",
		"--max-num-batched-tokens many":   `"many" is not a number`,
		"--max-num-batched-tokens 8.5K":   `"8.5K" is not a whole number`,
		"--max-num-batched-tokens -4":     `"-4" is not a whole number`,
		"--max-num-batched-tokens 0":      `"0" is not a whole number`,
		"--max-num-batched-tokens 200000": "no available memory for the cache blocks",
		"--max-num-seqs 0":                "0 is less than 1",
		"--watermark 1.5":                 "1.5 is not in [0, 1)",
		"--watermark NaN":                 "NaN is not in [0, 1)",
	} {
		_, err := gpu().withArgs(strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		"--max-num-batched-tokens=4096", "--max_num_seqs 8", "--max-num-batched-tokens 8K",
		"--watermark=.1", "--max-num-batched-tokens",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := gpu().withArgs(strings.Fields(line))
		if err != nil {
			return
		}
		if e.MaxNumSeqs < 1 || e.MaxNumBatchedTokens < e.MaxNumSeqs || e.KVTokens < 1 ||
			!(e.Watermark >= 0 && e.Watermark < 1) {
			t.Errorf("%q gives an engine that cannot run: %+v", line, e)
		}
	})
}
