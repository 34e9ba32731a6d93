package incident

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// flood are alerts that fire, each with a text of so many bytes.
func flood(from, many, text int) []Alert {
	out := make([]Alert, many)
	for n := range out {
		out[n] = Alert{
			Fingerprint: fmt.Sprintf("%016x", from+n), Firing: true, StartsAt: base, SeenAt: base,
			Labels:      map[string]string{"alertname": "Flood", "pod": fmt.Sprint("pod-", from+n)},
			Annotations: map[string]string{"summary": strings.Repeat("x", text)},
		}
	}
	return out
}

func allEnded(all []Alert, at time.Time) []Alert {
	out := slices.Clone(all)
	for n := range out {
		out[n].Firing, out[n].EndsAt, out[n].SeenAt = false, at, at
	}
	return out
}

func TestAnIncidentKeepsTheWorstAndNewestAlerts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		a, b          func(*Alert)
		first, second string
	}{
		{"one that fires", func(a *Alert) { a.Firing = true }, func(a *Alert) {
			a.Labels["severity"] = "critical"
		}, "a", "b"},
		{"one whose pool was not looked for", func(a *Alert) { a.Sought = true }, func(*Alert) {}, "b", "a"},
		{
			"the worse severity",
			func(a *Alert) { a.Labels["severity"] = "warning"; a.StartsAt = base.Add(time.Hour) },
			func(a *Alert) { a.Labels["severity"] = "critical" }, "b", "a",
		},
		{"a page is as bad", func(a *Alert) { a.Labels["severity"] = "page" }, func(a *Alert) {
			a.Labels["severity"] = "critical"
		}, "a", "b"},
		{"a severity before none", func(*Alert) {}, func(a *Alert) { a.Labels["severity"] = "info" }, "b", "a"},
		{"the newer start", func(*Alert) {}, func(a *Alert) { a.StartsAt = base.Add(time.Second) }, "b", "a"},
		{"the fingerprint", func(*Alert) {}, func(*Alert) {}, "a", "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := Alert{Fingerprint: "a", Labels: map[string]string{}, StartsAt: base}
			b := Alert{Fingerprint: "b", Labels: map[string]string{}, StartsAt: base}
			tt.a(&a)
			tt.b(&b)
			for _, both := range [][]Alert{{a, b}, {b, a}} {
				slices.SortFunc(both, byWorth)
				if both[0].Fingerprint != tt.first || both[1].Fingerprint != tt.second {
					t.Errorf("%s comes first", both[0].Fingerprint)
				}
			}
		})
	}
}

func TestAlertsThatFireAreBoundedByNumberAndBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		many, text, kept int
	}{
		{"as many as there is room for", firingKept, 0, firingKept},
		{"more", firingKept + 4212, 0, firingKept},
		{"large ones", 100, firingBytes / 10, 9},
		{"one that is larger than everything", 1, 2 * firingBytes, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
			s.apply(AlertsReceived{Alerts: flood(0, tt.many, tt.text)})
			if got, not := len(s.inc.Alerts), s.inc.AlertsNotKept.Firing; got != tt.kept || not != tt.many-tt.kept {
				t.Errorf("%d are kept and %d are not", got, not)
			}
			if s.inc.FiringCount() != tt.many {
				t.Errorf("%d of %d fire", s.inc.FiringCount(), tt.many)
			}
			told := slices.ContainsFunc(s.log, func(e Entry) bool { return e.Said.Kind == NoteNotKept && e.Thread })
			if told != (tt.many > tt.kept) {
				t.Errorf("that some are not kept is told: %t", told)
			}
			// Repeats, as Alertmanager sends them, count nothing twice and say nothing again.
			lines := len(s.log)
			s.apply(AlertsReceived{Alerts: flood(0, tt.many, tt.text)})
			if s.inc.FiringCount() != tt.many || len(s.log) != lines {
				t.Errorf("after a repeat %d fire, and %d lines were added", s.inc.FiringCount(), len(s.log)-lines)
			}
		})
	}
}

// What is not kept holds the incident open while it may fire, and no longer.
func TestAlertsThatAreNotKeptEnd(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	all := flood(0, firingKept+500, 0)
	s.apply(AlertsReceived{Alerts: all})
	kept := s.inc.Firing()
	s.now = base.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: allEnded(kept, s.now), Source: "g/am-1"})
	if len(s.inc.Firing()) != 0 || s.inc.FiringCount() != 500 || !s.inc.ClosesOnResolve() {
		t.Errorf("%d fire when all that are kept have ended", s.inc.FiringCount())
	}
	// The group is sent whole: those for which there is room now are kept.
	var rest []Alert
	for _, x := range all {
		if !slices.ContainsFunc(kept, func(k Alert) bool { return k.Fingerprint == x.Fingerprint }) {
			rest = append(rest, x)
		}
	}
	lines := len(s.log)
	s.apply(AlertsReceived{Alerts: rest[:200], Source: "g/am-1"})
	if len(s.inc.Firing()) != 200 || s.inc.FiringCount() != 500 || len(s.log) != lines {
		t.Errorf("%d are kept of %d, %d lines were added", len(s.inc.Firing()), s.inc.FiringCount(), len(s.log)-lines)
	}
	s.now = base.Add(2 * time.Minute)
	s.apply(AlertsReceived{Alerts: allEnded(rest, s.now), Source: "g/am-1"})
	if s.inc.FiringCount() != 0 || s.inc.ClosesOnResolve() || !s.inc.AlertsNotKept.IsZero() {
		t.Errorf("%d fire in the end: %+v", s.inc.FiringCount(), s.inc.AlertsNotKept)
	}
	// A late word of a peer about one of them is recognized.
	s.apply(AlertsReceived{Alerts: rest[:1], Source: "g/am-2"})
	if s.inc.FiringCount() != 0 {
		t.Error("a late word of an alert that was not kept opens it again")
	}
}

