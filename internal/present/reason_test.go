package present

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

func TestEveryReasonHasWordsInTheVoice(t *testing.T) {
	t.Parallel()
	all := declared[incident.ReasonKind](t, "reason.go")
	if len(all) < 18 {
		t.Fatalf("only %d kinds were found", len(all))
	}
	for _, k := range all {
		r := incident.Reason{Kind: k}
		outside := k == incident.ReasonText || k == incident.ReasonGone
		if text := cause(r); (text == "") != outside {
			t.Errorf("%s says %q", k, text)
		}
		r = incident.Reason{
			Kind: k, Text: "the object was deleted", By: "helm", Value: incident.Set("2"), After: 6 * time.Second,
			Hint: "change it in Git",
		}
		voice.Check(t, string(k), voice.Message(cause(r)))
	}
}

func TestReasonsSayWhyAStepIsWhereItIs(t *testing.T) {
	t.Parallel()
	const after = 6 * time.Second
	for want, r := range map[string]incident.Reason{
		"approval expired": {Kind: incident.ReasonExpired},
		"not rolled back: unknown whether the last write took effect; check the object": {
			Kind: incident.ReasonWriteUnknown, NotUndone: true,
		},
		"not rolled back: paused": {Kind: incident.ReasonText, Text: "paused", NotUndone: true},
		"rolled back, but helm set it back to 129 after 6 s; change it in Git": {
			Kind: incident.ReasonSetBack, By: "helm", Value: incident.Set("129"), After: after, Undone: true,
			Hint: "change it in Git",
		},
		"another client set it back to 2": {Kind: incident.ReasonSetBack, Value: incident.Set("2")},
		"kubectl-edit moved it further, to 5 after 6 s": {
			Kind: incident.ReasonMovedFurther, By: "kubectl-edit", Value: incident.Set("5"), After: after,
		},
		"kubectl-edit set it to 1":    {Kind: incident.ReasonSet, By: "kubectl-edit", Value: incident.Set("1")},
		"helm removed it again":       {Kind: incident.ReasonRemovedAgain, By: "helm"},
		"helm removed it after 6 s":   {Kind: incident.ReasonRemoved, By: "helm", After: after},
		"the object was deleted":      {Kind: incident.ReasonGone, Text: "the object was deleted"},
		"what only a newer one knows": {Kind: "quarantined", Text: "what only a newer one knows"},
	} {
		if got := Reason(incident.Step{Cause: r, Reason: "not this"}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A version before this one stored the words and nothing else.
func TestReasonsOfOtherVersionsAreShown(t *testing.T) {
	t.Parallel()
	if got := Reason(incident.Step{Reason: "helm set it back to 2"}); got != "helm set it back to 2" {
		t.Errorf("the step: %q", got)
	}
	tried := incident.Step{Attempt: &incident.Attempt{
		At: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), Why: "helm set it back to 2",
	}}
	if got := Plain(Tried(tried)); got != "tried at 03:00 UTC: helm set it back to 2" {
		t.Errorf("the attempt: %q", got)
	}
	said := incident.Note{Kind: incident.NoteStepReverted, Step: "Scale", Why: "helm set it back to 2."}
	if got := Said(said); got != "Scale was reverted: helm set it back to 2." {
		t.Errorf("the note: %q", got)
	}
}

func TestFillWritesReasonsInWords(t *testing.T) {
	t.Parallel()
	step := incident.Step{Cause: incident.Reason{Kind: incident.ReasonRecovered}}
	res := Fill(incident.Result{Incident: incident.Incident{
		AppliedEarlier: []incident.Step{step}, Plan: &incident.Plan{Steps: []incident.Step{step, {Reason: "old"}}},
		Attempts: []incident.Attempt{{Cause: incident.Reason{Kind: incident.ReasonNoAnswer}}, {Why: "old"}},
	}})
	inc := res.Incident
	for _, got := range [][2]string{
		{inc.AppliedEarlier[0].Reason, "recovered"},
		{inc.Plan.Steps[0].Reason, "recovered"},
		{inc.Plan.Steps[1].Reason, "old"},
		{inc.Attempts[0].Why, "the API server gave no clear answer"},
		{inc.Attempts[1].Why, "old"},
	} {
		if got[0] != got[1] {
			t.Errorf("got %q, want %q", got[0], got[1])
		}
	}
}

// A replica of an older version shows a row of this one by its kind and its text.
func TestFillLeavesOlderVersionsSomethingToShow(t *testing.T) {
	t.Parallel()
	back := incident.Reason{Kind: incident.ReasonSetBack, By: "helm", Value: incident.Set("2")}
	reverted := incident.Note{Kind: incident.NoteStepReverted, Step: "Scale", Cause: back}
	verified := incident.Note{
		Kind: incident.NoteVerified, Verdict: incident.VerdictRecovered,
		Check: &incident.Comparison{Finding: incident.FoundHealthy},
	}
	routed := incident.Note{Kind: incident.NoteRouting, Routing: &incident.Routing{LeftOut: 7}}
	res := Fill(incident.Result{
		Incident: incident.Incident{Said: reverted, LastLeftOut: &incident.Entry{Said: reverted}},
		Entries:  []incident.Entry{{Said: verified}, {Said: routed}},
	})
	for got, want := range map[*incident.Note]string{
		&res.Incident.Said:             "Scale was reverted: helm set it back to 2.",
		&res.Incident.LastLeftOut.Said: "Scale was reverted: helm set it back to 2.",
		&res.Entries[0].Said:           "Fixed: All metrics within limits.",
		&res.Entries[1].Said:           "Alertmanager left 7 more alerts out of this group (max_alerts).",
	} {
		older := *got
		older.Cause, older.Check, older.Routing = incident.Reason{}, nil, nil
		if text := Said(older); text != want {
			t.Errorf("without the facts it says %q, want %q", text, want)
		}
	}
	if !res.Incident.Said.Same(reverted) {
		t.Error("a note that was filled is not the same any more")
	}
	other := reverted
	other.Cause.Value = incident.Set("3")
	if res.Incident.Said.Same(other) {
		t.Error("another cause counts as the same")
	}
}
