package actions_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// lastWrites are those of the bench's pool, which must all be readable and of the bench's object.
func (b *bench) lastWrites() map[string]incident.LastWrite {
	b.t.Helper()
	all, err := b.bot.LastWrites(b.t.Context(), b.pool)
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]incident.LastWrite{}
	for _, w := range all {
		if w.Target.Namespace != b.ns || w.Target.Name != model || w.Target.UID == "" || w.Target.Field != "" {
			b.t.Errorf("it is about %+v", w.Target)
		}
		out[w.Resource] = w
	}
	if len(out) != len(all) {
		b.t.Errorf("an object is listed twice: %+v", all)
	}
	return out
}

// Every write of a knob on the object itself is seen on it, by its id and with the value that it left; one through the
// scale subresource leaves nothing there.
func TestTheLastWriteOfEachKnobIsReadFromItsObject(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			b.pool.Knobs = only(b.pool.Knobs, tt.req.Kind)
			if got := b.lastWrites(); len(got) > 0 {
				t.Errorf("before any write: %+v", got)
			}
			s := b.propose(tt.req)
			b.do(s, incident.OpApply)
			got := b.lastWrites()
			if s.Target.Subresource != "" {
				if len(got) > 0 {
					t.Errorf("through the scale subresource: %+v", got)
				}
				return
			}
			w, ok := got[tt.in.GroupResource().String()]
			if !ok || len(got) != 1 || len(w.Settings) != 1 {
				t.Fatalf("%+v", got)
			}
			if w.ID != b.get(tt.in).GetAnnotations()[incident.LastWriteAnnotation] || w.ID == "" {
				t.Errorf("the id is %q", w.ID)
			}
			if set := w.Settings[0]; set.Field != s.Target.Field || set.Value != tt.to || set.Unread != "" {
				t.Errorf("%+v, want %s at %s", set, s.Target.Field, tt.to)
			}
			b.setBack(tt, w)
			if d := cmp.Diff([]string{tt.wrote}, b.writes(kubetest.Bot)); d != "" {
				t.Errorf("reading wrote (-want +got):\n%s", d)
			}
		})
	}
}

// setBack does as a person who follows the patch of a noted value, after which the field is as before the write.
func (b *bench) setBack(tt turn, w incident.LastWrite) {
	b.t.Helper()
	set := w.Settings[0]
	if set.Before == nil {
		if set.Patch != "" {
			b.t.Errorf("nothing is noted, and the patch is %s", set.Patch)
		}
		return
	}
	if *set.Before != tt.from || set.Patch == "" || strings.Contains(set.Patch, secret) {
		b.t.Fatalf("%+v, want a patch to %s", set, tt.from)
	}
	_, err := b.c.Dynamic(b.t).Resource(tt.in).Namespace(b.ns).Patch(b.t.Context(), model, types.JSONPatchType,
		[]byte(set.Patch), metav1.PatchOptions{})
	if err != nil {
		b.t.Fatalf("%s: %v", set.Patch, err)
	}
	after := b.lastWrites()[w.Resource].Settings[0]
	if after.Value != tt.from && after.Value != incident.Set(fallback(b, tt)) || after.Patch != "" {
		b.t.Errorf("after its patch: %+v, want %s", after, tt.from)
	}
}

// fallback is what the API server fills in for the field of a turn; empty for most.
func fallback(b *bench, tt turn) string {
	b.t.Helper()
	if tt.in == hpas {
		return "1"
	}
	return "-"
}

// only is nothing but the knob of a kind.
func only(k incident.Knobs, kind incident.StepKind) incident.Knobs {
	for _, other := range incident.AllKnobs() {
		if other.Kind != kind {
			k = k.Without(other.Kind)
		}
	}
	return k
}

// The patch of a noted value changes that one argument and repeats no other: a command line holds secrets.
func TestTheCommandForALastWriteChangesOneArgument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.pool.Knobs = only(b.pool.Knobs, incident.StepMaxNumBatchedTokens)
	named := `[{"op":"test","path":"/spec/template/spec/containers/1/name","value":"vllm"},` +
		`{"op":"test","path":"/spec/template/spec/containers/1/args/4","value":"--max-num-batched-tokens=8192"},`
	for note, want := range map[string]string{
		"32768": named + `{"op":"replace","path":"/spec/template/spec/containers/1/args/4",` +
			`"value":"--max-num-batched-tokens=32768"}]`,
		live.UndoAbsent: named + `{"op":"remove","path":"/spec/template/spec/containers/1/args/4"}]`,
		"8192":          "",
	} {
		b.annotate(map[string]string{
			incident.LastWriteAnnotation: "inc-1.p1-s1.apply.1", live.UndoNote("max-num-batched-tokens"): note,
		})
		w := b.lastWrites()["deployments.apps"]
		if len(w.Settings) != 1 || w.Settings[0].Before == nil || w.Settings[0].Patch != want {
			t.Errorf("noted %s: %+v, want the patch\n%s", note, w, want)
		}
	}
}

