package incident

import (
	"fmt"
	"testing"
	"time"
)

// apply applies events, each at its time, and gathers the journal.
type storied struct {
	t   *testing.T
	inc Incident
	now time.Time
	log []Entry
}

func (s *storied) apply(ev Event) {
	s.t.Helper()
	res, err := Apply(s.inc, ev, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	s.inc, s.log = res.Incident, append(s.log, res.Entries...)
}

func pod(n int, firing bool, start, end time.Time) Alert {
	return Alert{
		Fingerprint: fmt.Sprint(n), Labels: map[string]string{"alertname": "A", "pod": fmt.Sprint("pod-", n)}, Firing: firing,
		StartsAt: start, EndsAt: end, SeenAt: later(start, end),
	}
}

// Pods come and go under one alert for weeks: 2,000 have had it, one has it.
func TestAnIncidentKeepsTheNewestEndedAlerts(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	s.apply(AlertsReceived{Alerts: []Alert{pod(-1, true, base, time.Time{})}})
	for n := range 2000 {
		start := base.Add(time.Duration(n) * 10 * time.Minute)
		s.now = start.Add(5 * time.Minute)
		s.apply(AlertsReceived{Alerts: []Alert{pod(n, true, start, time.Time{})}})
		s.apply(AlertsReceived{Alerts: []Alert{pod(n, false, start, s.now)}})
	}
	if len(s.inc.Alerts) != endedKept+1 || s.inc.AlertsLeftOut != 2000-endedKept {
		t.Errorf("%d alerts are kept, %d left out", len(s.inc.Alerts), s.inc.AlertsLeftOut)
	}
	if f := s.inc.Firing(); len(f) != 1 || f[0].Fingerprint != "-1" {
		t.Errorf("firing: %v", f)
	}
	if newest := s.inc.Alerts[len(s.inc.Alerts)-1]; newest.Fingerprint != "1999" {
		t.Errorf("the newest is %s", newest.Fingerprint)
	}
	before := s.inc.AlertsLeftOut
	// its peer says so, late
	s.apply(AlertsReceived{Alerts: []Alert{pod(3, false, base.Add(30*time.Minute), base.Add(35*time.Minute))}})
	if s.inc.AlertsLeftOut != before || len(s.inc.Alerts) != endedKept+1 {
		t.Errorf("the same end counts twice: %d left out", s.inc.AlertsLeftOut)
	}
}

// All that fire are kept, however many; and an end whose "firing" may still be on its way.
func TestNothingThatIsNeededIsLeftOut(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	var all, ended []Alert
	for n := range 500 {
		all = append(all, pod(n, true, base, time.Time{}))
		ended = append(ended, pod(n, false, base, base.Add(time.Minute)))
	}
	s.apply(AlertsReceived{Alerts: all})
	if len(s.inc.Firing()) != 500 {
		t.Fatalf("%d of 500 fire", len(s.inc.Firing()))
	}
	s.now = base.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: ended, Source: "am-1"})
	s.apply(AlertsReceived{Alerts: all, Source: "am-2"}) // late words
	if fires, kept := len(s.inc.Firing()), len(s.inc.Alerts); fires != 0 || kept != 500 {
		t.Errorf("%d fire of %d that are kept", fires, kept)
	}
	s.now = base.Add(time.Hour)
	s.apply(AlertsReceived{Alerts: []Alert{pod(1000, true, s.now, time.Time{})}})
	if len(s.inc.Alerts) != endedKept+1 || s.inc.AlertsLeftOut != 400 {
		t.Errorf("an hour later %d are kept and %d left out", len(s.inc.Alerts), s.inc.AlertsLeftOut)
	}
}

