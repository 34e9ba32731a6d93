package actions_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// meddling is somebody else's change of the value that a step is about.
type meddling struct {
	name  string
	make  func(b *bench)
	req   incident.StepRequest
	in    schema.GroupVersionResource
	merge string
	got   string
}

func meddlings() []meddling {
	return []meddling{
		{
			"replicas", func(b *bench) { b.serve(2, nil, served()) }, addOne, deployments, `{"spec":{"replicas":5}}`, "5",
		},
		{
			"minimum of a HorizontalPodAutoscaler", func(b *bench) {
				b.serve(2, nil, served())
				b.create(hpas, hpa(2, 6))
			}, addOne, hpas, `{"spec":{"minReplicas":1}}`, "1",
		},
		{
			"absent minimum of a ScaledObject", func(b *bench) {
				b.serve(2, nil, served())
				b.create(scaledObjs, scaledObject(nil))
			}, addOne, scaledObjs, `{"spec":{"minReplicaCount":1}}`, "1",
		},
		{
			"argument", func(b *bench) { b.serve(2, nil, served()) }, halve, deployments,
			`{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"envoy:v1"},` +
				`{"name":"vllm","image":"vllm/vllm-openai:v0.29.0",` +
				`"args":["--max-num-seqs=256","--enable-chunked-prefill","--max-num-batched-tokens=12288"]}]}}}}`, "12288",
		},
		{
			"argument that was not given", func(b *bench) {
				b.tokens().Default = 8192
				b.serve(2, nil, ungiven())
			}, halve, deployments,
			`{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"envoy:v1"},` +
				`{"name":"vllm","image":"vllm/vllm-openai:v0.29.0",` +
				`"args":["--max-num-seqs=256","--enable-chunked-prefill","--max_num_batched_tokens","12k"]}]}}}}`, "12k",
		},
		{
			"limit of a circuit breaker", func(b *bench) { b.create(policies, policy(parallel(184))) }, shed, policies,
			`{"spec":{"circuitBreaker":{"maxParallelRequests":300}}}`, "300",
		},
		{
			"absent circuit breaker", func(b *bench) { b.create(policies, policy(nil)) }, shed, policies,
			`{"spec":{"circuitBreaker":{"maxParallelRequests":300}}}`, "300",
		},
	}
}

func TestAValueThatSomebodyElseChangedIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range meddlings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			b.patch(tt.in, tt.merge)
			check := func(what string, err error) {
				t.Helper()
				var drift *incident.DriftError
				if !errors.As(err, &drift) || drift.Got.Text != tt.got {
					t.Errorf("%s: %v", what, err)
				}
			}
			check("recheck", b.bot.Recheck(t.Context(), b.pool, s))
			check("apply", b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"))
			check("undo", b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "w2"))
			checkObserved(t, b, s, incident.OpApply, "w1", incident.Set(tt.got), false)
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestAValueThatSomebodyElseChangesBetweenTheLookAndTheWriteIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range meddlings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			late := b.as(kubetest.Bot, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				if err := b.tryPatch(r.Context(), tt.in, tt.merge); err != nil {
					return nil, err
				}
				return next.RoundTrip(r)
			}))
			err := late.Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			var drift *incident.DriftError
			if !errors.As(err, &drift) || drift.Got.Text != tt.got {
				t.Errorf("apply: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", incident.Set(tt.got), false)
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestAnObjectThatWasDeletedOrMadeAgainIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			was := b.get(tt.in)
			b.remove(tt.in)
			again := func(when string) {
				t.Helper()
				for what, err := range map[string]error{
					"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply,
						"w1"),
					"undo": b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "w2"),
				} {
					var drift *incident.DriftError
					if !errors.As(err, &drift) || drift.Why == "" {
						t.Errorf("%s, %s: %v", when, what, err)
					}
				}
				o, err := b.bot.Observe(t.Context(), b.pool, s, incident.OpApply, "w1", nil)
				if err != nil || o.Ours || o.Note == "" {
					t.Errorf("%s, observe: %+v, %v", when, o, err)
				}
				r, err := b.bot.Rollout(t.Context(), b.pool, s, incident.OpApply)
				if err != nil || r.State != incident.RolloutFailed || r.Reversal == nil || r.Reversal.Gone == "" {
					t.Errorf("%s, rollout: %+v, %v", when, r, err)
				}
				if moved, err := b.bot.Reversal(t.Context(), b.pool, s, incident.OpApply); err != nil || moved == nil ||
					moved.Gone == "" {
					t.Errorf("%s, look: %+v, %v", when, moved, err)
				}
			}
			again("deleted")
			was.SetUID("")
			was.SetResourceVersion("")
			was.SetManagedFields(nil)
			b.create(tt.in, was.Object)
			again("made again")
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestAnAutoscalerThatCameSinceTheProposalIsDrift(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	s := b.propose(addOne)
	b.create(hpas, hpa(2, 6))
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
		"undo": b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "w2"),
	} {
		if outcome(err) != "drift" || !strings.Contains(err.Error(), "HorizontalPodAutoscaler") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		t.Errorf("written: %v", got)
	}
}

