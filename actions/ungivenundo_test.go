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

// What the undo would take away must be what the step has added.
func TestAnAddedFlagThatSomebodyElseTouchedIsNotTakenAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, outcome, want string
		args                []string
	}{
		{"another value", "drift", "12288", append(ungiven(), "--max-num-batched-tokens=12288")},
		{"a second one behind it", "drift", "12288", append(ungiven(), "--max-num-batched-tokens=4096",
			"--max_num_batched_tokens=12288")},
		{
			"a second one before it", "refused", "given 2 times",
			append([]string{"--max-num-batched-tokens=2048"}, append(ungiven(), "--max-num-batched-tokens=4096")...),
		},
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

// A patch cannot test that something is absent, so the version of the object stands for it, and that changes with
// each word of a controller. A change that is not of the value is no drift: it is looked at again, a few times.
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
