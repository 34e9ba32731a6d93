package present

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The headline counts the alerts that fire, and says of none that has resolved that it fires. It is what a lock screen
// shows.
func TestTheHeadlineCountsWhatFires(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	alert := func(name string, firing bool) incident.Alert {
		return incident.Alert{
			Fingerprint: name, Labels: map[string]string{"alertname": name}, Firing: firing, StartsAt: begin,
		}
	}
	looked := func(i *incident.Incident) { i.ReadAt = begin.Add(time.Minute) }
	for _, tt := range []struct {
		name   string
		alerts []incident.Alert
		change func(*incident.Incident)
		want   string
	}{
		{"one", []incident.Alert{alert("A", true)}, nil, "p: A firing"},
		{"two", []incident.Alert{alert("B", true), alert("A", true)}, nil, "p: A and 1 other firing"},
		{
			"the first has resolved",
			[]incident.Alert{alert("A", false), alert("B", true), alert("C", false)},
			nil,
			"p: B firing",
		},
		{
			"of one name some fire",
			[]incident.Alert{alert("A", false), alert("A", true), alert("B", false)},
			nil,
			"p: A firing",
		},
		{
			"none fires any more",
			[]incident.Alert{alert("A", false), alert("B", false)},
			nil,
			"p: A and 1 other resolved, not confirmed by metrics",
		},
		{
			"none fires, nothing was found",
			[]incident.Alert{alert("A", false)},
			looked,
			"p: A resolved, not confirmed by metrics, no diagnosis",
		},
		{"nothing was found", []incident.Alert{alert("A", true)}, looked, "p: A firing, no diagnosis"},
		{
			"healthy",
			[]incident.Alert{alert("A", false), alert("B", true)},
			func(i *incident.Incident) { i.HealthySince = begin.Add(time.Minute) },
			"p: healthy, but B still firing",
		},
		{
			"without a pool",
			[]incident.Alert{alert("A", false), alert("B", true)},
			func(i *incident.Incident) { i.Pool = "" }, "B: no pool configured",
		},
	} {
		inc := incident.Incident{ID: "inc-1", Pool: "p", State: incident.StateWatching, Alerts: tt.alerts, OpenedAt: begin}
		if tt.change != nil {
			tt.change(&inc)
		}
		if got := Headline(inc); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A mitigation that is reverted as it was promised is no failure: nothing is red, and nothing was rolled back, in the
// headline, the push, and what is told in the end. What a person has rolled back is told as before.
func TestAPlannedRevertIsNoRollback(t *testing.T) {
	t.Parallel()
	bot, person := incident.Actor{Kind: incident.ActorBot, ID: "vllm-medic"}, incident.Actor{Kind: "slack", ID: "U1"}
	at := time.Date(2026, 11, 21, 3, 20, 0, 0, time.UTC)
	undone := func(by incident.Actor, readAt time.Time) incident.Incident {
		step := incident.Step{
			ID: "p1-s1", Kind: incident.StepThrottle, Title: "Throttle", From: incident.Set("184"), To: incident.Set("129"),
			Undo: incident.Set("184"), State: incident.StepUndone, UndoneAt: at, UndoneBy: &by, RevertAfter: time.Minute,
			AppliedAt: at.Add(-10 * time.Minute),
		}
		return incident.Incident{
			ID: "inc-1", Pool: "p", State: incident.StateWatching, OpenedAt: at.Add(-time.Hour), ReadAt: readAt, ChangedAt: at,
			WorstSeverity: "critical", Plan: &incident.Plan{Steps: []incident.Step{step}},
			Alerts: []incident.Alert{{Labels: map[string]string{"alertname": "A"}}},
		}
	}
	for _, tt := range []struct {
		name     string
		inc      incident.Incident
		level    Level
		headline string
		status   string
	}{
		{
			"the bot, as planned", undone(bot, at.Add(-time.Minute)), LevelHealthy,
			"p: throttle 184 → 129 reverted as planned",
			"Reverted to 184 as planned. Checking that it stays healthy; no action needed.",
		},
		{
			"the bot, and it was read since", undone(bot, at.Add(time.Minute)), LevelCritical,
			"p: A resolved, not confirmed by metrics, no diagnosis",
			"Reverted to 184 as planned. Not healthy anymore. Investigating again; no action needed.",
		},
		{
			"a person", undone(person, at.Add(-time.Minute)), LevelCritical, "p: throttle 184 → 129 rolled back",
			"Rolled back to 184. Investigating again; no action needed.",
		},
	} {
		if got := LevelOf(tt.inc); got != tt.level {
			t.Errorf("%s: level %s, want %s", tt.name, got, tt.level)
		}
		if got := Headline(tt.inc); got != tt.headline {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.headline)
		}
		if got := Plain(Status(tt.inc)); got != tt.status {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.status)
		}
	}
}

// Where no alerts are listed, a recovery says which of them fire all the same.
func TestARecoverySaysWhatStillFires(t *testing.T) {
	t.Parallel()
	inc := incident.Incident{
		Pool: "llama", State: incident.StateWatching, HealthySince: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		Alerts: []incident.Alert{
			{Labels: map[string]string{"alertname": "B"}, Firing: true}, {Labels: map[string]string{"alertname": "A"}},
		},
	}
	inc.ChangedAt = inc.HealthySince.Add(-time.Minute)
	if got := StillFiring(inc); got != ", B still firing" {
		t.Errorf("%q", got)
	}
	inc.ChangedAt = time.Time{} // the news say it
	if got := StillFiring(inc); got != "" || News(inc) != "healthy, but B still firing" {
		t.Errorf("%q after %q", got, News(inc))
	}
	inc.Alerts[0].Firing = false
	if got := StillFiring(inc); got != "" {
		t.Errorf("nothing fires, and it is %q", got)
	}
	inc.Alerts[0].Firing, inc.HealthySince = true, time.Time{}
	if got := StillFiring(inc); got != "" {
		t.Errorf("it has not recovered, and it is %q", got)
	}
}
