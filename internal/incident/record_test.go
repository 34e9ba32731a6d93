package incident

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// records are those that an event puts on its lines; each event has one at most.
func records(t *testing.T, inc Incident, ev Event) (Incident, *Record) {
	t.Helper()
	res, err := Apply(inc, ofActive(inc, ev), now)
	if err != nil {
		t.Fatalf("%s in state %s: %v", ev.Kind(), inc.State, err)
	}
	var out *Record
	for _, e := range res.Entries {
		if e.Record != nil && out != nil {
			t.Fatalf("%s has two records", ev.Kind())
		}
		if e.Record != nil {
			out = e.Record
		}
	}
	return res.Incident, out
}

func TestTheJournalSaysWhoDidWhatToWhich(t *testing.T) {
	t.Parallel()
	step := scaleStep("2", "3")
	step.Diff = "-2\n+3"
	inc := deciding(t, step)
	plan, digest := inc.Plan.Digest, inc.Plan.Steps[0].Digest
	about := Record{
		By: alice, Op: OpApply, Plan: plan, StepDigest: digest, StepKind: StepReplicas, Target: step.Target,
		From: Set("2"), To: Set("3"), Diff: "-2\n+3",
	}
	back := about
	back.Op, back.From, back.To, back.Diff = OpUndo, Set("3"), Set("2"), ""
	with := func(r Record, change func(*Record)) *Record {
		change(&r)
		return &r
	}
	for _, tt := range []struct {
		ev   Event
		want *Record
	}{
		{approve(inc, "p1-s1", alice), with(about, func(r *Record) { r.Verb = Approve })},
		{
			WriteClaimed{WriteID: "w1", Mark: &Mark{Version: "41"}},
			with(about, func(r *Record) { r.Write, r.Before = "w1", "41" }),
		},
		{Unanswered{Error: "cut"}, nil},
		{
			Written{Result: ResultApplied, Versions: Versions{Before: "42", After: "43"}},
			with(about, func(r *Record) { r.Write, r.Result, r.Versions = "w1", ResultApplied, Versions{"42", "43"} }),
		},
		{RolledOut{SettleUntil: now}, nil},
		{Settled{}, nil},
		{verdict(VerdictImproved), nil},
		{
			Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: bob, Digest: plan}},
			with(back, func(r *Record) { r.By, r.Verb = bob, Undo }),
		},
		{WriteClaimed{WriteID: "w2"}, with(back, func(r *Record) { r.By, r.Write = bob, "w2" })},
		{
			Written{Result: ResultFailed, Why: Because("forbidden")},
			with(back, func(r *Record) { r.By, r.Write, r.Result = bob, "w2", ResultFailed }),
		},
	} {
		var got *Record
		inc, got = records(t, inc, tt.ev)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", tt.ev.Kind(), d)
		}
	}
}

// The version before a write whose answer was lost is the one that was read just before it was claimed.
func TestAWriteThatIsFoundLaterKeepsTheVersionBeforeItsClaim(t *testing.T) {
	t.Parallel()
	inc := must(t, applying(t, scaleStep("2", "3")), WriteClaimed{WriteID: "w1", Mark: &Mark{Version: "41"}},
		Unanswered{Error: "cut"})
	_, got := records(t, inc, Written{Result: ResultApplied, Versions: Versions{After: "50"}})
	if got == nil || got.Versions != (Versions{Before: "41", After: "50"}) {
		t.Errorf("got %+v", got)
	}
}

func TestADenialAndARefusedStepAreRecordedOnTheirOwnLines(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	res, err := Apply(inc, Decided{Decision: Decision{
		Step: "p1-s1", Digest: inc.Plan.Digest, Verb: Deny, By: alice,
	}}, now)
	if err != nil {
		t.Fatal(err)
	}
	if first := res.Entries[0]; first.Said.Kind != NoteDenied || first.Record == nil || first.Record.Verb != Deny {
		t.Errorf("a denial: %+v", first)
	}
	_, all := records(t, inc, Decided{Decision: Decision{Digest: inc.Plan.Digest, Verb: Deny, By: alice}})
	if all == nil || all.Verb != Deny || all.Plan != inc.Plan.Digest || all.StepDigest != "" {
		t.Errorf("a denial of everything: %+v", all)
	}
	_, got := records(t, applying(t, scaleStep("2", "3")), Stopped{Why: Because("paused"), ExpiresAt: now.Add(time.Hour)})
	if got == nil || got.By != alice || got.Result != "" || got.Op != OpApply {
		t.Errorf("a step that was stopped: %+v", got)
	}
}

// What older versions stored, and what has no record, is as short as before.
func TestALineWithoutARecordHasNoneInItsJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Entry{Seq: 1, At: now, Kind: KindAlerts, Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"seq":1,"at":"2026-11-21T03:00:00Z","kind":"alerts","text":"x"}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}

// News about alerts that waited is told before a decision on everything; the decision's own line has the record.
func TestTheRecordIsOnTheLineOfItsEvent(t *testing.T) {
	t.Parallel()
	inc := must(t, deciding(t, scaleStep("2", "3")), AlertsReceived{Alerts: []Alert{firing("late")}})
	deny := Decided{Decision: Decision{Digest: inc.Plan.Digest, Verb: Deny, By: alice}}
	res, err := Apply(inc, deny, now.Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	gathered := false
	for _, e := range res.Entries {
		gathered = gathered || e.Kind == KindGathered
		if (e.Record != nil) != (e.Kind == KindDecided && e.Said.Kind == NoteDeniedAll) {
			t.Errorf("%s %s: record %+v", e.Kind, e.Said.Kind, e.Record)
		}
	}
	if !gathered {
		t.Error("no news waited, so this shows nothing")
	}
}

// A rollback through the command line names no plan, and one from Slack only the step; the journal says which plan
// there was.
func TestARecordNamesThePlan(t *testing.T) {
	t.Parallel()
	inc := applied(t, scaleStep("2", "3"))
	s, _ := inc.Step("p1-s1")
	for _, digest := range []string{"", s.Digest} {
		_, r := records(t, inc, Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice, Digest: digest}})
		if r == nil || r.Plan != inc.Plan.Digest || r.StepDigest != s.Digest {
			t.Errorf("with the digest %q: %+v", digest, r)
		}
	}
}

// A step of an earlier plan is none of the present one's, which nobody saw when it was decided on.
func TestARollbackOfAnEarlierPlanIsNotOnThePresentOne(t *testing.T) {
	t.Parallel()
	inc := deciding(t, scaleStep("2", "3"))
	inc.AppliedEarlier = []Step{{
		ID: "p0-s1", Kind: StepThrottle, Title: "Throttle", State: StepApplied, Digest: "of the step", To: Set("64"),
		Undo: Set("256"),
	}}
	for name, tt := range map[string]struct{ digest, want string }{
		"without a digest":    {"", ""},
		"with the step's":     {"of the step", ""},
		"with that of a plan": {inc.Plan.Digest, inc.Plan.Digest},
	} {
		d := Decided{Decision: Decision{Step: "p0-s1", Digest: tt.digest, Verb: Undo, By: alice}}
		if r := recordOf(inc, d); r.Plan != tt.want || r.StepDigest != "of the step" {
			t.Errorf("%s: plan %q, step %q", name, r.Plan, r.StepDigest)
		}
	}
	if r := recordOf(inc, approve(inc, "p1-s1", alice)); r.Plan != inc.Plan.Digest {
		t.Errorf("a step of the plan: %q", r.Plan)
	}
}
