package remediation_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// What a bot with version 2 of the schema had begun, this one brings to its end: the step that it wrote is verified and
// not written again, the plan that it asked for can be approved, and what waited in its inbox is heard.
func TestAStoreOfVersion2GoesOn(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.Bare(t)
			storetest.FillVersion2(t, url, os.DirFS("../store/migrations/"+e.Name))
			b := newBench(t, []incident.Pool{llama(), qwen()})
			b.store.Store = storetest.Open(t, url)
			b.skip(storetest.Version2At.Sub(b.clock()))
			b.live.scale(3)
			b.live.expect("rollout", rolled(incident.RolloutDone))
			b.sight.owned("", ownersAnswer{err: incident.ErrNoWorkload}) // the delivery that was put off leads nowhere
			b.sight.see(well())
			b.sight.seeAt("qwen", sick(7, throttle()))
			settling, asked := b.open("llama"), b.open("qwen")
			b.pass(2 * time.Minute)
			if got := b.read(settling.ID); len(got.Alerts) != 3 || got.State != incident.StateSettling {
				t.Errorf("llama is %s with %d alerts, want those of the inbox, too", got.State, len(got.Alerts))
			}
			if b.open("").Alerts[0].Name() != "PutOff" {
				t.Error("the delivery that was put off is lost")
			}
			b.resume("qwen")
			b.pass(2 * time.Minute)
			now := b.read(asked.ID)
			step := now.Plan.Steps[0]
			if step.Digest != asked.Plan.Steps[0].Digest {
				t.Errorf("what is asked for has the digest %s, and had %s", step.Digest, asked.Plan.Steps[0].Digest)
			}
			b.live.expect("recheck")
			b.live.expect("do apply")
			b.live.expect("rollout", rolled(incident.RolloutDone))
			if err := b.decide(now, step.ID, incident.Approve); err != nil {
				t.Fatalf("approve: %v", err)
			}
			b.sweep()
			b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()), resolved(alert("QueueGrows", "llama"), b.clock()))
			b.pass(20 * time.Minute)
			got := b.read(settling.ID)
			if v := got.Plan.Steps[0].Verification; got.State != incident.StateClosed || v == nil ||
				v.Verdict != incident.VerdictRecovered {
				t.Errorf("llama is %s, %s, the verification %+v", got.State, got.Note, v)
			}
			if d := cmp.Diff([]string{"throttle=32"}, b.live.written()); d != "" {
				t.Errorf("written (-want +got):\n%s", d)
			}
			if w := b.writes("llama"); len(w) != 1 {
				t.Errorf("the ledger has %+v", w)
			}
		})
	}
}