func TestALostAnswerIsUnknownAndTheWriteIsRecognised(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			err := b.as(kubetest.Bot, through(cutAfter)).Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if outcome(err) != "unknown" || !errors.Is(err, errCut) {
				t.Fatalf("apply: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", tt.to, true)
			if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
				t.Errorf("the same write again: %v", err)
			}
			if d := cmp.Diff([]string{tt.wrote}, b.writes(kubetest.Bot)); d != "" {
				t.Errorf("writes (-want +got):\n%s", d)
			}
		})
	}
}

// A write that was accepted is never told as "nothing was written", whatever its answer says.
func TestAnAcceptedWriteWhoseAnswerCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	s := b.propose(halve)
	garble := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		body = bytes.ReplaceAll(body, []byte("--max-num-batched-tokens=4096"), []byte("--max-num-batched-tokens=$(TOKENS)"))
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return resp, nil
	}
	err := b.as(kubetest.Bot, through(garble)).Do(t.Context(), b.pool, s, incident.OpApply, "w1")
	if outcome(err) != "unknown" || !strings.Contains(err.Error(), "comes from a variable") {
		t.Errorf("apply: %v", err)
	}
	if d := cmp.Diff([]string{"patch deployments"}, b.writes(kubetest.Bot)); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
	checkObserved(t, b, s, incident.OpApply, "w1", incident.Set("4096"), true)
}

// What cannot be read is not absent.
func TestAnUndoThatTookTheFlagAwayIsNotSeenInArgumentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	b.do(s, incident.OpApply)
	if err := b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "w.undo"); err != nil {
		t.Fatalf("undo: %v", err)
	}
	checkObserved(t, b, s, incident.OpUndo, "w.undo", incident.Value{}, true)
	b.setArgs(append(ungiven(), "--max-num-batched-tokens=$(TOKENS)")...)
	o, err := b.bot.Observe(t.Context(), b.pool, s, incident.OpUndo, "w.undo", nil)
	if err != nil || o.Ours || !strings.Contains(o.Note, "comes from a variable") {
		t.Errorf("%+v, %v", o, err)
	}
}

// The circuitBreaker came with the step and goes with it, but not with a limit in it that somebody has added since.
func TestALimitThatIsAddedBetweenTheLookAndTheUndoIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(nil))
	s := b.propose(shed)
	b.do(s, incident.OpApply)
	sent := 0
	late := b.as(kubetest.Bot, through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if sent++; sent == 1 {
			if err := b.tryPatch(r.Context(), policies, `{"spec":{"circuitBreaker":{"maxPendingRequests":77}}}`); err != nil {
				return nil, errors.Join(err, r.Body.Close())
			}
		}
		return next.RoundTrip(r)
	}))
	if err := late.Do(t.Context(), b.pool, s, incident.OpUndo, "w.undo"); err != nil {
		t.Errorf("undo: %v", err)
	}
	breaker, _, err := unstructured.NestedMap(b.get(policies).Object, "spec", "circuitBreaker")
	if err != nil || breaker["maxPendingRequests"] != int64(77) || breaker["maxParallelRequests"] == int64(512) {
		t.Errorf("%v, %v", breaker, err)
	}
}

func TestALostRequestIsUnknownAndTheWriteCanBeMade(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			err := b.as(kubetest.Bot, through(cutBefore)).Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if outcome(err) != "unknown" {
				t.Fatalf("apply: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", tt.from, false)
			if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
				t.Errorf("the write: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", tt.to, true)
		})
	}
}

func TestAnAnswerThatPromisesNothingIsUnknownAndTheWriteIsSentOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(parallel(184)))
	s := b.propose(shed)
	for _, code := range []int{
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout,
	} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			sent := 0
			bot := b.as(kubetest.Bot, through(func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
				sent++
				return &http.Response{
					StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Retry-After": {"0"}}, Body: http.NoBody,
					Request: r,
				}, r.Body.Close()
			}))
			err := bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1")
			if outcome(err) != "unknown" || sent != 1 {
				t.Errorf("sent %d times: %v", sent, err)
			}
		})
	}
}
