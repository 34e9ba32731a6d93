package present

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// declared are all constants of a type that a file of the domain declares.
func declared[T ~string](t *testing.T, name string) []T {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../incident/"+name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kind := reflect.TypeFor[T]().Name()
	var out []T
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := v.Type.(*ast.Ident); ok && of.Name == kind {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, T(text))
		}
		return true
	})
	return out
}

func full(k incident.NoteKind) incident.Note {
	return incident.Note{
		Kind: k, By: incident.Actor{Kind: "slack", ID: "U0ALICE"}, Other: incident.Actor{Kind: "kubernetes", ID: "bob"},
		Step:     "Scale 2 → 3",
		StepKind: incident.StepReplicas,
		Target:   incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama", Field: "spec.replicas"},
		Value:    incident.Set("2"), Names: "High TTFT (llama-0)", Pool: "llama", Mode: incident.ModeApprove,
		WasMode: incident.ModeDryRun,
		Verdict: incident.VerdictWorse, Check: &incident.Comparison{Finding: incident.FoundWorse},
		Verb: incident.Approve, State: incident.StepApplied, Event: incident.KindAcked, During: incident.StateWatching,
		Count: 2, Of: 3,
		At: time.Date(2026, 3, 1, 3, 40, 0, 0, time.UTC), For: 10 * time.Minute, Silent: 24 * time.Hour,
		Setback: incident.SetbackHung,
		Parked:  true, Why: "paused by the on-call", Hint: "change it in Git",
		Routing: &incident.Routing{LeftOut: 7},
	}
}

func TestEveryKindOfNoteHasWordsInTheVoice(t *testing.T) {
	t.Parallel()
	all := slices.Concat(declared[incident.NoteKind](t, "note.go"), declared[incident.NoteKind](t, "refusal.go"))
	if len(all) < 100 {
		t.Fatalf("only %d kinds were found", len(all))
	}
	for _, k := range all {
		// Words that are no more than Why are those of a kind that is not known.
		if text := Said(full(k)); text == "" || text == full(k).Why && k != incident.NoteText {
			t.Errorf("%s has no words", k)
		}
		for _, n := range []incident.Note{{Kind: k}, full(k)} {
			voice.Check(t, string(k), voice.Message(Said(n)))
		}
	}
}

