package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// of is an incident of a pool that was opened some time ago.
func of(pool string, state incident.State, ago time.Duration) incident.Incident {
	inc := incident.New("inc-"+pool, pool, incident.ModeApprove, false, now.Add(-ago))
	inc.State = state
	inc.Alerts = []incident.Alert{{
		Firing: true, Labels: map[string]string{"alertname": "HighTTFT", "severity": "warning"}, StartsAt: inc.OpenedAt,
	}}
	return inc
}

// asking is one that asks for a decision by a time.
func asking(pool string, within time.Duration) incident.Incident {
	inc := of(pool, incident.StateDeciding, time.Hour)
	inc.Plan = &incident.Plan{Digest: "d1", ExpiresAt: now.Add(within), Steps: []incident.Step{{
		ID: "p1-s1", Kind: incident.StepReplicas, State: incident.StepProposed, Title: "Scale it",
		Target: incident.Target{Setting: incident.SettingReplicas},
		From:   incident.Set("2"), To: incident.Set("3"), Needs: incident.Needs{Approvals: 1},
	}}}
	return inc
}

func TestTheListBeginsWithWhatNeedsADecision(t *testing.T) {
	t.Parallel()
	failed := of("failed", incident.StateWatching, 2*time.Hour)
	failed.Plan = &incident.Plan{Steps: []incident.Step{
		{ID: "p1-s1", Kind: incident.StepReplicas, State: incident.StepFailed},
	}}
	critical := of("critical", incident.StateInvestigating, time.Minute)
	critical.Alerts[0].Labels["severity"] = "critical"
	healthy := of("healthy", incident.StateWatching, time.Hour)
	healthy.HealthySince = now
	acked := of("acked", incident.StateWatching, 3*time.Hour)
	acked.AckedBy = &ada
	old, young := of("old", incident.StateClosed, 9*time.Hour), of("young", incident.StateClosed, 8*time.Hour)
	old.ClosedAt, young.ClosedAt = now.Add(-5*time.Hour), now.Add(-time.Hour)
	young.History = []incident.Made{{
		Step: "p1-s1", Kind: incident.StepReplicas, Target: incident.Target{Setting: incident.SettingReplicas},
		From: incident.Set("2"), To: incident.Set("3"), By: []incident.Actor{ada}, AppliedAt: now,
		State: incident.StepApplied,
	}}
	s := newSite(t)
	later, soon := asking("later", 20*time.Minute), asking("soon", time.Minute)
	s.listed([]incident.Incident{healthy, acked, critical, later, failed, soon}, []incident.Incident{old, young})
	page, at := s.look("/"), -1
	for _, want := range []string{
		"<h1>3 incidents need someone</h1>", "/incidents/inc-soon", "<strong>Scale 2 → 3?</strong>", "in 1 min",
		"/incidents/inc-later", "/incidents/inc-failed", "needs a human", "<h2>Other open incidents</h2>",
		"/incidents/inc-critical", "1 min ago", "/incidents/inc-acked", "3 h ago", `data-label="acknowledged by">ada`,
		"/incidents/inc-healthy", "recovered", "<h2>Closed</h2>", "/incidents/inc-young", "Changed: scale 2 → 3.", "1 h ago",
		`data-label="approved by">ada`, "/incidents/inc-old",
	} {
		next := strings.Index(page[at+1:], want)
		if next < 0 {
			t.Fatalf("%q is missing, or not in its place", want)
		}
		at += next + 1
	}
	mustLack(t, page, "deciding", "Older incidents")
}

// What only people can mend waits for them, until somebody turns it down; the list doesn't call that monitoring.
func TestWhatOnlyPeopleCanMendNeedsSomeone(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-crashed", "llama-70b", incident.ModeApprove, false, now.Add(-time.Hour))
	inc.State = incident.StateWatching
	inc.Diagnosis = &incident.Diagnosis{Name: "engine-dead", Summary: "An engine crashed."}
	inc.Plan = &incident.Plan{Steps: []incident.Step{{ID: "p1-s1", Kind: incident.StepManual, Title: "Look at it"}}}
	s := newSite(t)
	s.listed([]incident.Incident{inc}, nil)
	page := s.look("/")
	for _, want := range []string{"<h1>1 incident needs someone</h1>", "needs a human"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	mustLack(t, page, "monitoring", "Nothing needs a decision")

	inc.MuteReason = incident.MutedDenied
	s = newSite(t)
	s.listed([]incident.Incident{inc}, nil)
	mustLack(t, s.look("/"), "needs someone", "needs a human")
}

// A crash whose cause outlives the symptoms is for people, however healthy the metrics are.
func TestACauseThatNeedsAHumanIsNotCalledRecovered(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-crashed", "llama-70b", incident.ModeApprove, false, now.Add(-time.Hour))
	inc.State, inc.HealthySince = incident.StateWatching, now.Add(-time.Minute)
	inc.Diagnosis = &incident.Diagnosis{Name: "engine-dead", Summary: "An engine crashed."}
	inc.Plan = &incident.Plan{
		CreatedAt: inc.HealthySince, Steps: []incident.Step{{ID: "p1-s1", Kind: incident.StepManual, Title: "Look at it"}},
	}
	s := newSite(t)
	s.listed([]incident.Incident{inc}, nil)
	page := s.look("/")
	for _, want := range []string{"<h1>1 incident needs someone</h1>", "needs a human", "the cause needs a human"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	mustLack(t, page, "recovered", "Nothing needs a decision")
}

func TestAQuietListSaysThatNothingIsAsked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.listed([]incident.Incident{of("llama", incident.StateWatching, time.Minute)}, nil)
	mustHold(t, s.look("/"), "<p>Nothing needs a decision.</p>", "<h2>Open</h2>")
}

func TestTheListLeadsToOlderIncidents(t *testing.T) {
	t.Parallel()
	many := func(n int, state incident.State) []incident.Incident {
		out := make([]incident.Incident, n)
		for i := range out {
			out[i] = of(fmt.Sprint(i), state, time.Hour)
		}
		return out
	}
	for name, c := range map[string]struct {
		open, closed int
		want         string
	}{
		"none":        {100, 20, ""},
		"more closed": {3, 21, `<a href="/?after=inc-19&amp;state=closed">Older incidents</a>`},
		"more open":   {101, 21, `<a href="/?after=inc-99&amp;state=open">Older incidents</a>`},
	} {
		s := newSite(t)
		s.listed(many(c.open, incident.StateWatching), many(c.closed, incident.StateClosed))
		page := s.look("/")
		if got := strings.Contains(page, "Older incidents"); got != (c.want != "") || !strings.Contains(page, c.want) {
			t.Errorf("%s: more %v", name, got)
		}
		if got := strings.Count(page, `<a href="/incidents/`); got != min(c.open, 100)+min(c.closed, 20) {
			t.Errorf("%s: %d rows", name, got)
		}
	}
	s := newSite(t)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	s.expect("list", incident.Filter{Pool: "llama", After: "inc-7", Limit: 101},
		slices.Concat(many(101, incident.StateClosed)), nil)
	mustHold(t, s.look("/?state=all&pool=llama&after=inc-7"),
		`<a href="/?after=inc-99&amp;pool=llama&amp;state=all">Older incidents</a>`, `<a href="/">Clear</a>`)
}
