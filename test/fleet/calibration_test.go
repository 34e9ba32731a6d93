package fleet

import (
	"math"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// published are times to first token of a prompt of 4 Ki tokens on an idle engine with a 70B model on H100, by the part
// of the prompt that the prefix cache has. README.md names the source.
func published() map[float64]time.Duration {
	return map[float64]time.Duration{
		0: 1200 * time.Millisecond, .25: 920 * time.Millisecond, .5: 640 * time.Millisecond, .75: 360 * time.Millisecond,
		.95: 120 * time.Millisecond,
	}
}

func TestTheFirstTokenComesWhenThePublishedTimesSay(t *testing.T) {
	t.Parallel()
	for rate, want := range published() {
		got := firstToken(t, Llama70B(), rate)
		t.Logf("%.0f%% in the cache: %s, published %s", 100*rate, got.Round(time.Millisecond), want)
		if off := math.Abs(got.Seconds()/want.Seconds() - 1); off > .05 {
			t.Errorf("with %g%% of the prompt in the cache the first token comes after %s, published are %s", 100*rate, got,
				want)
		}
	}
}

// A budget of half the prompt needs one step more, and nothing else.
func TestASmallBudgetCostsAStepForEachFurtherChunk(t *testing.T) {
	t.Parallel()
	spec := Llama70B()
	whole := firstToken(t, spec, 0)
	spec.MaxNumBatchedTokens = 2048
	if got := firstToken(t, spec, 0) - whole; got < spec.Step || got > spec.Step+spec.PerSequence+time.Millisecond {
		t.Errorf("two chunks take %s more than one, want about a step of %s", got, spec.Step)
	}
}

// firstToken is the time to first token of a prompt of 4 Ki tokens of which another one left so much in the cache.
func firstToken(t *testing.T, spec Engine, hitRate float64) time.Duration {
	t.Helper()
	e := &engine{tally: newTally(vllm.V1), gone: func(*request, ending) {}}
	e.configure(spec)
	shared := int(4096*hitRate) / blockSize * blockSize
	ask := func(at time.Duration) float64 {
		before := e.tally.ttft.sum
		e.enqueue(&request{arrived: at, prompt: 4096, shared: shared, wanted: 2, maxTokens: 2})
		e.advance(at + time.Minute)
		return e.tally.ttft.sum - before
	}
	ask(0)
	took := ask(time.Minute)
	if got := e.tally.hit; got != uint64(shared) {
		t.Fatalf("%d tokens were found in the cache, want %d", got, shared)
	}
	return time.Duration(took * float64(time.Second))
}
