package actions_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// unset is a pool that runs with vLLM's own default, which the configuration says.
func unset(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.pool.Knobs.MaxNumBatchedTokens.Default = 8192
	b.serve(2, nil, ungiven())
	return b
}

// arguments are those of the container that runs vLLM.
func (b *bench) arguments() any {
	b.t.Helper()
	spec := b.get(deployments).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return spec["containers"].([]any)[1].(map[string]any)["args"]
}

// setArgs is somebody else's change of the arguments.
func (b *bench) setArgs(args ...string) {
	b.t.Helper()
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	b.patch(deployments, `{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"envoy:v1"},{"name":"vllm","image":"vllm/vllm-openai:v0.29.0","args":[`+
		strings.Join(quoted, ",")+`]}]}}}}`)
}

func TestAFlagThatIsNotGivenSaysWhereItsValueIsFromAndLeavesTheOtherArgumentsByteForByte(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	if !strings.Contains(s.Cost, "vLLM uses 8192 then is what knobs.max_num_batched_tokens.default says") {
		t.Errorf("cost: %s", s.Cost)
	}
	if want := "\n+--max-num-batched-tokens=4096"; !strings.HasSuffix(s.Diff, want) || strings.Contains(s.Diff, "\n-") && !strings.HasPrefix(s.Diff, "---") {
		t.Errorf("diff: %s", s.Diff)
	}
	b.do(s, incident.OpApply)
	if d := cmp.Diff(anys(append(ungiven(), "--max-num-batched-tokens=4096")), b.arguments()); d != "" {
		t.Errorf("args (-want +got):\n%s", d)
	}
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(ungiven()), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
}

// What an absent flag means depends on version, model and GPU: without a word of the configuration the bot does not guess, and a word that cannot be true
// does not help.
func TestAFlagThatIsNotGivenIsRefusedWhenItsMeaningIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		says          int64
		command, args []string
		want          string
	}{
		{"nothing is said", 0, nil, ungiven(), "without knobs.max_num_batched_tokens.default"},
		{"fewer than the sequences", 2048, nil, []string{"--max-num-seqs=4096"}, "does not start with less than its --max-num-seqs"},
		{"less than a context in one piece", 2048, nil, []string{"--no-enable-chunked-prefill", "--max-model-len=8192"}, "takes at least its --max-model-len"},
		{"the arguments are inside of the image", 8192, nil, nil, "inside of the image"},
		{"a shell", 8192, []string{"/bin/sh", "-c"}, []string{"vllm serve m"}, "shell"},
		{"a variable may bring it", 8192, nil, []string{"$(MORE)"}, "variable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.pool.Knobs.MaxNumBatchedTokens.Default = tt.says
			b.serve(2, tt.command, tt.args)
			_, err := b.bot.Propose(t.Context(), b.pool, double)
			if outcome(err) != "refused" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if tt.says == 0 && !strings.Contains(hintOf(err), "logs at its start") {
				t.Errorf("the hint does not help: %q", hintOf(err))
			}
		})
	}
}

func TestADefaultThatIsNoLongerConfiguredStopsTheStepAndNotItsUndo(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	b.pool.Knobs.MaxNumBatchedTokens.Default = 0
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "refused" || !strings.Contains(err.Error(), "knobs.max_num_batched_tokens.default") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		t.Fatalf("written: %v", got)
	}
	b.pool.Knobs.MaxNumBatchedTokens.Default = 8192
	b.do(s, incident.OpApply)
	b.pool.Knobs.MaxNumBatchedTokens = nil
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(ungiven()), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
}

// What the undo would take away must be what the step has added.
func TestAnAddedFlagThatSomebodyElseTouchedIsNotTakenAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, outcome, want string
		args                []string
	}{
		{"another value", "drift", "12288", append(ungiven(), "--max-num-batched-tokens=12288")},
		{"a second one behind it", "drift", "12288", append(ungiven(), "--max-num-batched-tokens=4096", "--max_num_batched_tokens=12288")},
		{"a second one before it", "refused", "given 2 times", append([]string{"--max-num-batched-tokens=2048"}, append(ungiven(), "--max-num-batched-tokens=4096")...)},
		{"taken away", "drift", "absent", ungiven()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := unset(t)
			s := b.propose(halve)
			b.do(s, incident.OpApply)
			b.setArgs(tt.args...)
			err := b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "w.undo")
			if outcome(err) != tt.outcome || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("undo: %v", err)
			}
			if d := cmp.Diff(anys(tt.args), b.arguments()); d != "" {
				t.Errorf("args (-want +got):\n%s", d)
			}
			if got := b.writes(kubetest.Bot); len(got) != 1 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

// Another argument that somebody has changed meanwhile is theirs: the undo leaves it.
func TestTheUndoOfAnAddedFlagKeepsWhatOthersChanged(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	b.do(s, incident.OpApply)
	theirs := append([]string{"--seed=1"}, ungiven()...)
	b.setArgs(append(theirs, "--max-num-batched-tokens", "4096", "--last")...)
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(append(theirs, "--last")), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
}

// A patch cannot test that something is absent, so the version of the object stands for it, and that changes with each word of a controller. A change that
// is not of the value is no drift: it is looked at again, a few times.
func TestAWriteOfWhatIsAbsentOutlivesAChangeOfSomethingElse(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]string{1: "applied", 3: "applied", 9: "drift"} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			t.Parallel()
			b := unset(t)
			s := b.propose(halve)
			n := 0
			busy := b.as(kubetest.Bot, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				if n++; n <= times {
					if err := b.tryPatch(r.Context(), deployments, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n)); err != nil {
						return nil, errors.Join(err, r.Body.Close())
					}
				}
				return next.RoundTrip(r)
			}))
			err := busy.Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if outcome(err) != want {
				t.Errorf("apply: %v", err)
			}
			if n > 4 {
				t.Errorf("it was tried %d times", n)
			}
			if got := b.get(deployments).GetAnnotations()[actions.Annotation]; (got == "w1") != (want == "applied") {
				t.Errorf("annotation %q", got)
			}
		})
	}
}
