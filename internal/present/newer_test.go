package present

import (
	"reflect"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const newerWords = "cordoned by the autoscaler"

// newerFacts is a reason of a kind that only a newer version knows; what it has for details is not the reason.
var newerFacts = incident.Reason{Kind: "cordoned", Text: "node gpu-7"}

// Replicas of two versions share a store while an update rolls out. What only the newer one can put into words, the
// older one shows and keeps as the newer one has worded it.
func TestTheWordsOfANewerVersionAreShownAndKept(t *testing.T) {
	t.Parallel()
	step := incident.Step{
		Kind: incident.StepReplicas, State: incident.StepRefused, Cause: newerFacts, Reason: newerWords,
		Guardrails: []incident.Guardrail{
			{Name: "capacity", Verdict: incident.GuardRefuse, Cause: newerFacts, Reason: newerWords},
		},
	}
	reverted := incident.Note{Kind: incident.NoteStepReverted, Step: "Scale", Cause: newerFacts, Why: newerWords}
	quarantined := incident.Note{
		Kind: "quarantined", Cause: incident.Reason{Kind: incident.ReasonRecovered}, Why: newerWords, Config: "pools:",
	}
	stored := func() incident.Incident {
		return incident.Incident{
			Said: reverted, Note: "Scale was reverted: " + newerWords + ".",
			LastLeftOut: &incident.Entry{
				Kind: incident.KindClosed, Line: 400, Said: quarantined, Text: "Closed: Quarantined. (Line 400.)\npools:",
			},
			Active:         &incident.Active{Said: incident.Note{Kind: "rebalancing"}, Why: "the load moved"},
			Attempts:       []incident.Attempt{{Cause: newerFacts, Why: newerWords}},
			AppliedEarlier: []incident.Step{step},
			Plan:           &incident.Plan{Steps: []incident.Step{step}},
		}
	}
	want, inc := stored(), stored()
	for name, got := range map[string][2]string{
		"the step":      {Reason(step), newerWords},
		"the guardrail": {Guardrail(step.Guardrails[0]), newerWords},
		"the note":      {Plain(Note(inc)), want.Note},
		"the entry":     {Plain(Entry(*inc.LastLeftOut)), "Closed: Quarantined. (Line 400.)"},
		"the undo":      {Plain(Why(*inc.Active)), want.Active.Why},
		"the attempt": {
			Plain(Tried(incident.Step{Attempt: &inc.Attempts[0]})), "tried at 00:00 UTC: " + newerWords,
		},
		"the refusal": {
			Plain(Refusal(&incident.RefusedError{Said: incident.Note{Kind: "refused_quota"}, Reason: "Over quota."})),
			"Over quota.",
		},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %q, want %q", name, got[0], got[1])
		}
	}
	if got := Refusals(step); len(got) != 1 || got[0] != newerWords {
		t.Errorf("the refusals: %q", got)
	}
	if got := Fill(incident.Result{Incident: inc}).Incident; !reflect.DeepEqual(got, want) {
		t.Errorf("filled\ngot  %+v\nwant %+v", got, want)
	}
	inc = stored()
	inc.Said, inc.Note = quarantined, "Quarantined. Add one like this:\npools:"
	if got := Plain(Note(inc)); got != "Quarantined. Add one like this:" {
		t.Errorf("the note with an example: %q", got)
	}
	if got := Fill(incident.Result{Incident: inc}).Incident; got.Note != inc.Note || got.Said != quarantined {
		t.Errorf("filled: %q, %+v", got.Note, got.Said)
	}
}

// A kind that this version knows may have details that it does not.
func TestTheWordsForDetailsOfANewerVersionAreShownAndKept(t *testing.T) {
	t.Parallel()
	const words = "All metrics within the budget."
	finding := &incident.Comparison{Finding: "within_budget"}
	noEffect := &incident.Comparison{Finding: incident.FoundHealthy, NoEffect: "shadowed"}
	routed := &incident.Routing{Routes: []incident.Route{{Kind: "mirrored", Why: "timeout"}}}
	trailed := &incident.Routing{Routes: []incident.Route{{
		Kind: incident.RouteOwners, Trail: incident.Trail{Kind: "mesh", Pod: "llm/llama-0"},
	}}}
	for want, n := range map[string]incident.Note{
		"Fixed: " + words: {Kind: incident.NoteVerified, Verdict: incident.VerdictRecovered, Check: finding, Why: words},
		"Check 2 after the change: worse. " + words: {
			Kind: incident.NoteReading, Verdict: incident.VerdictWorse, Count: 2, Check: noEffect, Why: words,
		},
		"The mirror led to pool llama.": {
			Kind: incident.NoteRouting, Routing: routed, Why: "The mirror led to pool llama.",
		},
		"The mesh led to pool llama.": {
			Kind: incident.NoteRouting, Routing: trailed, Why: "The mesh led to pool llama.",
		},
	} {
		if got := Said(n); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := Fill(incident.Result{Incident: incident.Incident{Said: n}}).Incident; got.Said != n || got.Note != want {
			t.Errorf("filled: %q, %+v", got.Note, got.Said)
		}
	}
	for _, c := range []*incident.Comparison{finding, noEffect} {
		if got := Verification(incident.Verification{Comparison: c, Why: words}); got != words {
			t.Errorf("the verification: %q", got)
		}
	}
}

// Without words there are at least the parts that are known.
func TestWhatHasNoWordsAtAllIsSaidInPart(t *testing.T) {
	t.Parallel()
	notUndone := newerFacts
	notUndone.NotUndone = true
	moved := []incident.Move{{
		Before: incident.Reading{Title: "Waiting", Value: new(9.0), Unit: incident.UnitCount},
		After:  incident.Reading{Title: "Waiting", Value: new(4.0), Unit: incident.UnitCount},
	}}
	for want, got := range map[string]string{
		"node gpu-7":                  Reason(incident.Step{Cause: newerFacts}),
		"not rolled back: node gpu-7": Reason(incident.Step{Cause: notUndone}),
		"Waiting 9 → 4.": Verification(incident.Verification{
			Comparison: &incident.Comparison{Finding: "x", Moves: moved},
		}),
		"Applied: Scale.": Said(incident.Note{
			Kind: incident.NoteDone, Step: "Scale", StepKind: incident.StepReplicas, Cause: incident.Reason{Kind: "x"},
		}),
		"Fixed": Said(incident.Note{
			Kind: incident.NoteVerified, Verdict: incident.VerdictRecovered, Check: &incident.Comparison{Finding: "x"},
		}),
		"The alert leads to pod llm/llama-0, which has no owner.": Said(incident.Note{
			Kind: incident.NoteRouting, Routing: &incident.Routing{Routes: []incident.Route{{
				Kind: incident.RouteOwners, Trail: incident.Trail{Kind: "mesh", Pod: "llm/llama-0"},
			}}},
		}),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
