package incident

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// threadOf is what the thread has been told, as facts.
func threadOf(log []Entry) []Note {
	var out []Note
	for _, e := range log {
		if e.Thread {
			out = append(out, e.Said)
		}
	}
	return out
}

func episode(name string, firing bool, start, end time.Time) Alert {
	return Alert{
		Fingerprint: name, Labels: map[string]string{"alertname": name, "pod": "m-0"}, Firing: firing, StartsAt: start,
		EndsAt: end, SeenAt: later(start, end),
	}
}

func TestAFlappingAlertIsOneLineOfTheThread(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", true, base, time.Time{})}})
	s.apply(AlertsReceived{Alerts: []Alert{episode("Queue", true, base, time.Time{})}})
	for n := range 4 {
		start := base.Add(time.Duration(n) * 10 * time.Second)
		s.now = start.Add(5 * time.Second)
		s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", false, start, s.now)}})
		s.now = start.Add(10 * time.Second)
		s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", true, s.now, time.Time{})}})
	}
	brief := s.now.Add(time.Second)
	s.apply(AlertsReceived{Alerts: []Alert{episode("Brief", true, s.now, time.Time{})}})
	s.apply(AlertsReceived{Alerts: []Alert{episode("Brief", false, s.now, brief)}})
	if journal := len(s.log); journal != 12 {
		t.Errorf("the journal has %d lines, want each change", journal)
	}
	s.apply(Gathered{})
	want := []Note{
		{Kind: NoteFiring, Names: "Slow on m-0"},
		{Kind: NoteAlerts, Names: "Queue on m-0", Flapped: "Brief on m-0; Slow on m-0", Count: 2, Pool: "p"},
	}
	if d := cmp.Diff(want, threadOf(s.log)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := Apply(s.inc, Gathered{}, s.now); err == nil {
		t.Error("the same news can be told twice")
	}
	// What happens later is told as what it is.
	s.now = s.now.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: []Alert{episode("Queue", false, base, s.now)}})
	s.apply(AlertsReceived{Alerts: []Alert{episode("Brief", true, s.now, time.Time{})}})
	s.apply(Gathered{})
	want = append(want, Note{Kind: NoteAlerts, Again: "Brief on m-0", Ended: "Queue on m-0", Count: 2, Pool: "p"})
	if d := cmp.Diff(want, threadOf(s.log)); d != "" {
		t.Errorf("later: -want +got:\n%s", d)
	}
}

// What has gathered is told before anything else that is said, so the thread keeps the order; and it is not lost with
// the end.
func TestTheThreadKeepsTheOrder(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", true, base, time.Time{})}})
	s.apply(AlertsReceived{Alerts: []Alert{episode("Queue", true, base, time.Time{})}})
	s.apply(Acked{By: alice})
	s.apply(InvestigationStarted{})
	s.now = base.Add(time.Second)
	s.apply(AlertsReceived{Alerts: []Alert{episode("Queue", false, base, s.now)}})
	s.apply(found("queueing", scaleStep("2", "3")))
	s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", false, base, s.now)}})
	s.apply(Asked{ExpiresAt: base.Add(time.Hour)})
	s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", true, s.now.Add(1), time.Time{})}})
	s.apply(Aborted{By: alice})
	s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", false, s.now.Add(1), s.now.Add(2))}})
	s.apply(Closed{By: alice})
	var got []NoteKind
	for _, n := range threadOf(s.log) {
		got = append(got, n.Kind)
	}
	want := []NoteKind{
		NoteFiring, NoteAlerts, NoteAcked, NoteAlerts, NoteDiagnosis, NoteAlerts, NoteApprovalNeeded, NoteAlerts, NoteAborted,
		NoteAlerts, NoteClosedBy,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !s.inc.AlertsSince.IsZero() {
		t.Error("news still wait after the end")
	}
	// Opened again, it begins anew: the reopening names what fires.
	s.now = base.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: []Alert{episode("Slow", true, s.now, time.Time{})}})
	if s.inc.Reopened != 1 || !s.inc.AlertsSince.IsZero() {
		t.Errorf("reopened %d times, news since %v", s.inc.Reopened, s.inc.AlertsSince)
	}
}

// An end that the incident forgets, because there are too many, has been told before.
func TestNoNewsIsLostWithAnAlertThatIsLeftOut(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	s.apply(AlertsReceived{Alerts: []Alert{pod(-1, true, base, time.Time{})}})
	for n := range endedKept + 10 {
		start := base.Add(time.Duration(n) * 10 * time.Minute)
		s.now = start.Add(5 * time.Minute)
		a := pod(n, true, start, time.Time{})
		a.Labels = map[string]string{"alertname": fmt.Sprint("A", n)}
		s.apply(AlertsReceived{Alerts: []Alert{a}})
		a.Firing, a.EndsAt, a.SeenAt = false, s.now, s.now
		s.apply(AlertsReceived{Alerts: []Alert{a}})
	}
	told := slices.ContainsFunc(threadOf(s.log), func(n Note) bool { return n.Kind == NoteAlerts && n.Flapped != "" })
	if s.inc.AlertsLeftOut == 0 || !told {
		t.Errorf("%d left out, told: %t", s.inc.AlertsLeftOut, told)
	}
}

// An alert that an older version stored fires as the thread knows it.
func TestTheAlertsOfAnOlderIncident(t *testing.T) {
	t.Parallel()
	inc := investigating(t)
	inc.Alerts[0].Told, inc.Alerts[0].Untold = false, 0
	over := firing("a")
	over.Firing, over.EndsAt = false, now
	inc = must(t, inc, AlertsReceived{Alerts: []Alert{over}})
	res := after(t, inc, time.Minute, Gathered{})
	if n := res.Entries[0].Said; n.Ended == "" || n.Names+n.Again+n.Flapped != "" {
		t.Errorf("said %+v", n)
	}
}