// Beyond the fingerprints that are remembered it is not known which alerts fire. Their ends prove nothing then.
func TestMoreThanAreRememberedAreNeverSaidToHaveEnded(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	all := flood(0, firingKept+unkeptKnown+100, 0)
	s.apply(AlertsReceived{Alerts: all})
	if u := s.inc.AlertsNotKept; u.Firing != unkeptKnown+100 || u.Beyond != 100 || len(u.Known) != 8*unkeptKnown {
		t.Fatalf("%d fire, %d beyond %d", u.Firing, u.Beyond, len(u.Known)/8)
	}
	s.now = base.Add(time.Minute)
	s.apply(AlertsReceived{Alerts: allEnded(all, s.now)})
	if s.inc.FiringCount() != 100 || !s.inc.ClosesOnResolve() {
		t.Errorf("%d fire", s.inc.FiringCount())
	}
}

func TestAnAlertThatIsNotKeptCanOpenItsIncidentAgain(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	all := flood(0, firingKept+1, 0)
	s.apply(AlertsReceived{Alerts: all})
	var gone Alert
	for _, x := range all {
		if s.inc.AlertsNotKept.Has(x.Fingerprint) {
			gone = x
		}
	}
	s.inc.State, s.inc.ClosedAt = StateClosed, base.Add(time.Minute)
	s.now = base.Add(2 * time.Minute)
	s.apply(AlertsReceived{Alerts: []Alert{gone}})
	if s.inc.State != StateClosed {
		t.Fatalf("a word of the episode that has ended makes it %s", s.inc.State)
	}
	gone.StartsAt, gone.SeenAt, gone.Labels = s.now, s.now, map[string]string{"alertname": "Flood", "severity": "critical"}
	s.apply(AlertsReceived{Alerts: []Alert{gone}})
	if s.inc.State != StateInvestigating || s.inc.Reopened != 1 {
		t.Errorf("%s after it began anew", s.inc.State)
	}
}

// A delivery may bring tens of thousands of names; a line of the journal is kept for months.
func TestALineOfTheJournalNamesSomeAlertsOnly(t *testing.T) {
	t.Parallel()
	s := &storied{t: t, inc: New("inc-x", "p", ModeApprove, false, base), now: base}
	all := flood(0, 5000, 0)
	for n := range all {
		all[n].Labels["alertname"] = fmt.Sprint("Alert", n, strings.Repeat("ü", 5000))
		all[n].Labels["pod"] = strings.Repeat("é", 5000)
	}
	s.apply(AlertsReceived{Alerts: all})
	b, err := json.Marshal(s.log)
	if err != nil || len(b) > 20<<10 {
		t.Errorf("the journal takes %d bytes, %v", len(b), err)
	}
	if names := s.log[0].Said.Names; !strings.HasSuffix(names, "; 4980 more") {
		t.Errorf("the line ends with %q", names[len(names)-20:])
	}
}

// What older versions have stored without bounds is read within them.
func TestAStoredIncidentIsReadWithinTheBounds(t *testing.T) {
	t.Parallel()
	inc := New("inc-x", "p", ModeApprove, false, base)
	inc.Alerts = append(flood(0, 3000, 2000), allEnded(flood(5000, 3000, 2000), base)...)
	body, err := json.Marshal(inc)
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() (Incident, error){
		"whole": func() (got Incident, err error) { return got, json.Unmarshal(body, &got) },
		"course": func() (Incident, error) {
			var c Course
			err := json.Unmarshal(body, &c)
			return c.Incident, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read()
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for _, x := range got.Alerts {
				taken += x.size()
			}
			if taken > firingBytes+endedBytes || len(got.Firing()) == 0 || len(got.Firing()) == len(got.Alerts) {
				t.Errorf("%d alerts of %d bytes are left, %d of them fire", len(got.Alerts), taken, len(got.Firing()))
			}
			if got.FiringCount() != 3000 || len(got.Alerts)-len(got.Firing())+got.AlertsLeftOut != 3000 {
				t.Errorf("%d fire, %d were left out", got.FiringCount(), got.AlertsLeftOut)
			}
		})
	}
}

func TestClippingKeepsRunesWhole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"üüüü", 8, "üüüü"},
		{"üüüüü", 8, "üü…"},
		{"long", 3, "…"},
		{"long", 0, "…"},
	} {
		if got := ClipBytes(tt.text, tt.most); got != tt.want {
			t.Errorf("%q in %d bytes is %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
