package actions_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// restore writes an earlier spec again, as a GitOps tool does. What else the object has by now stays,
// unless all is replaced.
func (b *bench) restore(r schema.GroupVersionResource, was *unstructured.Unstructured, manager string, all bool) {
	b.t.Helper()
	kubetest.Eventually(b.t, "the old spec", func(ctx context.Context) error {
		o, err := b.tryGet(ctx, r)
		if err != nil {
			return err
		}
		o.Object["spec"] = was.DeepCopy().Object["spec"]
		if all {
			o.SetAnnotations(was.GetAnnotations())
		}
		_, err = b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
		return err
	})
}

// label changes something else of the object.
func (b *bench) label(r schema.GroupVersionResource, manager string) {
	b.t.Helper()
	_, err := b.c.Dynamic(b.t).Resource(r).Namespace(b.ns).Patch(
		b.t.Context(), model, types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"llm"}}}`),
		metav1.PatchOptions{FieldManager: manager},
	)
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) mark(s incident.Step) *incident.Mark {
	b.t.Helper()
	m, err := b.bot.Mark(b.t.Context(), b.pool, s)
	if err != nil {
		b.t.Fatal(err)
	}
	return &m
}

func (b *bench) observe(s incident.Step, op incident.Op, id string, before *incident.Mark) incident.Observation {
	b.t.Helper()
	o, err := b.bot.Observe(b.t.Context(), b.pool, s, op, id, before)
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

// A write whose answer was lost took effect, and somebody set the value back before the bot looked. It must not be
// made again: not by a second Do either.
func TestAWriteThatWasSetBackIsNotTakenForOneThatDidNotHappen(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		for _, tt := range turns() {
			name := tt.name
			if replaced {
				name += ", the whole object replaced"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				tt.make(b)
				was := b.get(tt.in)
				s := b.propose(tt.req)
				before := b.mark(s)
				if err := b.as(kubetest.Bot, through(cutAfter)).Do(t.Context(), b.pool, s, incident.OpApply,
					"w1"); outcome(err) != "unknown" {
					t.Fatalf("apply: %v", err)
				}
				b.restore(tt.in, was, "argocd-controller", replaced)
				o := b.observe(s, incident.OpApply, "w1", before)
				carries := tt.wrote == "patch "+tt.in.Resource && !replaced
				want := incident.Undecided
				if carries {
					want = incident.True
				}
				if o.Made != want || o.Ours || o.Value != tt.from || o.Reversal == nil {
					t.Fatalf("observed %+v, want made %s", o, want)
				}
				// Nobody owns a field that is not there.
				if tt.from.Present && (o.Reversal.By != "argocd-controller" || o.Reversal.Hint != "change it in Git" ||
					time.Since(o.Reversal.At) > time.Hour) {
					t.Errorf("reversal %+v", o.Reversal)
				}
				if !carries {
					return
				}
				if err := b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); outcome(err) != "unknown" {
					t.Errorf("the same write again: %v", err)
				}
				if d := cmp.Diff([]string{tt.wrote}, b.writes(kubetest.Bot)); d != "" {
					t.Errorf("writes (-want +got):\n%s", d)
				}
			})
		}
	}
}

// What is proven not to have happened may be made: nobody has touched the field, whatever else has changed meanwhile.
func TestAWriteThatDidNotHappenIsToldFromOneThatWasSetBack(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			was := b.get(tt.in)
			s := b.propose(tt.req)
			before := b.mark(s)
			made := func(when string, want incident.Truth) {
				t.Helper()
				if o := b.observe(s, incident.OpApply, "w1", before); o.Made != want || o.Ours || o.Value != tt.from {
					t.Errorf("%s: %+v, want made %s", when, o, want)
				}
			}
			if err := b.as(kubetest.Bot, through(cutBefore)).Do(t.Context(), b.pool, s, incident.OpApply,
				"w1"); outcome(err) != "unknown" {
				t.Fatalf("apply: %v", err)
			}
			made("untouched", incident.False)
			b.label(tt.in, "a-labeller")
			made("somebody else labeled the object", incident.False)
			// There and back again by somebody else: it looks like the bot's write and its revert.
			b.do(s, incident.OpApply)
			b.restore(tt.in, was, "argocd-controller", true)
			if o := b.observe(s, incident.OpApply, "another", before); o.Made != incident.Undecided {
				t.Errorf("there and back again: %+v", o)
			}
			before = nil
			if o := b.observe(s, incident.OpApply, "another", before); o.Made != incident.Undecided {
				t.Errorf("without a mark: %+v", o)
			}
		})
	}
}

func TestAnUndoThatWasSetBackIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			b.do(s, incident.OpApply)
			changed, before := b.get(tt.in), b.mark(s)
			if err := b.as(kubetest.Bot, through(cutAfter)).Do(t.Context(), b.pool, s, incident.OpUndo,
				"w.undo"); outcome(err) != "unknown" {
				t.Fatalf("undo: %v", err)
			}
			b.restore(tt.in, changed, "helm", false)
			if o := b.observe(s, incident.OpUndo, "w.undo", before); o.Made == incident.False || o.Ours || o.Reversal == nil ||
				o.Reversal.By != "helm" {
				t.Errorf("observed %+v %+v", o, o.Reversal)
			}
		})
	}
}

func TestALookSaysWhoHasChangedTheValueSince(t *testing.T) {
	t.Parallel()
	for _, tt := range meddlings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			was := b.get(tt.in)
			s := b.propose(tt.req)
			b.do(s, incident.OpApply)
			reversal := func(bot interface {
				Reversal(context.Context, incident.Pool, incident.Step, incident.Op) (*incident.Reversal, error)
			},
			) *incident.Reversal {
				t.Helper()
				r, err := bot.Reversal(t.Context(), b.pool, s, incident.OpApply)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := reversal(b.bot); r != nil {
				t.Errorf("the bot's own write: %+v", r)
			}
			b.patch(tt.in, `{"metadata":{"labels":{"team":"llm"}}}`)
			if r := reversal(b.bot); r != nil {
				t.Errorf("a change of something else: %+v", r)
			}
			b.patch(tt.in, tt.merge)
			if r := reversal(b.bot); r == nil || r.Value.Text != tt.got || r.By == "" {
				t.Errorf("somebody's value: %+v", r)
			}
			b.restore(tt.in, was, "argocd-controller", false)
			if r := reversal(b.bot); r == nil || r.Value != s.From || r.Hint != "change it in Git" && s.From.Present {
				t.Errorf("set back: %+v", r)
			}
			away := b.as(kubetest.Bot, func(http.RoundTripper) http.RoundTripper {
				return always(http.StatusServiceUnavailable)
			})
			if r, err := away.Reversal(t.Context(), b.pool, s, incident.OpApply); err == nil || r != nil {
				t.Errorf("what cannot be read was changed: %+v, %v", r, err)
			}
		})
	}
}

// always answers every request with one status.
type always int

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: int(a), Status: http.StatusText(int(a)), Header: http.Header{}, Body: http.NoBody,
		Request: r,
	}, nil
}

// An autoscaler that moves the replicas above its minimum has not touched what the bot turned.
func TestReplicasThatFollowTheirAutoscalerAreNoRevert(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.create(hpas, hpa(2, 6))
	s := b.propose(addOne)
	b.do(s, incident.OpApply)
	b.patch(deployments, `{"spec":{"replicas":5}}`, "scale")
	if r, err := b.bot.Reversal(t.Context(), b.pool, s, incident.OpApply); err != nil || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
