package remediation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

func TestAlertsOpenOneIncidentPerPool(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	commits := 0
	b.store.onCommit(func(changes []incident.Change) error {
		commits++
		if len(changes) != 2 {
			t.Errorf("%d changes in one commit", len(changes))
		}
		return nil
	})
	b.deliver(alert("HighTTFT", "llama"), alert("HighTTFT", "qwen"), alert("QueueBuildUp", "llama"))
	b.sweep()
	if commits != 1 {
		t.Errorf("one delivery for two pools took %d commits", commits)
	}
	got := b.open("llama")
	if diff := cmp.Diff([]string{"HighTTFT", "QueueBuildUp"}, got.AlertNames()); diff != "" {
		t.Errorf("alerts of llama (-want +got):\n%s", diff)
	}
	if got.State != incident.StateReceived || got.Mode != incident.ModeApprove || got.DryRun {
		t.Errorf("llama's incident is %s, mode %s, dry run %v", got.State, got.Mode, got.DryRun)
	}
	if names := b.open("qwen").AlertNames(); len(names) != 1 {
		t.Errorf("qwen has the alerts %v", names)
	}
}

// What waits for a pool is worked out together: its incident is written once.
func TestDeliveriesOfAPoolShareACommit(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	commits := 0
	b.store.onCommit(func([]incident.Change) error { commits++; return nil })
	for n := range 40 {
		a := alert(fmt.Sprint("Alert", n/2), []string{"llama", "qwen"}[n%2])
		b.deliverAll(incident.Delivery{ReceivedAt: b.clock(), GroupKey: fmt.Sprint(n), Alerts: []incident.Alert{a}})
	}
	b.sweep()
	inc := b.open("llama")
	if commits != 1 || inc.Version != 1 || len(inc.Alerts) != 20 || len(inc.Journal) != 20 {
		t.Errorf("%d commits, version %d, %d alerts, %d lines in the journal", commits, inc.Version, len(inc.Alerts),
			len(inc.Journal))
	}
}

// One delivery that cannot be folded holds up its own group, in order, and nothing else.
func TestAPoisonousDeliveryHoldsUpItsGroupOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	has := func(name string) func(incident.Change) bool {
		return func(ch incident.Change) bool { return slices.Contains(ch.Incident.AlertNames(), name) }
	}
	b.store.onCommit(func(changes []incident.Change) error {
		if slices.ContainsFunc(changes, has("Poison")) {
			return errors.New("cannot be folded")
		}
		return nil
	})
	deliver := func(group, name string) {
		b.deliverAll(incident.Delivery{
			ReceivedAt: b.clock(), GroupKey: group,
			Alerts: []incident.Alert{alert(name, "llama")},
		})
	}
	deliver("g1", "First")
	deliver("g2", "Poison")
	deliver("g2", "Behind")
	deliver("g3", "Third")
	b.sweep()
	if d := cmp.Diff([]string{"First", "Third"}, b.open("llama").AlertNames()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	b.store.onCommit(nil)
	b.skip(5 * time.Second)
	left, err := b.store.ClaimDeliveries(t.Context(), "look", b.clock(), time.Minute, 10)
	if err != nil || len(left) != 2 || left[0].Attempts != 2 || left[1].Attempts != 1 {
		t.Fatalf("what is left: %+v, %v", left, err)
	}
	b.skip(2 * time.Minute)
	b.sight.see(sick(5, addReplica()))
	b.sweep()
	if d := cmp.Diff([]string{"Behind", "First", "Poison", "Third"}, b.open("llama").AlertNames()); d != "" {
		t.Errorf("in the end: -want +got:\n%s", d)
	}
}

func TestDuplicatesAndRepeatsChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliver(alert("HighTTFT", "llama"))
	b.deliver(alert("HighTTFT", "llama")) // the other Alertmanager
	b.sweep()
	lines := len(b.open("llama").Journal)
	b.deliver(alert("HighTTFT", "llama")) // repeat_interval
	b.sweep()
	inc := b.open("llama")
	if len(b.all()) != 1 || len(inc.Alerts) != 1 || len(inc.Journal) != lines {
		t.Errorf("%d incidents, %d alerts, %d journal lines after repeats (%d before)", len(b.all()), len(inc.Alerts),
			len(inc.Journal), lines)
	}
}

func TestAnAlertThatResolvedBeforeItFiredOpensNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliver(resolved(alert("HighTTFT", "llama"), start))
	b.sweep()
	if got := b.all(); len(got) != 0 {
		t.Errorf("an alert that only ever resolved made %+v", got)
	}
	if got, err := b.store.ClaimDeliveries(t.Context(), "x", b.clock().Add(time.Hour), time.Minute, 1); len(got) > 0 ||
		err != nil {
		t.Errorf("the delivery is still in the inbox: %v %v", got, err)
	}
}