func TestNotesSayWhatHappened(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 3, 1, 0, 0, time.UTC)
	alice := incident.Actor{Kind: "kubernetes", ID: "alice"}
	throttle := incident.Target{Kind: "BackendTrafficPolicy", Namespace: "llm", Name: "m", Field: "limit"}
	for want, n := range map[string]incident.Note{
		"Closed by alice: known load test.": {Kind: incident.NoteClosedBy, By: alice, Why: "known load test."},
		"Healthy for 10 min.":               {Kind: incident.NoteHealthyFor, For: 10 * time.Minute},
		"Healthy for 10 min. Alertmanager has sent nothing about these alerts for 24 h.": {
			Kind: incident.NoteUnheard, For: 10 * time.Minute, Silent: 24 * time.Hour,
		},
		"Also firing: A. Firing again: B. Flapping: C. Resolved: D (3 still firing).": {
			Kind: incident.NoteAlerts, Names: "A", Again: "B", Flapped: "C", Ended: "D", Count: 3, Pool: "p",
		},
		"Flapping: C.": {Kind: incident.NoteAlerts, Flapped: "C", Pool: "p"},
		"All alerts resolved: D. Waiting for metrics to confirm.": {Kind: incident.NoteAlerts, Ended: "D", Pool: "p"},
		"Resolved: A, B (2 still firing).": {
			Kind: incident.NoteResolved, Names: "A, B", Count: 2,
			Pool: "p",
		},
		"Resolved: A (1 still firing).": {
			Kind: incident.NoteResolved, Names: "A", Count: 1,
			Pool: "p",
		},
		"All alerts resolved: A. Waiting for metrics to confirm.": {Kind: incident.NoteResolved, Names: "A", Pool: "p"},
		"All alerts resolved: A.":                                 {Kind: incident.NoteResolved, Names: "A"},
		"Approval expired; nothing was changed.":                  {Kind: incident.NoteExpired},
		"Approval expired. Still in place: Scale 2 → 3.":          {Kind: incident.NoteExpired, Names: "Scale 2 → 3"},
		"alice denied: Scale 2 → 3. Reason: too late": {
			Kind: incident.NoteDenied, By: alice,
			Step: "Scale 2 → 3", Why: "too late",
		},
		"Rolling back to 2: Scale (it made it worse).": {
			Kind: incident.NoteUndoing, Step: "Scale",
			Value: incident.Set("2"), Verdict: incident.VerdictWorse,
		},
		"Healthy for 10 min: reverting to unset (Throttle).": {
			Kind: incident.NoteUndoing, Step: "Throttle",
			For: 10 * time.Minute,
		},
		"Rolling back to 2: Scale (requested by alice: too early).": {
			Kind: incident.NoteUndoing, Step: "Scale",
			Value: incident.Set("2"), By: alice, Why: "too early",
		},
		"Applied: Scale.": {
			Kind: incident.NoteDone, Step: "Scale",
			StepKind: incident.StepReplicas,
		},
		"Applied: Throttle.": {
			Kind: incident.NoteDone, Step: "Throttle",
			StepKind: incident.StepThrottle,
		},
		"Live. Accepted. First check at 03:01 UTC.": {
			Kind:     incident.NoteRolledOut,
			StepKind: incident.StepThrottle, Why: "Accepted.", At: at,
		},
		"The change did not take effect: Invalid: x.": {
			Kind: incident.NoteNotRolledOut, StepKind: incident.StepThrottle,
			Why: "Invalid: x",
		},
		"Not applied: paused. Nothing was changed.": {Kind: incident.NoteNotDone, Why: "paused."},
		"Fixed: all metrics within limits": {
			Kind: incident.NoteVerified, Verdict: incident.VerdictRecovered,
			Why: "all metrics within limits",
		},
		"Moved to pool phi: A (phi-0).": {Kind: incident.NoteMoved, Names: "A (phi-0)", Pool: "phi"},
		"Work on this incident failed with an internal error. (boom) Next attempt at 03:01 UTC.": {
			Kind: incident.NoteWorkFailed, Setback: incident.SetbackPanic, Why: "boom", At: at,
		},
		"Rolled back: BackendTrafficPolicy llm/m limit is 184 again, but that did not take effect. Invalid: x": {
			Kind: incident.NoteUndone, StepKind: incident.StepThrottle, Target: throttle, Value: incident.Set("184"),
			Failed: true, Why: "Invalid: x",
		},
		"Reopened: A firing again. The pool is now in mode dry-run: nothing will be changed.": {
			Kind: incident.NoteReopened, Names: "A", WasMode: incident.ModeApprove, Mode: incident.ModeDryRun,
		},
		"Reopened: A firing again. The pool is now in mode approve: this is no longer a dry run.": {
			Kind: incident.NoteReopened, Names: "A", WasMode: incident.ModeDryRun, Mode: incident.ModeApprove,
		},
	} {
		if got := Said(n); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A version before this one stored sentences and nothing else; a newer one may have kinds that are not known here.
func TestStoredNotesOfOtherVersionsAreShown(t *testing.T) {
	t.Parallel()
	old := incident.Incident{Note: "Nobody decided."}
	if got := Plain(Note(old)); got != old.Note {
		t.Errorf("the note is %q", got)
	}
	if got := Plain(Entry(incident.Entry{Text: "Alert joined: A."})); got != "Alert joined: A." {
		t.Errorf("the entry is %q", got)
	}
	if got := Plain(Why(incident.Active{Why: "asked for"})); got != "asked for" {
		t.Errorf("the undo is because %q", got)
	}
	if got := Plain(Tried(incident.Step{Tried: "tried at 03:00 UTC"})); got != "tried at 03:00 UTC" {
		t.Errorf("tried: %q", got)
	}
	if got := Said(incident.Note{Kind: "quarantined", Why: "a reason"}); got != "a reason" {
		t.Errorf("an unknown kind is %q", got)
	}
}

func TestFillWritesTheWordsBesideTheFacts(t *testing.T) {
	t.Parallel()
	by := incident.Actor{Kind: "kubernetes", ID: "alice"}
	res := Fill(incident.Result{
		Incident: incident.Incident{
			Said:   incident.Note{Kind: incident.NoteAborted, By: by, Why: "enough"},
			Active: &incident.Active{Said: incident.Note{Kind: incident.NoteUndoing, By: by}},
			Plan: &incident.Plan{Steps: []incident.Step{{Attempt: &incident.Attempt{
				At: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), Verdict: incident.VerdictWorse, UndoneBy: &by,
			}}}},
		},
		Entries: []incident.Entry{
			{Kind: incident.KindClosed, Said: incident.Note{Kind: incident.NoteNoneFires}, Line: 400},
			{Said: incident.Note{Kind: incident.NoteNoPool, Config: "pools:"}},
		},
	})
	for got, want := range map[string]string{
		res.Incident.Note:                "Stopped by alice: enough.",
		res.Incident.Active.Why:          "requested by alice",
		res.Incident.Plan.Steps[0].Tried: "tried at 03:00 UTC: worse, rolled back by alice",
		res.Entries[0].Text: "Closed: none of these alerts is firing. (Line 400 of this kind; most of the " +
			"others are omitted from the journal.)",
		res.Entries[1].Text: "No pool matches these alerts, so there is nothing to investigate. Add one like this:\npools:",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if err := FillRefusal(&incident.RefusedError{Said: incident.Note{
		Kind: incident.RefusedDecidedBefore, By: by,
		Verb: incident.Deny, State: incident.StepDenied,
	}}); err == nil ||
		err.Error() != "Already denied by alice. The step is denied. Your click changed nothing." {
		t.Errorf("the refusal is %v", err)
	}
}
