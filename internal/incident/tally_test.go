package incident

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tallied is what each event of a life makes count, a line each: the family, its labels, and how long it took.
func tallied(t *testing.T, inc Incident, step time.Duration, events ...Event) []string {
	t.Helper()
	var out []string
	at, version := inc.OpenedAt, int64(0)
	for _, ev := range events {
		at = at.Add(step)
		if d, ok := ev.(Decided); ok && inc.Plan != nil && d.Decision.Digest == "" {
			d.Decision.Digest = inc.Plan.Digest
			ev = d
		}
		res, err := Apply(inc, ofActive(inc, ev), at)
		if err != nil {
			t.Fatalf("%s in state %s: %v", ev.Kind(), inc.State, err)
		}
		inc = res.Incident
		for _, c := range (Change{Incident: inc, Expect: version, Entries: res.Entries}).Tallies() {
			line := string(c.Family) + " " + strings.Join(c.Labels, " ")
			if c.Family.Edges() != nil {
				line += c.Took.String()
			}
			out = append(out, line)
		}
		version++
	}
	return out
}

func decide(verb Verb, step string, by Actor) Decided {
	return Decided{Decision: Decision{Step: step, Verb: verb, By: by}}
}

func TestALifeIsCounted(t *testing.T) {
	t.Parallel()
	inc := received()
	inc.ReceivedAt = inc.OpenedAt.Add(-30 * time.Second)
	refusedStep := throttleStep()
	refusedStep.Guardrails = append(refusedStep.Guardrails,
		Guardrail{Name: "budget", Verdict: GuardRefuse, Reason: "used up"})
	end := now.Add(24 * time.Hour)
	got := tallied(t, inc, time.Minute,
		AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{},
		found("queueing", scaleStep("2", "3"), refusedStep),
		Asked{ExpiresAt: end}, decide(Approve, "p1-s1", alice),
		WriteClaimed{WriteID: "w1", Before: found("x").Evidence.Readings}, Written{Result: ResultApplied},
		RolledOut{SettleUntil: now}, Settled{}, verdict(VerdictUnchanged), Decided{Decision: Decision{
			Step: "p1-s1", Verb: Undo, By: Actor{Kind: "kubernetes", ID: "bob"},
		}},
		WriteClaimed{WriteID: "w2"}, Written{Result: ResultApplied}, RolledOut{}, Closed{By: alice, Reason: "enough"},
	)
	want := []string{
		"incidents_opened llama",
		"step_refusals proposal budget", "time_to_diagnosis 3m30s",
		"decisions approved slack", "time_to_decision 5m30s",
		"verdicts unchanged", "decisions rollback api", "rollbacks api",
		"incidents_closed llama queueing", "time_to_close 15m30s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestACureIsTimedOnlyWhenSomethingWasChanged(t *testing.T) {
	t.Parallel()
	life := []Event{
		AlertsReceived{Alerts: []Alert{firing("a")}},
		InvestigationStarted{},
		found("queueing", scaleStep("2", "3")),
		Asked{ExpiresAt: now.Add(24 * time.Hour)},
		decide(Approve, "p1-s1", Actor{Kind: "policy", ID: "auto"}),
		WriteClaimed{WriteID: "w1", Before: found("x").Evidence.Readings},
	}
	meant := append(slices.Clone(life), Written{Result: ResultApplied}, RolledOut{SettleUntil: now}, Settled{},
		verdict(VerdictRecovered))
	got := tallied(t, received(), time.Minute, meant...)
	if !slices.Contains(got, "time_to_recovery 10m0s") || !slices.Contains(got, "decisions approved policy") ||
		!slices.Contains(got, "verdicts recovered") {
		t.Errorf("a change that cured it: %q", got)
	}
	dry := received()
	dry.DryRun = true
	got = tallied(t, dry, time.Minute, append(slices.Clone(life), Written{Result: ResultDryRun},
		verdict(VerdictRecovered))...)
	for _, line := range got {
		if strings.HasPrefix(line, "verdicts") || strings.HasPrefix(line, "time_to_recovery") {
			t.Errorf("a dry run counts %q", line)
		}
	}
	if !slices.Contains(got, "decisions approved policy") {
		t.Errorf("the decision of a dry run is not counted: %q", got)
	}
}

func TestWhatStopsAStepBeforeItsWriteIsCounted(t *testing.T) {
	t.Parallel()
	pausing := Guardrail{Name: "pause", Verdict: GuardRefuse, Cause: Reason{Kind: ReasonPaused}}
	for _, c := range []struct {
		ev   Stopped
		want string
	}{
		{Stopped{Why: pausing.Cause, Guardrails: []Guardrail{pausing}}, "step_refusals write pause"},
		{Stopped{Why: Reason{Kind: ReasonDrift}}, "step_refusals write drift"},
		{Stopped{}, "step_refusals write text"},
	} {
		got := tallied(t, received(), time.Minute, AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{},
			found("queueing", scaleStep("2", "3")), Asked{ExpiresAt: now.Add(time.Hour)}, decide(Approve, "p1-s1", alice), c.ev)
		if got[len(got)-1] != c.want {
			t.Errorf("%q, want %q at the end", got, c.want)
		}
	}
}

func TestOnlyTheFirstDecisionIsTimed(t *testing.T) {
	t.Parallel()
	got := tallied(t, received(), time.Minute, AlertsReceived{Alerts: []Alert{firing("a")}}, InvestigationStarted{},
		found("queueing", scaleStep("2", "3"), throttleStep()), Asked{ExpiresAt: now.Add(time.Hour)},
		decide(Deny, "p1-s1", alice), decide(Deny, "", alice))
	timed := slices.DeleteFunc(slices.Clone(got), func(l string) bool { return !strings.HasPrefix(l, "time_to_decision") })
	denied := slices.DeleteFunc(slices.Clone(got), func(l string) bool { return l != "decisions denied slack" })
	if len(timed) != 1 || timed[0] != "time_to_decision 5m0s" || len(denied) != 2 {
		t.Errorf("%q", got)
	}
}

// Whatever alerts say, they are in no label.
func TestAFloodOfForeignAlertsAddsNoLabel(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for n := range 500 {
		inc := New(fmt.Sprint("inc-", n), "", ModeApprove, false, now)
		a := firing(fmt.Sprint("f", n))
		a.Labels = map[string]string{"alertname": fmt.Sprint("Foreign", n), "namespace": fmt.Sprint("ns", n)}
		for _, line := range tallied(t, inc, time.Second, AlertsReceived{Alerts: []Alert{a}}) {
			seen[line] = true
		}
	}
	if d := cmp.Diff(map[string]bool{"incidents_opened none": true}, seen); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestADrillCountsNowhere(t *testing.T) {
	t.Parallel()
	inc := received()
	inc.Drill = &Drill{}
	ch := Change{Incident: inc, Entries: []Entry{{Kind: KindClosed, At: now}, {Said: Note{Kind: NoteExpired}}}}
	if got := ch.Tallies(); len(got) > 0 {
		t.Errorf("counted %+v", got)
	}
	if _, counts := inc.MessageTally(now); counts {
		t.Error("its message is counted")
	}
}
