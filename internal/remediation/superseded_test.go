package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A person aborts the second step while it is checked, and asks for the undo of the first. Whatever the check says
// then, it is not about the undo: that one is claimed, written and ended by a turn of its own.
func TestACheckThatIsOvertakenByAnUndoDoesNotTouchIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// meanwhile is what else happens while the second step is checked.
		meanwhile func(b *bench)
		recheck   []answer
	}{
		{"the step might have run", func(*bench) {}, []answer{{}}},
		{"the step would have been refused: healthy", func(b *bench) { b.sight.see(well()) }, nil},
		{"the step would have been refused: drift", func(*bench) {}, []answer{{err: &incident.DriftError{Why: "replaced"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := settled(b, sick(5, addReplica(), throttle()))
			b.sight.see(sick(2, addReplica(), throttle()))
			b.skip(time.Second)
			b.sweep()
			b.pass(5 * time.Minute)
			if inc = b.read(inc.ID); inc.State != incident.StateDeciding {
				t.Fatalf("the incident is %s after the first step", inc.State)
			}
			if err := b.decide(inc, "p1-s2", incident.Approve); err != nil {
				t.Fatal(err)
			}
			b.sight.during = func() {
				tt.meanwhile(b)
				if _, err := b.engine.Act(t.Context(), inc.ID, incident.Aborted{By: bob, Reason: "not that"}); err != nil {
					t.Error(err)
				}
				if err := b.decide(inc, "p1-s1", incident.Undo); err != nil {
					t.Error(err)
				}
			}
			if len(tt.recheck) > 0 {
				b.live.expect("recheck", tt.recheck...)
			}
			b.live.expect("do undo")
			b.live.expect("rollout", rolled(incident.RolloutRunning), rolled(incident.RolloutDone))
			b.sweep()
			got := b.read(inc.ID)
			first, second := got.Plan.Steps[0], got.Plan.Steps[1]
			if first.State != incident.StepUndoing || second.State != incident.StepDenied || got.Active == nil ||
				got.Active.Step != "p1-s1" {
				t.Errorf("the first step is %s (%s), the second %s (%s), active %+v", first.State, first.Reason, second.State,
					second.Reason, got.Active)
			}
			if d := cmp.Diff([]string{"replicas=3", "replicas=2"}, b.live.written()); d != "" {
				t.Errorf("writes (-want +got):\n%s", d)
			}
			if locks, err := b.store.Locks(t.Context()); err != nil || len(locks) != 1 || locks["REPLICAS/llm/llama"] != inc.ID {
				t.Errorf("locks %v %v, want the first step's only", locks, err)
			}
			b.skip(5 * time.Second)
			b.sweep()
			if s, _ := b.read(inc.ID).Step("p1-s1"); s.State != incident.StepUndone {
				t.Errorf("the first step is %s (%s)", s.State, s.Reason)
			}
			b.unlocked()
			for _, w := range b.writes("llama") {
				if w.Step != "p1-s1" || w.Result != incident.ResultApplied {
					t.Errorf("the ledger has %+v", w)
				}
			}
			if log := b.log.String(); strings.Contains(log, "WARN") || strings.Contains(log, "ERROR") {
				t.Errorf("reported:\n%s", log)
			}
		})
	}
}

// An alert that comes at the very moment of the end is a reason to look again: what was concluded did not know of it.
func TestAnIncidentDoesNotEndOverAnAlertThatHasJustJoined(t *testing.T) {
	t.Parallel()
	closes := func(ch incident.Change) bool { return ch.Incident.State == incident.StateClosed }
	t.Run("without a pool", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		b.sight.owned("", ownersAnswer{err: incident.ErrNoWorkload})
		b.deliver(alert("HighTTFT", "mixtral"))
		b.sweep()
		inc := b.open("")
		b.store.once(closes, func() { b.joins(inc.ID, alert("HighTTFT", "phi")) })
		b.deliver(resolved(alert("HighTTFT", "mixtral"), b.clock()))
		b.sweep()
		if got := b.read(inc.ID); got.State != incident.StateWatching || len(got.Firing()) != 1 ||
			!strings.Contains(got.Note, "name: phi") {
			t.Errorf("the incident is %s with %d firing alerts: %s", got.State, len(got.Firing()), got.Note)
		}
		b.joins(inc.ID, resolved(alert("HighTTFT", "phi"), b.clock()))
		b.pass(2 * time.Minute)
		if got := b.read(inc.ID); got.State != incident.StateClosed {
			t.Errorf("the incident is %s when nothing fires any more", got.State)
		}
	})
	t.Run("of a pool about which nothing can be learned", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		b.sight.see(blind())
		b.deliver(alert("HighTTFT", "llama"))
		b.sweep()
		b.pass(time.Minute)
		inc := b.open("llama")
		b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
		b.sweep()
		b.store.once(closes, func() {
			late := alert("QueueBuildUp", "llama")
			late.StartsAt, late.SeenAt = b.clock(), b.clock()
			b.joins(inc.ID, late)
		})
		b.skip(24 * time.Hour)
		b.sweep()
		if got := b.read(inc.ID); got.State != incident.StateWatching || len(got.Firing()) != 1 {
			t.Errorf("the incident is %s with %d firing alerts", got.State, len(got.Firing()))
		}
	})
}

// joins brings an alert to an incident past the inbox, as another replica does that folds a delivery in at the same
// time.
func (b *bench) joins(id string, a incident.Alert) {
	b.t.Helper()
	if _, err := b.engine.Act(b.t.Context(), id, incident.AlertsReceived{Alerts: []incident.Alert{a}}); err != nil {
		b.t.Error(err)
	}
}
