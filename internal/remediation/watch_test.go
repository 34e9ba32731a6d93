package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// recovered applies the one step and sees it help.
func recovered(b *bench, req incident.StepRequest) incident.Incident {
	b.t.Helper()
	inc := settled(b, sick(5, req))
	b.sight.see(well())
	b.skip(time.Second)
	b.sweep()
	inc = b.read(inc.ID)
	if inc.State != incident.StateWatching || inc.HealthySince.IsZero() {
		b.t.Fatalf("state %s, healthy since %s", inc.State, inc.HealthySince)
	}
	return inc
}

// quietly brings an incident without a plan, that watches.
func quietly(b *bench) incident.Incident {
	b.t.Helper()
	b.sight.see(finding{healthy: incident.False, note: "Nothing holds."})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	inc := b.open("llama")
	if inc.State != incident.StateWatching {
		b.t.Fatalf("state %s", inc.State)
	}
	return inc
}

func TestAnIncidentClosesWhenItHasBeenHealthyForLongEnough(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := quietly(b)
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	b.sight.see(well())
	b.pass(time.Minute) // healthy from here
	b.pass(5*time.Minute - time.Second)
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Fatalf("state %s before the time", got.State)
	}
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed || !strings.Contains(got.Note, "Healthy for") {
		t.Errorf("state %s, note %q", got.State, got.Note)
	}
	n := len(b.read(inc.ID).Journal)
	b.pass(time.Hour)
	if got := len(b.read(inc.ID).Journal); got != n {
		t.Error("something happened to a closed incident")
	}
}

// An alert that fires on while the signals look well sees something that they do not, or is about what asks for
// nothing. Closed over it, the incident would come back with each repeat.
func TestHealthEndsNoIncidentOverAnAlertForWhichNothingWasDone(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := quietly(b)
	b.sight.see(well())
	for range 6 {
		b.pass(time.Hour)
		b.deliver(alert("HighTTFT", "llama")) // Alertmanager's repeat
		b.sweep()
	}
	if got := b.read(inc.ID); got.State != incident.StateWatching || got.Reopened != 0 {
		t.Errorf("state %s, opened again %d times, while its alert fires and nothing was done", got.State, got.Reopened)
	}
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	b.pass(6 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("state %s after the alert has ended", got.State)
	}
}

func TestHealthEndsAnIncidentWhoseAlertIsNotHeardOfAnyMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := quietly(b)
	b.sight.see(well())
	b.pass(6 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Fatalf("state %s while the alert fires", got.State)
	}
	b.skip(25 * time.Hour)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("state %s: the end of the alert may have been lost", got.State)
	}
}

// Alertmanager says nothing of an alert that fires on until its repeat_interval: an incident that closes over it misses
// the relapse.
func TestAChangeThatHelpedDoesNotEndAnIncidentOverItsAlert(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, addReplica())
	b.pass(30 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Fatalf("state %s with %d alerts that fire", got.State, len(got.Firing()))
	}
	b.sight.see(sick(7, addReplica())) // the relapse; no delivery tells of it
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateDeciding {
		t.Errorf("state %s: nobody is asked about the relapse", got.State)
	}
	b.sight.see(well())
	b.pass(6 * time.Minute)
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("state %s after the alert has resolved", got.State)
	}
}

// The end of an alert may never be sent. Then its silence ends the incident, and the next episode of the alert is
// heard.
func TestAnAlertWhoseEndWasNeverSentHoldsNoIncidentForEver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration // from the end of the incident to the next episode
		same  bool          // the incident is opened again
	}{"soon": {10 * time.Minute, true}, "much later": {2 * time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := recovered(b, addReplica())
			b.skip(25 * time.Hour)
			b.sweep()
			if got := b.read(inc.ID); got.State != incident.StateClosed ||
				!strings.Contains(got.Note, "sent nothing about these alerts for 24 h") {
				t.Fatalf("state %s, note %q", got.State, got.Note)
			}
			b.skip(tt.after)
			again := alert("HighTTFT", "llama")
			again.StartsAt = b.clock()
			b.sight.see(sick(6, addReplica()))
			b.deliver(again)
			b.sweep()
			b.pass(time.Minute)
			if got := b.open("llama"); (got.ID == inc.ID) != tt.same || got.State != incident.StateDeciding {
				t.Errorf("the incident %s is %s, the one before was %s", got.ID, got.State, inc.ID)
			}
		})
	}
}

func TestResolvedIsNoProofOfACure(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := quietly(b)
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	b.pass(time.Hour)
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Errorf("state %s although the signals are bad", got.State)
	}
}

func TestMissingReadingsAreNotHealth(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := quietly(b)
	b.sight.see(well())
	b.pass(4 * time.Minute)
	if b.read(inc.ID).HealthySince.IsZero() {
		t.Fatal("not healthy")
	}
	b.sight.see(blind())
	b.pass(10 * time.Minute)
	got := b.read(inc.ID)
	if got.State != incident.StateWatching || !got.HealthySince.IsZero() {
		t.Errorf("state %s, healthy since %s while nothing could be read", got.State, got.HealthySince)
	}
	b.sight.see(well())
	b.pass(4 * time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Errorf("state %s: the time of health did not begin anew", got.State)
	}
}

func TestARelapseIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := recovered(b, addReplica())
	b.skip(10 * time.Minute)
	b.sight.see(sick(7, addReplica()))
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateDeciding || len(got.AppliedEarlier) != 1 {
		t.Errorf("state %s, %d earlier steps", got.State, len(got.AppliedEarlier))
	}
}

func TestAnIncidentOfWhichNothingCanBeLearnedClosesInTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := quietly(b)
	b.sight.see(blind())
	b.skip(25 * time.Hour)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Fatalf("state %s while its alert fires", got.State)
	}
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	b.skip(24*time.Hour - time.Second)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateWatching {
		t.Fatalf("state %s before a day without news", got.State)
	}
	b.skip(time.Minute)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("state %s", got.State)
	}
}

func TestAlertsWithoutAPoolCloseWhenNothingIsHeardOfThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.sight.owned("", ownersAnswer{})
	b.deliver(alert("HighTTFT", "mixtral"))
	b.sweep()
	b.skip(23 * time.Hour)
	b.sweep()
	inc := b.open("")
	b.skip(time.Hour)
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("state %s", got.State)
	}
}
