package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func (b *bench) narrow(inc incident.Incident, step, to string) {
	b.t.Helper()
	ev := incident.Narrowed{Step: step, Digest: inc.Plan.Digest, To: incident.Set(to), By: ada}
	if _, err := b.engine.Act(b.t.Context(), inc.ID, ev); err != nil {
		b.t.Fatalf("narrow: %v", err)
	}
}

// A person chooses a smaller change: it is worked out, shown under another digest, stays while it is asked about, and
// is what is written.
func TestAChosenValueIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	first := b.asked(sick(5, throttle()))
	b.narrow(first, "p1-s1", "48")
	if got := b.live.written(); len(got) != 0 {
		t.Fatalf("a choice has written %v", got)
	}
	b.sweep()
	for range 3 { // the question is looked at again every minute
		inc := b.open("llama")
		s, ok := inc.Step("p2-s1")
		if inc.State != incident.StateDeciding || !ok || s.To != incident.Set("48") || s.State != incident.StepProposed ||
			!inc.Plan.ExpiresAt.Equal(first.Plan.ExpiresAt) {
			t.Fatalf("%s until %s, step %+v", inc.State, inc.Plan.ExpiresAt, s)
		}
		b.pass(time.Minute)
	}
	if err := b.decide(first, "p1-s1", incident.Approve); err == nil {
		t.Error("the click on the step of before was taken")
	}
	inc := b.open("llama")
	if err := b.decide(inc, "p2-s1", incident.Approve); err != nil {
		t.Fatal(err)
	}
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.sweep()
	if got := b.live.objects[incident.StepThrottle].value; got != 48 {
		t.Errorf("the limit is %d", got)
	}
}

// What cannot be proposed with the chosen value is proposed as before, and the thread says why.
func TestAChosenValueThatIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	first := b.asked(sick(5, throttle()))
	b.live.unchosen = 48
	b.narrow(first, "p1-s1", "48")
	b.sweep()
	inc := b.read(first.ID)
	if inc.State != incident.StateDeciding || inc.Plan.Digest != first.Plan.Digest || len(inc.Narrowings) != 0 {
		t.Fatalf("%s, plan %s, %+v", inc.State, inc.Plan.Digest, inc.Narrowings)
	}
	last := inc.Journal[len(inc.Journal)-1]
	if last.Said.Kind != incident.NoteNotNarrowed || !strings.Contains(last.Said.Cause.Text, "quota has no room") {
		t.Errorf("%+v", last.Said)
	}
	b.approve(first)
}

// The live value moves after the choice: what was chosen was a change from another value, so it does not hold.
func TestAChoiceDoesNotOutliveTheValueItWasMadeFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	first := b.asked(sick(5, throttle()))
	b.narrow(first, "p1-s1", "48")
	b.live.objects[incident.StepThrottle].value = 100
	b.sweep()
	inc := b.open("llama")
	if s := inc.Plan.Steps[0]; s.To != incident.Set("50") || len(inc.Narrowings) != 0 {
		t.Errorf("to %s, %+v", s.To, inc.Narrowings)
	}
}
