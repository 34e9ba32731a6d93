package present

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestWhatBecameOfAChange(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return time.Date(2026, 3, 1, 3, minutes, 0, 0, time.UTC) }
	ada, bob := incident.Actor{Kind: "kubernetes", ID: "ada"}, incident.Actor{Kind: "kubernetes", ID: "bob"}
	base := incident.Made{Title: "Scale 2 to 3", By: []incident.Actor{ada}, State: incident.StepApplied, AppliedAt: at(12)}
	with := func(change func(*incident.Made)) incident.Made {
		m := base
		change(&m)
		return m
	}
	for _, tc := range []struct {
		m    incident.Made
		want string
	}{
		{base, "Scale 2 to 3: approved by ada, applied 03:12 UTC"},
		{with(func(m *incident.Made) {
			m.By, m.AskedAt, m.DecidedAt, m.LiveAt = []incident.Actor{ada, bob}, at(1), at(11), at(14)
			m.Verdict, m.UndoneAt, m.UndoneBy, m.State = incident.VerdictWorse, at(30), &bob, incident.StepUndone
		}), "Scale 2 to 3: approved by ada, bob after 10 min, applied 03:12 UTC, live after 2 min, worse; " +
			"rolled back 03:30 UTC by bob"},
		{
			with(func(m *incident.Made) { m.Verdict = incident.VerdictRecovered }),
			"Scale 2 to 3: approved by ada, applied 03:12 UTC, fixed",
		},
		{
			with(func(m *incident.Made) { m.DryRun, m.Verdict = true, incident.VerdictUnchanged }),
			"Scale 2 to 3: approved by ada, dry run, nothing was written",
		},
		{
			with(func(m *incident.Made) { m.Unsure = true }),
			"Scale 2 to 3: approved by ada, it is unknown whether the write took effect",
		},
		{
			with(func(m *incident.Made) { m.State = incident.StepReverted }),
			"Scale 2 to 3: approved by ada, applied 03:12 UTC, reverted by someone else",
		},
		{with(func(m *incident.Made) { m.By = nil }), "Scale 2 to 3: applied 03:12 UTC"},
		{
			with(func(m *incident.Made) { m.UndoneAt = at(30) }),
			"Scale 2 to 3: approved by ada, applied 03:12 UTC; rolled back 03:30 UTC",
		},
	} {
		if got := Plain(Made(incident.Incident{}, tc.m)); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}