// An alert that comes and goes for weeks does not fill the journal, nor the thread; what people and the bot do stands
// in it all the same.
func TestTheJournalTakesRepetitionsInEverLargerSteps(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	start := base
	for n := range 5000 {
		s.now = start.Add(time.Minute)
		s.apply(AlertsReceived{Alerts: []Alert{pod(0, true, start, time.Time{})}})
		s.apply(AlertsReceived{Alerts: []Alert{pod(0, false, start, s.now)}})
		start = start.Add(2 * time.Minute)
		if n%1000 == 999 {
			s.apply(Acked{By: Actor{Kind: "slack", ID: fmt.Sprint("U", n)}})
		}
	}
	acks, doubled := 0, 0
	for _, e := range s.log {
		if e.Kind == KindAcked {
			acks++
		}
		if e.Line > 0 {
			doubled++
		}
	}
	// Each acknowledgement is a line of the thread, so what has gathered is told before it.
	if acks != 5 || doubled != 5 || s.inc.Lines[KindGathered] != 5 || len(s.log) != routineKept+15 {
		t.Errorf("%d lines, %d of them acknowledgements, %d that say how many there are", len(s.log), acks, doubled)
	}
	if s.inc.JournalLeftOut != 10_000-routineKept-5 || s.inc.Lines[KindAlerts] != 10_000 {
		t.Errorf("%d left out of %d", s.inc.JournalLeftOut, s.inc.Lines[KindAlerts])
	}
	if last := s.inc.LastLeftOut; last == nil || !last.At.Equal(s.now) || last.Said.Kind != NoteResolved {
		t.Errorf("the newest line is not shown: %+v", last)
	}
	if first := s.log[0].Said; first != (Note{Kind: NoteFiring, Names: "A on pod-0"}) {
		t.Errorf("the first line is %+v", first)
	}
}

// That an incident was opened again is always said.
func TestAReopeningIsNoRepetition(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	s.inc.Lines = map[EventKind]int{KindAlerts: 5000}
	s.inc.State, s.inc.ClosedAt = StateClosed, base
	s.now = base.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: []Alert{pod(0, true, s.now, time.Time{})}})
	if s.inc.State != StateInvestigating || len(s.log) != 1 {
		t.Errorf("state %s, said %v", s.inc.State, s.log)
	}
}

// A fault that comes and goes is a repetition like any other: the journal and the thread do not grow with it.
func TestSetbacksThatComeAndGoDoNotFillTheJournal(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	for range 2000 {
		s.now = s.now.Add(time.Minute)
		s.apply(SetBack{How: SetbackPanic, RetryAt: s.now.Add(time.Minute)})
		s.apply(SetBack{})
	}
	if len(s.log) > routineKept+10 || s.inc.JournalLeftOut != 4000-len(s.log) {
		t.Errorf("%d lines, %d left out", len(s.log), s.inc.JournalLeftOut)
	}
	s.apply(SetBack{How: SetbackPanic, RetryAt: s.now.Add(time.Hour), Parked: true})
	if said := s.inc.Said; said.Kind != NoteWorkFailed || !said.Parked {
		t.Errorf("the message says %+v", said)
	}
}

// When those that had ended fire again, there is room: the end of an alert that is not known is kept, so that a late
// "firing" of it is recognized.
func TestAnEndIsKeptWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	for n := range 200 {
		s.now = base.Add(time.Duration(n) * 10 * time.Minute)
		s.apply(AlertsReceived{Alerts: []Alert{pod(n, true, s.now, time.Time{})}})
		s.apply(AlertsReceived{Alerts: []Alert{pod(n, false, s.now, s.now.Add(time.Minute))}})
	}
	s.now = s.now.Add(time.Hour)
	var again []Alert
	for _, x := range s.inc.Alerts {
		if !x.Firing {
			x.Firing, x.StartsAt, x.EndsAt, x.SeenAt = true, s.now, time.Time{}, s.now
			again = append(again, x)
		}
	}
	s.apply(AlertsReceived{Alerts: again})
	start := s.now.Add(time.Minute)
	s.now = start.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: []Alert{pod(999, false, start, s.now)}, Source: "am-1"})
	s.apply(AlertsReceived{Alerts: []Alert{pod(999, true, start, time.Time{})}, Source: "am-2"}) // late
	if n := len(s.inc.Firing()); n != len(again) || s.inc.AlertsLeftOut == 0 {
		t.Errorf("%d fire, want %d; %d were left out", n, len(again), s.inc.AlertsLeftOut)
	}
}