func TestStartsAtMovesOnlyBackwards(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	a := alert("HighTTFT", "llama")
	for _, shift := range []time.Duration{0, -time.Hour, time.Minute} {
		moved := a
		moved.StartsAt = a.StartsAt.Add(shift)
		b.deliver(moved)
		b.sweep()
	}
	if got := b.open("llama").Alerts; len(got) != 1 || !got[0].StartsAt.Equal(a.StartsAt.Add(-time.Hour)) {
		t.Errorf("alerts %+v", got)
	}
}

func TestALaterAlertJoinsTheOpenIncidentAndIsALookNow(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.deliver(alert("QueueBuildUp", "llama"))
	b.sight.see(sick(6, addReplica())) // looked at in the same sweep, or the finding is unused
	b.sweep()
	got := b.open("llama")
	if got.ID != inc.ID || len(got.Alerts) != 2 {
		t.Errorf("incident %s with %d alerts, want %s with 2", got.ID, len(got.Alerts), inc.ID)
	}
	if got.State != incident.StateDeciding || got.Plan.Digest != inc.Plan.Digest {
		t.Errorf("the joining alert replaced a plan whose steps are the same: %s %s", got.State, got.Plan.Digest)
	}
}

// closed brings llama's incident to its end and returns it.
func closed(b *bench) incident.Incident {
	b.t.Helper()
	b.sight.see(finding{healthy: incident.False, note: "Nothing holds."})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	inc := b.open("llama")
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	if _, err := b.engine.Act(b.t.Context(), inc.ID, incident.Closed{By: ada, Reason: "looked at"}); err != nil {
		b.t.Fatal(err)
	}
	return b.read(inc.ID)
}

func TestARefireReopensWithinTheTimeAndIsANewIncidentAfterIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		timing      time.Duration
		after       time.Duration
		wantsReopen bool
	}{
		{"within", 0, incident.ReopenWithin, true},
		{"after", 0, incident.ReopenWithin + time.Second, false},
		{"within a time of one's own", 10 * time.Minute, 10 * time.Minute, true},
		{"after a time of one's own", 10 * time.Minute, 10*time.Minute + time.Second, false},
		{"within a longer time", time.Hour, time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()}, func(c *remediation.Config, _ *remediation.Deps) {
				c.Timing.Reopen = tt.timing
			})
			old := closed(b)
			b.skip(tt.after)
			again := alert("HighTTFT", "llama")
			again.StartsAt = b.clock()
			b.sight.see(sick(5, addReplica()))
			b.deliver(again)
			b.sweep()
			b.pass(5 * time.Second)
			got := b.open("llama")
			if (got.ID == old.ID) != tt.wantsReopen || (got.Reopened == 1) != tt.wantsReopen {
				t.Errorf("incident %s reopened %d times; the old one was %s", got.ID, got.Reopened, old.ID)
			}
			if got.State != incident.StateDeciding {
				t.Errorf("state %s", got.State)
			}
		})
	}
}

func TestNewsOfTheEndedEpisodeLeavesItClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	old := closed(b)
	b.skip(time.Minute)
	b.deliver(alert("HighTTFT", "llama")) // a late retry: it started before the end
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.sweep()
	if got := b.read(old.ID); got.State != incident.StateClosed || len(b.all()) != 1 {
		t.Errorf("state %s, %d incidents", got.State, len(b.all()))
	}
}

func TestAlertsWithoutAPoolBecomeOneIncidentThatSaysWhatToAdd(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("", ownersAnswer{err: incident.ErrNoWorkload})
	stray := alert("HighTTFT", "mixtral")
	for range 3 {
		b.deliver(stray)
		b.sweep()
		b.pass(time.Minute)
	}
	if got := b.all(); len(got) != 1 {
		t.Fatalf("%d incidents for alerts without a pool", len(got))
	}
	inc := b.open("")
	for _, want := range []string{"No pool matches these alerts", "name: mixtral", `model_name: "mixtral"`} {
		if !strings.Contains(inc.Note, want) {
			t.Errorf("the note lacks %q: %s", want, inc.Note)
		}
	}
	advice := slices.DeleteFunc(inc.Journal, func(e incident.Entry) bool { return !strings.Contains(e.Text, "No pool") })
	if inc.State != incident.StateWatching || len(advice) != 1 {
		t.Errorf("state %s, said %d times", inc.State, len(advice))
	}
	b.deliver(resolved(stray, b.clock()))
	b.sweep()
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.State != incident.StateClosed {
		t.Errorf("%s when none of the alerts fires any more", got.State)
	}
}

func TestAnOwnerThatCannotBeAskedIsAskedAgainAndThenShown(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := strayed(b)
	if !strings.Contains(said(inc), "could not be found: the API server is away") {
		t.Errorf("the journal does not say why: %s", said(inc))
	}
}

