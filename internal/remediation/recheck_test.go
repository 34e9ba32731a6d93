package remediation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// refusedStep expects the first step refused for the reason, with nothing written and no lock held.
func (b *bench) refusedStep(id, reason string) {
	b.t.Helper()
	const step = "p1-s1"
	inc := b.read(id)
	s, _ := inc.Step(step)
	if s.State != incident.StepRefused || !strings.Contains(s.Reason, reason) {
		b.t.Errorf("step %s is %s because %q, want refused because %q", step, s.State, s.Reason, reason)
	}
	if inc.Active != nil || inc.State.Running() {
		b.t.Errorf("the incident is %s with the active step %+v", inc.State, inc.Active)
	}
	if got := b.live.written(); len(got) != 0 {
		b.t.Errorf("written: %v", got)
	}
	b.unlocked()
}

func TestTheCheckBeforeTheWriteRefuses(t *testing.T) {
	t.Parallel()
	other := sick(5, throttle())
	other.diagnosis = "something else"
	more := sick(5, incident.StepRequest{Kind: incident.StepReplicas, Add: 2})
	more.diagnosis = "something bigger"
	for _, tt := range []struct {
		name, want string
		prepare    func(*bench)
	}{
		{"drift", "it was 2 and is 7 now", func(b *bench) {
			b.live.scale(7)
			b.live.expect("recheck")
		}},
		{"a rule of the knob", "an autoscaler owns it", func(b *bench) {
			b.live.expect("recheck", answer{err: &incident.RefusedError{Reason: "an autoscaler owns it"}})
		}},
		{
			"another diagnosis", "the diagnosis no longer holds: now it is It is something else.",
			func(b *bench) { b.sight.see(other) },
		},
		{
			"another diagnosis that asks for more", "the diagnosis no longer holds: now it is It is something bigger.",
			func(b *bench) {
				b.sight.see(more)
				b.live.expect("recheck")
			},
		},
		{
			"the same diagnosis that asks for more", "the runbook now asks for another change: Set replicas to 4",
			func(b *bench) {
				b.sight.see(sick(5, incident.StepRequest{Kind: incident.StepReplicas, Add: 2}))
				b.live.expect("recheck")
			},
		},
		{
			"the same diagnosis that asks for another kind", "It now asks for: Throttle to 50% of the current limit",
			func(b *bench) { b.sight.see(sick(5, throttle())) },
		},
		{
			"the same diagnosis that asks for nothing", "the runbook no longer asks for this step",
			func(b *bench) { b.sight.see(sick(5)) },
		},
		{"the same diagnosis on a healthy pool", "metrics are healthy again", func(b *bench) {
			f := sick(5, addReplica())
			f.healthy = incident.True
			b.sight.see(f)
		}},
		{
			"what can't be proposed any more", "this step can't be proposed anymore: at the configured maximum",
			func(b *bench) {
				b.live.refuse[incident.StepReplicas] = &incident.RefusedError{Reason: "at the configured maximum"}
				b.live.expect("recheck")
			},
		},
		{"it is well", "metrics are healthy again", func(b *bench) { b.sight.see(well()) }},
		{"nothing holds", "the diagnosis no longer holds", func(b *bench) { b.sight.see(finding{healthy: incident.False}) }},
		{"paused since", "paused for all pools by slack:U-BOB", func(b *bench) {
			b.pause("")
			b.live.expect("recheck")
		}},
		{"paused at the last moment", "paused for pool llama", func(b *bench) {
			b.live.expect("recheck")
			b.store.once(claims, func() { b.pause("llama") })
		}},
		{"the budget is spent since", "4 of 4 changes", func(b *bench) {
			for range 4 {
				history(b, "llama", 50*time.Minute)
			}
			b.live.expect("recheck")
		}},
		{"another incident has the object", "is being changed by incident inc-other", func(b *bench) {
			lockedByAnother(b)
			b.live.expect("recheck")
		}},
		{"another incident takes the object at the last moment", "is being changed by incident inc-other", func(b *bench) {
			b.live.expect("recheck")
			b.store.once(claims, func() { lockedByAnother(b) })
		}},
		{"the store's ledger", "cannot be read", func(b *bench) {
			b.live.expect("recheck")
			b.store.ledger = errors.New("locked up")
		}},
		{"the load has gone since", "the load is gone: only 10% of the last minutes' average", func(b *bench) {
			f := sick(5, addReplica())
			f.spent = true
			b.sight.see(f)
			b.live.expect("recheck")
		}},
		{"nothing waits any more", "nothing in the newest samples shows that it is still needed", func(b *bench) {
			f := sick(5, addReplica())
			f.calm = true
			b.sight.see(f)
			b.live.expect("recheck")
		}},
		{
			"the roles of the pods can't be read any more", "it isn't known whether prefill and decode run in the same pods",
			func(b *bench) {
				f := sick(5, addReplica())
				f.unsplit = "connection refused"
				b.sight.see(f)
				b.live.expect("recheck")
			},
		},
		{"mode dry-run since", "the pool is in mode dry-run now", func(b *bench) {
			b.restart(inMode(llama(), incident.ModeDryRun))
			b.live.expect("recheck")
		}},
		{"no Kubernetes any more", "no Kubernetes API is configured anymore", func(b *bench) {
			b.deps.Live = nil
			b.restart(llama())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := b.asked(sick(5, addReplica()))
			b.approve(inc)
			tt.prepare(b)
			b.sweep()
			b.store.ledger = nil
			for _, w := range b.writes("llama") {
				if w.Incident == inc.ID {
					t.Errorf("a write was claimed: %+v", w)
				}
			}
			if _, err := b.store.OpenWrites(t.Context()); err != nil {
				t.Error(err)
			}
			if tt.want != "is being changed by incident inc-other" {
				b.refusedStep(inc.ID, tt.want)
				return
			}
			s, _ := b.read(inc.ID).Step("p1-s1")
			if s.State != incident.StepRefused || !strings.Contains(s.Reason, tt.want) || len(b.live.written()) != 0 {
				t.Errorf("step %s because %q, written %v", s.State, s.Reason, b.live.written())
			}
			if locks, err := b.store.Locks(t.Context()); err != nil || locks["REPLICAS/llm/llama"] != "inc-other" {
				t.Errorf("the lock of the other incident is gone: %v %v", locks, err)
			}
		})
	}
}