func (b *bench) annotate(notes map[string]string) {
	b.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": notes}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.patch(deployments, string(body))
}

// Whoever may change the object may note anything: what is no number is never part of a command.
func TestAForeignNoteOfALastWriteMakesNoCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.pool.Knobs = only(b.pool.Knobs, incident.StepMaxNumBatchedTokens)
	for _, value := range []string{
		"", "8192; rm -rf /", "'$(id)'", "8192\n--api-key=x", "-1", strings.Repeat("9", 1000), "9\u202e9", "true",
	} {
		b.annotate(map[string]string{
			incident.LastWriteAnnotation:            strings.Repeat("x", 4096),
			live.UndoNote("max-num-batched-tokens"): value,
		})
		w := b.lastWrites()["deployments.apps"]
		if len(w.ID) > 200 || len(w.Settings) != 1 || w.Settings[0].Before == nil {
			t.Fatalf("%+v", w)
		}
		if s := w.Settings[0]; s.Patch != "" || len(s.Before.Text) > 60 {
			t.Errorf("a note of %.40q becomes %+v", value, s)
		}
	}
}

// A flag that cannot be read is said to be so, and not to be absent.
func TestAnUnreadableValueOfALastWriteIsNotAbsent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := served()
	args[4] = "--max-num-batched-tokens=$(TOKENS)"
	b.serve(2, nil, args)
	b.pool.Knobs = only(b.pool.Knobs, incident.StepMaxNumBatchedTokens)
	b.annotate(map[string]string{incident.LastWriteAnnotation: "inc-1.p1-s1.apply.1"})
	w := b.lastWrites()["deployments.apps"]
	if len(w.Settings) != 1 || w.Settings[0].Unread == "" {
		t.Errorf("%+v", w)
	}
}

// withoutPolicies loses every request about traffic policies.
type withoutPolicies struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w withoutPolicies) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "backendtrafficpolicies") {
		return nil, errCut
	}
	return w.next.RoundTrip(r)
}

func TestWhatCannotBeReadOfLastWritesIsAnErrorAndTheRestIsThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.annotate(map[string]string{incident.LastWriteAnnotation: "inc-1.p1-s1.apply.1"})
	cut := b.as(kubetest.Bot, func(next http.RoundTripper) http.RoundTripper {
		return withoutPolicies{next}
	})
	got, err := cut.LastWrites(t.Context(), b.pool)
	if !errors.Is(err, errCut) || !strings.Contains(err.Error(), string(incident.StepThrottle)) {
		t.Errorf("%v, want one that names the throttle", err)
	}
	if len(got) != 1 || got[0].Resource != "deployments.apps" {
		t.Errorf("what could be read: %+v", got)
	}
	// Without the right to read, it isn't known either.
	nobody := b.as("nobody", nil)
	if got, err := nobody.LastWrites(t.Context(), b.pool); err == nil || len(got) > 0 {
		t.Errorf("%+v without an error", got)
	}
}

// Where there is no object, or no knob, nothing was written.
func TestWithoutAnObjectThereIsNoLastWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := b.lastWrites(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	b.serve(2, nil, served())
	b.annotate(map[string]string{incident.LastWriteAnnotation: "inc-1.p1-s1.apply.1"})
	b.pool.Knobs = incident.Knobs{}
	if got := b.lastWrites(); len(got) > 0 {
		t.Errorf("without a knob: %+v", got)
	}
}

// A dry run reads the same.
func TestADryRunReadsTheSameLastWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.serve(2, nil, served())
	b.annotate(map[string]string{incident.LastWriteAnnotation: "inc-1.p1-s1.apply.1"})
	dry, err := b.bot.DryRun().LastWrites(t.Context(), b.pool)
	if err != nil {
		t.Fatal(err)
	}
	want := b.lastWrites()
	if d := cmp.Diff(want, map[string]incident.LastWrite{dry[0].Resource: dry[0]}, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if n := len(maps.Clone(want)); n != 1 {
		t.Errorf("%d objects", n)
	}
}
