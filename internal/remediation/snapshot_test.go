package remediation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func (b *bench) snapshots(id string) []incident.Snapshot {
	b.t.Helper()
	kept, err := b.store.Snapshots(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return kept
}

// kept says in short what each snapshot is of.
func kept(all []incident.Snapshot) []string {
	out := []string{}
	for _, s := range all {
		what := string(s.Of) + " " + s.Step
		if s.Diagnosis != nil {
			what += " " + s.Diagnosis.Name
		}
		out = append(out, what+" "+string(s.Verdict))
	}
	return out
}

// What is kept of an incident that goes its whole way: what was said, what was checked, and how it ended. The
// investigations in between that find the same are not.
func TestTheEvidenceBehindEachStepIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := settled(b, sick(5, addReplica()))
	b.sight.see(well())
	b.skip(time.Second)
	b.sweep()
	b.pass(20 * time.Minute)
	all := b.snapshots(inc.ID)
	want := []string{
		"investigated  overload ", "write_claimed p1-s1 overload ", "verified p1-s1 recovered",
	}
	if diff := cmp.Diff(want, kept(all)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	first := all[0]
	if got := first.Evidence.Readings["ttft"]; *got.Value != 5 || *got.Threshold != 1 {
		t.Errorf("the reading of then is %+v", got)
	}
	if diff := cmp.Diff([]incident.StepRequest{addReplica()}, first.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	s := first.Steps[0]
	if s.From != incident.Set("2") || s.To != incident.Set("3") || len(s.Guardrails) == 0 || s.Diff != "" ||
		s.Needs.Users != nil || s.Approvals != nil {
		t.Errorf("the step of then is %+v", s)
	}
	if g := first.Guards; g == nil || g.Mode != incident.ModeApprove || g.At.IsZero() || first.Healthy != incident.False {
		t.Errorf("the guardrails knew %+v, healthy %s", g, first.Healthy)
	}
	if s := all[1].Steps; len(s) != 1 || s[0].ID != "p1-s1" || all[1].Guards != nil {
		t.Errorf("of the check before the write: %+v", all[1])
	}
	s = all[2].Steps[0]
	if len(all[2].Steps) != 1 || s.ID != "p1-s1" || s.Verification != nil || all[2].Healthy != incident.True {
		t.Errorf("of the verification: %+v", all[2])
	}
}

func TestWhatIsNewInAnIncidentIsKept(t *testing.T) {
	t.Parallel()
	other := sick(5, throttle())
	other.diagnosis = "cache"
	for _, tt := range []struct {
		name string
		next finding
		want []string
	}{
		{"the same", sick(6, addReplica()), []string{"investigated  overload "}},
		{"another cause", other, []string{"investigated  overload ", "investigated  cache "}},
		{"another plan", sick(5, throttle()), []string{"investigated  overload ", "investigated  overload "}},
		{"no data", blind(), []string{"investigated  overload "}},
		{"health", well(), []string{"investigated  overload "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			inc := b.asked(sick(5, addReplica()))
			b.sight.see(tt.next)
			b.pass(3 * time.Minute)
			if diff := cmp.Diff(tt.want, kept(b.snapshots(inc.ID))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A diagnosis that was not found is an answer, too: other playbooks may find it.
func TestAnIncidentWithoutADiagnosisIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.see(blind())
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Minute)
	if diff := cmp.Diff([]string{"investigated  "}, kept(b.snapshots(b.open("llama").ID))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The value that a person chose is none that a playbook has asked for.
func TestAChosenValueIsKeptAsChosen(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, throttle()))
	b.narrow(inc, "p1-s1", "48")
	b.sweep()
	b.narrow(b.open("llama"), "p2-s1", "56")
	b.sweep()
	all := b.snapshots(inc.ID)
	if len(all) != 3 {
		t.Fatalf("kept %v", kept(all))
	}
	if diff := cmp.Diff(map[incident.StepKind]int64{incident.StepThrottle: 48}, all[1].Chosen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := all[2].Chosen[incident.StepThrottle]; got != 56 {
		t.Errorf("the second choice is kept as %d", got)
	}
	if all[0].Chosen != nil {
		t.Errorf("before anybody chose: %v", all[0].Chosen)
	}
}

// A guardrail that could not be asked refused the step, and the snapshot says so: a replay must not find it passed.
func TestAnUnreadLedgerIsKeptAsUnread(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.see(sick(5, addReplica()))
	b.store.ledger = errors.New("the disk is full")
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	all := b.snapshots(b.open("llama").ID)
	if len(all) != 1 || all[0].Guards == nil || !all[0].Guards.WritesUnknown || len(all[0].Guards.Unread) != 2 {
		t.Errorf("kept %+v", all)
	}
}
