package present

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

func TestEveryReasonHasWordsInTheVoice(t *testing.T) {
	t.Parallel()
	all := declared[incident.ReasonKind](t, "reason.go")
	if len(all) < 44 {
		t.Fatalf("only %d kinds were found", len(all))
	}
	for _, k := range all {
		r := incident.Reason{Kind: k}
		outside := k == incident.ReasonText || k == incident.ReasonGone
		if text := cause(r, ""); (text == "") != outside {
			t.Errorf("%s says %q", k, text)
		}
		r = incident.Reason{
			Kind: k, Text: "the object was deleted", By: "helm", Value: incident.Set("2"), After: 6 * time.Second,
			Target: incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama", Field: "spec.replicas"},
			Was:    incident.Set("2"), Instead: "Set replicas to 4", Mode: incident.ModeObserve, Count: 1, Of: 2,
			Who: incident.Actor{Kind: "slack", ID: "U0ALICE"}, Pool: "llama", Incident: "inc-2", Check: "capacity",
			Given: "hold", Hint: "change it in Git",
		}
		voice.Check(t, string(k), voice.Message(cause(r, "")))
	}
}

func TestReasonsSayWhyAStepIsNotRun(t *testing.T) {
	t.Parallel()
	target := incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama", Field: "spec.replicas"}
	two, three := incident.Set("2"), incident.Set("3")
	for want, r := range map[string]incident.Reason{
		"the bot is now in mode observe": {Kind: incident.ReasonMode, Mode: incident.ModeObserve},
		"the approvers changed: 1 of the 2 approvals needed now count": {
			Kind: incident.ReasonApprovers, Count: 1, Of: 2,
		},
		"policy no longer runs it automatically: needs 2 approval(s)": {
			Kind: incident.ReasonNotAutomatic, Text: "needs 2 approval(s)",
		},
		"the diagnosis no longer holds: now it is Long prompts.": {
			Kind: incident.ReasonDiagnosis, Instead: "Long prompts.",
		},
		"the diagnosis no longer holds: The readings are missing.": {
			Kind: incident.ReasonDiagnosis, Text: "The readings are missing.",
		},
		"the diagnosis no longer holds: the metrics are inconclusive": {Kind: incident.ReasonDiagnosis},
		"the runbook no longer asks for this step":                    {Kind: incident.ReasonNotAsked},
		"the runbook no longer asks for this step. It now asks for: Set replicas to 4": {
			Kind: incident.ReasonNotAsked, Instead: "Set replicas to 4",
		},
		"the runbook now asks for another change: Set replicas to 4": {
			Kind: incident.ReasonOtherChange, Instead: "Set replicas to 4",
		},
		"this step can't be proposed anymore: at the maximum": {
			Kind: incident.ReasonNotProposable, Text: "at the maximum",
		},
		"it could not be checked again: timeout": {Kind: incident.ReasonUnchecked, Text: "timeout"},
		"its object could not be read: timeout":  {Kind: incident.ReasonObjectUnread, Text: "timeout"},
		"a later step changed the same value (Set throttle to 16); roll that one back first": {
			Kind: incident.ReasonOnTop, Instead: "Set throttle to 16",
		},
		"found applied after an interruption": {Kind: incident.ReasonInterrupted},
		"Deployment llm/llama spec.replicas is now 3, changed by someone else. helm set it.": {
			Kind: incident.ReasonChanged, Target: target, Value: three, Text: "helm set it.",
		},
		"Deployment llm/llama spec.replicas is now unset, changed by someone else": {
			Kind: incident.ReasonChanged, Target: target,
		},
		"the write had no clear answer. Deployment llm/llama spec.replicas is 2 as before, but the object has changed " +
			"since the write was claimed, so it's unknown whether the write took effect": {
			Kind: incident.ReasonUnsure, Target: target, Value: two, Was: two,
		},
		"the write had no clear answer. Deployment llm/llama spec.replicas is 3 now, but the object has changed " +
			"since the write was claimed (helm was the last to set the value), so it's unknown whether the write took effect": {
			Kind: incident.ReasonUnsure, Target: target, Value: three, Was: two, By: "helm",
		},
		"gave up after 6 tries without a clear answer; last: timeout": {
			Kind: incident.ReasonGaveUp, Count: 6, Text: "timeout",
		},
		"it could not be checked: timeout": {Kind: incident.ReasonRolloutUnread, Text: "timeout"},
		"not complete after 30 min. 2 of 3 pods are ready.": {
			Kind: incident.ReasonTooSlow, After: 30 * time.Minute, Text: "2 of 3 pods are ready.",
		},
	} {
		if got := Reason(incident.Step{Cause: r}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestReasonsSayWhyAStepIsBlocked(t *testing.T) {
	t.Parallel()
	target := incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama", Field: "spec.replicas"}
	pause := incident.Pause{Reason: "network change", By: incident.Actor{Kind: "kubernetes", ID: "alice"}}
	ofPool := pause
	ofPool.Pool, ofPool.Reason = "llama", ""
	for want, r := range map[string]incident.Reason{
		"writes are paused for all pools by alice: network change": (&incident.PausedError{Pause: pause}).Reason(),
		"writes are paused for pool llama by alice":                (&incident.PausedError{Pause: ofPool}).Reason(),
		"Deployment llm/llama is being changed by incident inc-2": (&incident.LockedError{
			Target: target.Key(), Incident: "inc-2",
		}).Reason(),
		"Deployment llm/llama spec.replicas changed since the proposal: it was 2 and is unset now": (&incident.DriftError{
			Target: target, Want: incident.Set("2"),
		}).Reason(),
		"Deployment llm/llama spec.replicas changed since the proposal: the object was replaced": (&incident.DriftError{
			Target: target, Why: "the object was replaced",
		}).Reason(),
		"could not be read: timeout":                               {Kind: incident.ReasonValueUnread, Text: "timeout"},
		"cannot be read from the store: locked up":                 {Kind: incident.ReasonLedgerUnread, Text: "locked up"},
		`the check "bounds" refuses it`:                            {Kind: incident.ReasonCheck, Check: "bounds"},
		`this version doesn't know steps of the kind "quarantine"`: {Kind: incident.ReasonStepKind, Given: "quarantine"},
		`this version doesn't know the verdict "hold" of the check "capacity". no GPU is free`: {
			Kind: incident.ReasonVerdict, Check: "capacity", Given: "hold", Text: "no GPU is free",
		},
	} {
		if got := Reason(incident.Step{Cause: r}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRefusalsAreThoseOfEveryCheckThatRefuses(t *testing.T) {
	t.Parallel()
	locked := incident.Reason{Kind: incident.ReasonLedgerUnread, Text: "locked up"}
	step := incident.Step{Kind: incident.StepReplicas, Guardrails: []incident.Guardrail{
		{Name: "bounds", Verdict: incident.GuardPass, Reason: "3 is within 1 to 4"},
		{Name: "lock", Verdict: incident.GuardRefuse, Cause: locked},
		{Name: "budget", Verdict: incident.GuardRefuse, Reason: "4 of 4 changes"},
	}}
	want := []string{"cannot be read from the store: locked up", "4 of 4 changes"}
	if got := Refusals(step); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	unknown := incident.Step{Kind: "quarantine"}
	if got := Refusals(unknown); len(got) != 1 || got[0] != `this version doesn't know steps of the kind "quarantine"` {
		t.Errorf("got %q", got)
	}
	if got := Refusals(incident.Step{Kind: incident.StepReplicas}); len(got) != 0 {
		t.Errorf("nothing refuses, and it says %q", got)
	}
	// The words go beside the facts, and not into what brought them.
	res := Fill(incident.Result{Incident: incident.Incident{Plan: &incident.Plan{Steps: []incident.Step{step}}}})
	filled := res.Incident.Plan.Steps[0].Guardrails
	if filled[0].Reason != "3 is within 1 to 4" || filled[1].Reason != want[0] || filled[2].Reason != want[1] {
		t.Errorf("filled: %+v", filled)
	}
	if step.Guardrails[1].Reason != "" {
		t.Error("the check of the event has changed")
	}
	older := filled[1]
	older.Cause = incident.Reason{}
	if got := Guardrail(older); got != want[0] {
		t.Errorf("of an older version: %q", got)
	}
}

// A reason at the end of a note begins a sentence; text that comes from elsewhere is as it is.
func TestANoteEndsWithItsReason(t *testing.T) {
	t.Parallel()
	slow := incident.Reason{Kind: incident.ReasonTooSlow, After: 30 * time.Minute}
	undone := incident.Note{
		Kind: incident.NoteUndone, StepKind: incident.StepReplicas, Value: incident.Set("2"), Failed: true,
		Target: incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama", Field: "spec.replicas"},
	}
	withCause := func(n incident.Note, r incident.Reason) incident.Note {
		n.Cause = r
		return n
	}
	done := incident.Note{Kind: incident.NoteDone, Step: "Scale", StepKind: incident.StepReplicas}
	older := done
	older.Why = "Found applied after an interruption."
	for want, n := range map[string]incident.Note{
		"Applied: Scale. Found applied after an interruption.": withCause(done,
			incident.Reason{Kind: incident.ReasonInterrupted}),
		"Applied: Scale. max_num_seqs is 8.": withCause(done,
			incident.Because("max_num_seqs is 8.")),
		"Applied: Scale.": done,
		"Rolled back: Deployment llm/llama spec.replicas is 2 again, but its rollout failed. " +
			"Not complete after 30 min.": withCause(undone, slow),
		"The rollout failed: not complete after 30 min.": {
			Kind: incident.NoteNotRolledOut, StepKind: incident.StepReplicas, Cause: slow,
		},
		"The rollout failed: it could not be checked: timeout.": {
			Kind: incident.NoteNotRolledOut, StepKind: incident.StepReplicas,
			Cause: incident.Reason{Kind: incident.ReasonRolloutUnread, Text: "timeout"},
		},
		"The rollout failed.": {Kind: incident.NoteNotRolledOut, StepKind: incident.StepReplicas},
	} {
		if got := Said(n); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := Said(older); got != "Applied: Scale. Found applied after an interruption." {
		t.Errorf("of an older version: %q", got)
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
		"kubectl-edit set it to 1":  {Kind: incident.ReasonSet, By: "kubectl-edit", Value: incident.Set("1")},
		"helm removed it again":     {Kind: incident.ReasonRemovedAgain, By: "helm"},
		"helm removed it after 6 s": {Kind: incident.ReasonRemoved, By: "helm", After: after},
		"the object was deleted":    {Kind: incident.ReasonGone, Text: "the object was deleted"},
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
		older = *got
		if older.Cause.Kind != "" {
			older.Cause.Kind = "of this version"
		}
		if older.Check != nil {
			older.Check = &incident.Comparison{Finding: "of this version", Moves: older.Check.Moves}
		}
		if text := Said(older); text != want {
			t.Errorf("of kinds that it does not know it says %q, want %q", text, want)
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