// strayed brings an alert that carries only an instance, while nobody can be asked whose it is, and returns the
// incident in which it is shown.
func strayed(b *bench) incident.Incident {
	b.t.Helper()
	b.sight.owned("10.0.0.1:8000", ownersAnswer{err: errSilent})
	a := alert("HighTTFT", "")
	delete(a.Labels, "model_name")
	a.Labels["instance"] = "10.0.0.1:8000"
	b.deliver(a)
	for n := range 5 {
		b.sweep()
		if got := len(b.all()); (got == 1) != (n == 4) {
			b.t.Fatalf("%d incidents after %d tries", got, n+1)
		}
		if got := b.sight.asked("10.0.0.1:8000"); n < 4 && got != n+1 {
			b.t.Fatalf("asked %d times after %d sweeps", got, n+1)
		}
		b.skip(5 * time.Second)
	}
	return b.open("")
}

func TestAStrayAlertGoesToItsPoolWhenThatIsFound(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	stray := strayed(b)
	b.pass(10 * time.Minute)
	if _, ok, err := b.store.OpenIncident(t.Context(), "llama"); ok || err != nil {
		t.Fatalf("it went to a pool although nobody could be asked: %v", err)
	}
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.sight.see(sick(5, addReplica()))
	b.pass(2 * time.Minute)
	if got := b.open("llama"); got.State != incident.StateDeciding || len(got.Alerts) != 1 {
		t.Errorf("state %s, alerts %v", got.State, got.Alerts)
	}
	if got := b.read(stray.ID); got.State != incident.StateClosed || len(got.Alerts) != 0 {
		t.Errorf("the incident without a pool is %s with %d alerts", got.State, len(got.Alerts))
	}
	b.pass(5 * time.Minute)
	if got := len(b.all()); got != 2 {
		t.Errorf("%d incidents", got)
	}
}

func TestTruncatedGroupsAreSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliverAll(incident.Delivery{
		ReceivedAt: start, Receiver: "medic", GroupKey: "g", Truncated: 7,
		Alerts: []incident.Alert{alert("HighTTFT", "llama")},
	})
	b.sweep()
	if j := fmt.Sprint(b.open("llama").Journal); !strings.Contains(j, "left 7 more alerts out") {
		t.Errorf("the journal does not say it: %s", j)
	}
}

// The claim of a delivery can run out while its pool is looked for: then another replica folds it in, and the first
// one's try is not an error.
func TestALostDeliveryIsLeftToItsNewHolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.deliver(alert("HighTTFT", "llama"))
	b.store.once(func(ch incident.Change) bool { return ch.Sooner }, func() {
		later := b.clock().Add(time.Hour)
		if got, err := b.store.ClaimDeliveries(t.Context(), "bot-2", later, time.Minute, 1); len(got) != 1 || err != nil {
			t.Errorf("steal the delivery: %v %v", got, err)
		}
	})
	b.sweep()
	if got := b.all(); len(got) != 0 {
		t.Errorf("the loser of the delivery committed %+v", got)
	}
	b.skip(2 * time.Hour)
	b.sweep()
	if got := b.all(); len(got) != 1 {
		t.Errorf("%d incidents at the end", len(got))
	}
}

func TestAFailedCommitIsTriedAgainWithTheSameIncident(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	var ids []string
	b.store.onCommit(func(changes []incident.Change) error {
		ids = append(ids, changes[0].Incident.ID)
		if len(ids) == 1 {
			return errors.New("disk full")
		}
		return nil
	})
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	if len(b.all()) != 0 {
		t.Error("an incident although the commit failed")
	}
	b.skip(5 * time.Second)
	b.store.onCommit(nil)
	b.sweep()
	if got := b.open("llama").ID; got != ids[0] {
		t.Errorf("the second try made %s, the first %s", got, ids[0])
	}
}

func TestAnAlertThatJoinsWhileAStepRunsLeavesThePlanAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
	b.deliver(alert("QueueBuildUp", "llama"))
	b.sweep()
	got := b.read(inc.ID)
	if got.State != incident.StateSettling || len(got.Alerts) != 2 || got.Plan.Digest != inc.Plan.Digest ||
		!got.Active.SettleUntil.Equal(inc.Active.SettleUntil) {
		t.Errorf("state %s, %d alerts, plan %s (was %s)", got.State, len(got.Alerts), got.Plan.Digest, inc.Plan.Digest)
	}
}

// A process that is told to end gives back what it has not folded in: the next one goes on at once, and it was no try.
func TestAStopGivesDeliveriesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	ctx, stop := context.WithCancel(t.Context())
	b.store.onCommit(func([]incident.Change) error {
		stop()
		return context.Canceled
	})
	for _, group := range []string{"a", "b"} {
		b.deliverAll(incident.Delivery{ReceivedAt: start, GroupKey: group, Alerts: strangers(1).Alerts})
	}
	if _, err := b.engine.Sweep(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	got, err := b.store.ClaimDeliveries(t.Context(), "next", b.clock(), time.Minute, 10)
	if err != nil || len(got) != 2 || got[0].Attempts != 1 || got[1].Attempts != 1 {
		t.Errorf("the next one got %+v, %v", got, err)
	}
}
