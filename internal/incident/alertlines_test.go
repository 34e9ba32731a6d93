package incident

import (
	"testing"
	"time"
)

func TestARefireWhoseEndWasNeverSentOpensAgain(t *testing.T) {
	t.Parallel()
	closed := inState(t, StateClosed)
	closed.ClosedAt = now
	for name, tc := range map[string]struct {
		starts, seen time.Duration
		want         State
	}{
		"it began after the end":        {time.Minute, 2 * time.Minute, StateInvestigating},
		"it was on its way at the end":  {-time.Minute, time.Minute, StateClosed},
		"it still fires well after it":  {-time.Minute, 10 * time.Minute, StateInvestigating},
		"it began at the very end only": {0, time.Minute, StateClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := firing("a")
			a.StartsAt, a.SeenAt = now.Add(tc.starts), now.Add(tc.seen)
			if inc, _ := at(t, closed, tc.seen, AlertsReceived{Alerts: []Alert{a}}); inc.State != tc.want {
				t.Errorf("the incident is %s, want %s", inc.State, tc.want)
			}
		})
	}
}

func TestTheEndOfAnAlertThatWasNeverHeardOfIsNoNews(t *testing.T) {
	t.Parallel()
	over := firing("new")
	over.Firing, over.EndsAt = false, now
	closed := inState(t, StateClosed)
	if inc, _ := at(t, closed, time.Minute, AlertsReceived{Alerts: []Alert{over}}); inc.State != StateClosed {
		t.Errorf("a resolved alert opened the incident: %s", inc.State)
	}
	_, entries := at(t, investigating(t), time.Minute, AlertsReceived{Alerts: []Alert{over}})
	for _, e := range entries {
		if e.Said.Kind == NoteJoined {
			t.Errorf("a resolved alert is said to have joined: %+v", e.Said)
		}
	}
}

// Rules that fire for each pod send one alert for each. A line that leaves the pods out would say that an alert is over
// which goes on elsewhere.
func TestALineNamesThePodsOfAnAlertAndWhatStillFires(t *testing.T) {
	t.Parallel()
	on := func(name, fingerprint string, labels ...string) Alert {
		a := firing(fingerprint)
		a.Labels = map[string]string{"alertname": name}
		for n := 0; n < len(labels); n += 2 {
			a.Labels[labels[n]] = labels[n+1]
		}
		return a
	}
	over := func(alerts ...Alert) []Alert {
		for n := range alerts {
			alerts[n].Firing, alerts[n].EndsAt = false, now.Add(time.Minute)
		}
		return alerts
	}
	a, b, c := on("Slow", "1", "pod", "m-0", "instance", "10.0.0.1:8000"), on("Slow", "2", "pod", "m-1"),
		on("Queue", "3", "instance", "10.0.0.3:8000")
	d, e, plain := on("Slow", "4", "pod", "m-3"), on("Slow", "5", "pod", "m-4"), on("Gate", "6")
	last := func(entries []Entry) Note { return entries[len(entries)-1].Said }
	inc, entries := at(t, investigating(t), time.Second, AlertsReceived{Alerts: []Alert{b, a, c, d, e, plain}})
	if got, want := last(entries),
		(Note{Kind: NoteJoined, Names: "Gate; Queue on 10.0.0.3:8000; Slow on m-0, m-1, m-3 and 1 more"}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	inc, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: over(a, c)})
	if got, want := last(entries),
		(Note{Kind: NoteResolved, Names: "Queue on 10.0.0.3:8000; Slow on m-0", Count: 5, Pool: inc.Pool}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	inc, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: over(b, d, e, plain)})
	if got, want := last(entries),
		(Note{Kind: NoteResolved, Names: "Gate; Slow on m-1, m-3, m-4", Count: 1, Pool: inc.Pool}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	_, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: over(inc.Firing()[0])})
	if got := last(entries); got.Kind != NoteResolved || got.Count != 0 || got.Pool == "" {
		t.Errorf("got %+v, want that nothing fires and the metrics have to confirm it", got)
	}
}

