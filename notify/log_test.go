package notify

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestLogNotifierSaysEachStateOnce(t *testing.T) {
	t.Parallel()
	l := &logs{}
	s, err := NewLogNotifier(l.logger())
	if err != nil {
		t.Fatal(err)
	}
	inc := incident.New("inc-1", "llama", incident.ModeDryRun, true, noon)
	inc.State = incident.StateDeciding
	inc.Diagnosis = &incident.Diagnosis{Playbook: "queue", Summary: "Requests\nwait."}
	inc.Plan = &incident.Plan{Steps: []incident.Step{{
		ID: "p1-s1", Kind: incident.StepReplicas, Title: "Scale to 3",
		State: incident.StepProposed,
	}}}
	ts, err := s.Post(t.Context(), "", inc)
	if err != nil || ts == "" {
		t.Fatalf("Post = %q, %v", ts, err)
	}
	inc.Version++
	for range 3 {
		if err := s.Update(t.Context(), "", ts, inc); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.count("state=deciding"); n != 1 {
		t.Errorf("the same state was logged %d times", n)
	}
	for _, want := range []string{
		"Requests wait.", "p1-s1 Scale to 3 (proposed)", "incidents approve inc-1",
		"nothing is changed",
	} {
		if l.count(want) != 1 {
			t.Errorf("%q is missing", want)
		}
	}
	inc.State = incident.StateClosed
	if err := s.Update(t.Context(), "", ts, inc); err != nil {
		t.Fatal(err)
	}
	if l.count("state=closed") != 1 || len(s.shown) != 0 {
		t.Errorf("closed: logged %d times, %d kept", l.count("state=closed"), len(s.shown))
	}
	if err := s.Reply(t.Context(), "", ts, inc, incident.Entry{Seq: 1, Text: "Approved."}); err != nil ||
		l.count("Approved.") != 1 {
		t.Errorf("Reply = %v, logged %d times", err, l.count("Approved."))
	}
	if _, found, err := s.FindPosted(t.Context(), "", "", "inc-1", 0, time.Time{}); found || err != nil {
		t.Errorf("FindPosted = %t, %v", found, err)
	}
	if _, err := NewLogNotifier(nil); err == nil {
		t.Error("a nil logger was taken")
	}
}

// Whoever has no Slack decides by this line: a caution belongs to it, a check that passed does not.
func TestTheLogShowsCautions(t *testing.T) {
	t.Parallel()
	l := &logs{}
	s, err := NewLogNotifier(l.logger())
	if err != nil {
		t.Fatal(err)
	}
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, noon)
	inc.Plan = &incident.Plan{Steps: []incident.Step{
		{ID: "p1-s1", Title: "Scale to 3", State: incident.StepProposed, Guardrails: []incident.Guardrail{
			{Name: "mode", Verdict: incident.GuardPass, Reason: "mode approve"},
			{Name: "ownership", Verdict: incident.GuardCaution, Reason: "Argo CD may set it back"},
		}},
		{ID: "p1-s2", Title: "Scale to 4", State: incident.StepProposed},
	}}
	if _, err := s.Post(t.Context(), "", inc); err != nil {
		t.Fatal(err)
	}
	if l.count("p1-s1 Scale to 3 (proposed), caution: Argo CD may set it back; p1-s2 Scale to 4 (proposed)") != 1 ||
		l.count("mode approve") != 0 {
		t.Error("the line lacks the caution, or has what passed")
	}
}
