package remediation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// What the bot scaled itself is told apart from what somebody else scaled, in this incident and in the next: by the
// number and the time of its write.
func TestScalingsOfTheBotAreMarkedAsItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.approve(inc)
	b.sweep()
	w := b.writes("llama")[0]
	scaled := func(object string, after time.Duration, to *int64) incident.RecentChange {
		return incident.RecentChange{Kind: incident.ChangeScale, Object: object, At: w.StartedAt.Add(after), To: to}
	}
	changes := []incident.RecentChange{
		scaled("its own", 2*time.Second, new(int64(3))),
		scaled("its own, by another clock", -20*time.Second, new(int64(3))),
		scaled("another number at the same time", 2*time.Second, new(int64(5))),
		scaled("back at once", 10*time.Second, new(int64(2))),
		scaled("the same number, long before", -30*time.Minute, new(int64(3))),
		scaled("the same number, later", 10*time.Minute, new(int64(3))),
		scaled("a number that is not said", 2*time.Second, nil),
		{Kind: incident.ChangeRollout, Object: "a rollout", At: w.StartedAt, To: new(int64(3))},
	}
	later := incident.New("inc-later", "llama", incident.ModeApprove, false, b.clock())
	for name, of := range map[string]incident.Incident{"the incident": b.read(inc.ID), "the next incident": later} {
		f := sick(5)
		f.cluster.Changes = slices.Clone(changes)
		b.sight.see(f)
		var own []string
		for _, c := range b.investigator.Investigate(t.Context(), llama(), of).Evidence.Cluster.Changes {
			if c.Own {
				own = append(own, c.Object)
			}
		}
		if !slices.Equal(own, []string{"its own", "its own, by another clock"}) {
			t.Errorf("%s: own are %q", name, own)
		}
	}
}

// A dry run writes nothing, so the same scaling is somebody else's.
func TestAScalingAfterADryRunIsNotTheBots(t *testing.T) {
	t.Parallel()
	pool := llama()
	pool.Mode = incident.ModeDryRun
	b := newBench(t, []incident.Pool{pool})
	inc := b.asked(sick(5, addReplica()))
	b.dryRun.expect("recheck")
	b.dryRun.expect("do apply")
	b.approve(inc)
	b.sweep()
	w := b.writes("llama")
	if len(w) != 1 || !w[0].DryRun {
		t.Fatalf("the ledger has %+v", w)
	}
	f := sick(5)
	f.cluster.Changes = []incident.RecentChange{{Kind: incident.ChangeScale, At: w[0].StartedAt, To: new(int64(3))}}
	b.sight.see(f)
	if c := b.investigator.Investigate(t.Context(), pool, b.read(inc.ID)).Evidence.Cluster.Changes; c[0].Own {
		t.Errorf("it is taken for its own: %+v", c)
	}
}
