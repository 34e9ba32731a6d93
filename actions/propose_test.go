package actions_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// beforeDryRun does something before each dry-run is sent.
type beforeDryRun struct {
	next http.RoundTripper
	do   func(context.Context) error
}

// RoundTrip implements http.RoundTripper.
func (b beforeDryRun) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && r.URL.Query().Has("dryRun") {
		if err := b.do(r.Context()); err != nil {
			return nil, errors.Join(err, r.Body.Close())
		}
	}
	return b.next.RoundTrip(r)
}

// Somebody changes the replicas while a step is worked out. Once, the step is worked out again from what is there
// then; always, it is an error that says so.
func TestAProposalIsWorkedOutAgainWhenTheObjectMoves(t *testing.T) {
	t.Parallel()
	for times, want := range map[int64]string{1: "applied", 9: "unknown"} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.create(deployments, deployment(2, nil, served()))
			var n atomic.Int64
			bot := b.as(kubetest.Bot, func(next http.RoundTripper) http.RoundTripper {
				return beforeDryRun{next, func(ctx context.Context) error {
					if now := n.Add(1); now <= times {
						return b.tryPatch(ctx, deployments, fmt.Sprintf(`{"spec":{"replicas":%d}}`, 2+now))
					}
					return nil
				}}
			})
			s, err := bot.Propose(t.Context(), b.pool, addOne)
			if outcome(err) != want {
				t.Fatalf("%v", err)
			}
			if err == nil && (s.From != incident.Set("3") || s.To != incident.Set("4") || !s.Executable()) {
				t.Errorf("from %s to %s, refused for %q", s.From, s.To, refusals(s))
			}
			if n.Load() > 3 {
				t.Errorf("it was tried %d times", n.Load())
			}
		})
	}
}

// The check before a write rests on the object's version where the flag is not given. Something else of the object
// changes once: it is looked at again.
func TestACheckIsMadeAgainWhenTheObjectMoves(t *testing.T) {
	t.Parallel()
	for times, want := range map[int64]string{1: "applied", 9: "unknown"} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = 8192
			b.serve(2, nil, ungiven())
			s := b.propose(halve)
			var n atomic.Int64
			bot := b.as(kubetest.Bot, func(next http.RoundTripper) http.RoundTripper {
				return beforeDryRun{next, func(ctx context.Context) error {
					if now := n.Add(1); now <= times {
						return b.tryPatch(ctx, deployments, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, now))
					}
					return nil
				}}
			})
			if err := bot.Recheck(t.Context(), b.pool, s); outcome(err) != want || n.Load() > 3 {
				t.Errorf("after %d tries: %v", n.Load(), err)
			}
		})
	}
}

func TestAContextThatHasEndedGivesAnErrorAndNoStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(deployments, deployment(2, nil, served()))
	s := b.propose(addOne)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, proposed := b.bot.Propose(ctx, b.pool, addOne)
	_, observed := b.bot.Observe(ctx, b.pool, s, incident.OpApply, "w1", nil)
	_, rolled := b.bot.Rollout(ctx, b.pool, s, incident.OpApply)
	_, marked := b.bot.Mark(ctx, b.pool, s)
	_, looked := b.bot.Reversal(ctx, b.pool, s, incident.OpApply)
	for name, err := range map[string]error{
		"mark": marked, "look": looked, "propose": proposed, "observe": observed, "rollout": rolled,
		"recheck": b.bot.Recheck(ctx, b.pool, s), "apply": b.bot.Do(ctx, b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "unknown" || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