func lockedByAnother(b *bench) {
	b.t.Helper()
	other := incident.New("inc-other", "other", incident.ModeApprove, false, b.clock())
	if err := b.store.Store.Commit(b.t.Context(), incident.Change{
		Incident: other,
		Lock:     "REPLICAS/llm/llama",
	}); err != nil {
		b.t.Error(err)
	}
}

func TestARefusedStepLeavesTheOthersToDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica(), throttle()))
	b.approve(inc)
	b.live.expect("recheck", answer{err: &incident.RefusedError{Reason: "no"}})
	b.sweep()
	if got := b.read(inc.ID); got.State != incident.StateDeciding || len(got.Proposed()) == 0 {
		t.Errorf("state %s", got.State)
	}
}

func TestACheckThatCannotBeMadeIsTriedAgainAndThenGivenUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want string
		set  func(*bench)
	}{
		{"the API server", "it could not be checked again: connection refused", func(b *bench) {
			b.live.expect("recheck", slices.Repeat([]answer{{err: errAway}}, 5)...)
		}},
		{"Prometheus", "the diagnosis no longer holds: The readings are missing.", func(b *bench) { b.sight.see(blind()) }},
		{"the live value", "it could not be checked again: work the step out again: connection refused", func(b *bench) {
			b.live.expect("recheck", slices.Repeat([]answer{{}}, 5)...)
			b.live.refuse[incident.StepReplicas] = errAway
		}},
		{"a part of the cluster", "the runbook no longer asks for this step", func(b *bench) {
			f := sick(5) // its step has a condition on what could not be read
			f.cluster.Error = "timed out"
			b.sight.see(f)
		}},
		{"a part that the size of the step rests on", "the runbook now asks for another change", func(b *bench) {
			f := sick(5, incident.StepRequest{Kind: incident.StepReplicas, Add: 2})
			f.cluster.Error = "timed out"
			b.sight.see(f)
			b.live.expect("recheck", slices.Repeat([]answer{{}}, 5)...)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := b.asked(sick(5, addReplica()))
			b.approve(inc)
			tt.set(b)
			for range 4 {
				b.sweep()
				if got := b.read(inc.ID); got.State != incident.StateApplying || got.Active.Phase != incident.PhaseRecheck {
					t.Fatalf("state %s: gave up early", got.State)
				}
				b.skip(30 * time.Second)
			}
			b.sweep()
			b.refusedStep(inc.ID, tt.want)
		})
	}
}

func TestALateCheckThatSucceedsWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.live.expect("recheck", answer{err: errAway}, answer{})
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.sweep()
	b.skip(5 * time.Second)
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}