// Without a pool the model is what tells alerts apart, and no metric is read that could decide anything.
func TestALineAboutAlertsWithoutAPoolNamesTheModels(t *testing.T) {
	t.Parallel()
	of := func(fingerprint, model, pod string) Alert {
		a := firing(fingerprint)
		a.Labels = map[string]string{"alertname": "Slow", "model_name": model, "pod": pod}
		return a
	}
	a, b, c, bare := of("1", "phi", "phi-0"), of("2", "phi", "phi-1"), of("3", "olmo", ""), of("4", "", "")
	inc := must(t, New("inc-2", "", ModeApprove, false, now), AlertsReceived{Alerts: []Alert{a}},
		Muted{Note: Text("no pool")})
	for _, tc := range []struct {
		alerts []Alert
		end    bool
		want   Note
	}{
		{[]Alert{b, c, bare}, false, Note{Kind: NoteJoined, Names: "Slow; Slow on olmo, phi phi-1"}},
		{[]Alert{a}, true, Note{Kind: NoteResolved, Names: "Slow on phi phi-0", Count: 3}},
		{[]Alert{b, c, bare}, true, Note{Kind: NoteResolved, Names: "Slow; Slow on olmo, phi phi-1"}},
	} {
		for n := range tc.alerts {
			if tc.end {
				tc.alerts[n].Firing, tc.alerts[n].EndsAt = false, now.Add(time.Minute)
			}
		}
		var entries []Entry
		inc, entries = at(t, inc, time.Minute, AlertsReceived{Alerts: tc.alerts})
		if got := entries[len(entries)-1].Said; got != tc.want {
			t.Errorf("got  %+v\nwant %+v", got, tc.want)
		}
	}
	inc, _ = at(t, inc, 2*time.Minute, Closed{By: alice, Reason: "over"})
	a.StartsAt, a.SeenAt = now.Add(3*time.Minute), now.Add(3*time.Minute)
	_, entries := at(t, inc, 3*time.Minute, AlertsReceived{Alerts: []Alert{a}})
	if got, want := entries[len(entries)-1].Said, (Note{Kind: NoteReopened, Names: "Slow on phi phi-0"}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSilenceIsNoRecovery(t *testing.T) {
	t.Parallel()
	read := func(v *float64) map[string]Reading {
		return map[string]Reading{"ttft_p95": {
			Signal: "ttft_p95", Value: v, Unit: UnitSeconds, Direction: HigherIsWorse,
			Threshold: num(1),
		}}
	}
	v, shown := VerdictOf(read(num(7)), read(nil), []string{"ttft_p95"}, True)
	if v != VerdictInconclusive || shown.Finding != FoundSilent {
		t.Errorf("no requests at all is %s: %s", v, shown.Finding)
	}
	if v, _ := VerdictOf(read(nil), read(nil), []string{"ttft_p95"}, True); v != VerdictRecovered {
		t.Errorf("a signal that never had data made it %s", v)
	}
}

func TestAlertsThatFindTheirPoolLeaveTheUnroutedIncident(t *testing.T) {
	t.Parallel()
	inc := New("inc-2", "", ModeApprove, false, now)
	inc = must(t, inc, AlertsReceived{Alerts: []Alert{firing("a"), firing("b")}}, Muted{Note: Text("no pool")})
	inc = must(t, inc, Rerouted{Fingerprints: []string{"a"}, Pool: "llama"})
	if len(inc.Alerts) != 1 || inc.Alerts[0].Fingerprint != "b" {
		t.Errorf("left: %v", inc.Alerts)
	}
	refused(t, inc, Rerouted{Fingerprints: []string{"a"}, Pool: "llama"})
	refused(t, inState(t, StateWatching), Rerouted{Fingerprints: []string{"a"}, Pool: "llama"})
}
