package incident

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// alerts folds a delivery in.
func (a *applier) alerts(e AlertsReceived) error {
	wasOpen, severity := a.inc.Open(), a.inc.Severity()
	var joined, resolved, again []Alert
	if a.unkept == nil {
		a.unkept = a.inc.AlertsNotKept.open()
	}
	roomy := a.unkept.firing() == 0
	if a.index == nil {
		a.index = make(map[string]int, len(a.inc.Alerts))
		for n, x := range a.inc.Alerts {
			a.index[x.Fingerprint] = n
		}
	}
	for _, in := range e.Alerts {
		in, _ = in.AtReceipt()
		n, ok := a.index[in.Fingerprint]
		unkept := !ok && a.unkept.giveBack(in.Fingerprint)
		if unkept && !in.Firing {
			resolved = append(resolved, in)
		}
		if !ok && a.leftOut(in) {
			if !unkept {
				a.ignore(e, IgnoredRoom, in)
			}
			continue
		}
		if !ok {
			a.index[in.Fingerprint] = len(a.inc.Alerts)
			known := a.firstWord(e, in, unkept)
			if known.Firing && (!unkept || !wasOpen && a.anew(in)) {
				joined = append(joined, in)
				known.Untold = 1
			}
			a.inc.Alerts = append(a.inc.Alerts, known)
			continue
		}
		old := &a.inc.Alerts[n]
		merged, change := merge(*old, in, e.Source)
		*old = merged
		if why, ignored := IgnoredOf(merged, in); ignored {
			a.ignore(e, why, in)
		}
		if !wasOpen && change == alertSame && merged.Firing && in.Firing {
			if a.anew(in) {
				old.StartsAt, change = in.StartsAt, alertRefired
			} else {
				a.ignore(e, IgnoredClosed, in)
			}
		}
		switch change {
		case alertResolved:
			resolved = append(resolved, in)
			old.Untold++
		case alertRefired:
			again = append(again, in)
			old.Untold++
		case alertSame:
		}
	}
	a.inc.WorstSeverity = worst(append(severities(a.inc.Firing()), severity))
	news := len(joined)+len(resolved)+len(again) > 0
	opening := wasOpen && len(joined) > 0 && len(joined) == len(a.inc.Alerts)
	if wasOpen && news && !opening && a.inc.AlertsSince.IsZero() {
		a.inc.AlertsSince = a.now
	}
	over := a.boundAlerts()
	if !wasOpen {
		a.told()
		return a.reopen(slices.Concat(joined, again), e)
	}
	a.tell(joined, resolved, again, e.Note, opening)
	if over && roomy {
		a.say(Note{Kind: NoteNotKept, Count: a.unkept.firing(), Of: len(a.inc.Firing())})
	}
	return nil
}

// firstWord is what is known of an alert after the first word about it in this incident, or after one about an alert
// for which it had no room. The end of what was never heard of is no news.
func (a *applier) firstWord(e AlertsReceived, in Alert, unkept bool) Alert {
	before, told := e.Before[in.Fingerprint]
	if !told {
		known := heard(in, e.Source)
		known.Told = unkept
		if !known.Firing && !unkept {
			a.ignore(e, IgnoredUnknown, in)
		}
		return known
	}
	known, _ := merge(before, in, e.Source)
	known.Untold, known.Told = 0, false
	if why, ignored := IgnoredOf(known, in); ignored {
		a.ignore(e, why, in)
	}
	return known
}

func (a *applier) ignore(e AlertsReceived, why Ignored, in Alert) {
	a.ignored = Ignore(a.ignored, e.Delivery, why, in)
}

// firing is Incident.FiringCount while events are applied.
func (a *applier) firing() int {
	if a.unkept == nil {
		return a.inc.FiringCount()
	}
	return len(a.inc.Firing()) + a.unkept.firing()
}

// tell puts each change into the journal. The thread has the first alerts at once, and of later ones what has gathered.
func (a *applier) tell(joined, resolved, again []Alert, note Note, opening bool) {
	if len(joined) > 0 {
		if opening {
			a.told()
			a.say(Note{Kind: NoteFiring, Names: a.list(joined)})
		} else {
			a.note(Note{Kind: NoteJoined, Names: a.list(joined)})
		}
	}
	if len(again) > 0 {
		a.note(Note{Kind: NoteRefired, Names: a.list(again)})
	}
	if len(resolved) > 0 {
		a.note(Note{Kind: NoteResolved, Names: a.list(resolved), Count: a.firing(), Pool: a.inc.Pool})
	}
	said := func(x Entry) bool { return x.Said.Same(note) }
	if note.Kind != "" && len(joined) > 0 && !slices.ContainsFunc(a.entries, said) {
		a.say(note)
	}
}

// rerouted lets go of alerts that have found their pool.
func (a *applier) rerouted(e Rerouted) error {
	if a.inc.Pool != "" {
		return refusal(Note{Kind: RefusedHasPool})
	}
	var found []Alert
	a.index = nil
	a.inc.Alerts = slices.DeleteFunc(a.inc.Alerts, func(x Alert) bool {
		gone := slices.Contains(e.Fingerprints, x.Fingerprint)
		if gone {
			found = append(found, x)
		}
		return gone
	})
	if len(found) == 0 {
		return refusal(Note{Kind: RefusedNoAlert})
	}
	moved := Note{Kind: NoteMoved, Names: a.list(found), Pool: e.Pool}
	if a.inc.Unshown || !slices.ContainsFunc(found, func(x Alert) bool { return x.Told }) {
		a.note(moved) // the thread has not heard of them
		return nil
	}
	a.say(moved)
	return nil
}

// anew says whether a word that an alert fires on is news for a closed incident: it began after the end (its "resolved"
// was lost, silenced or never sent), or it still fires well after it. What comes right after the end may have been on
// its way before.
func (a *applier) anew(in Alert) bool {
	return in.StartsAt.After(a.inc.ClosedAt) || in.SeenAt.Sub(a.inc.ClosedAt) > lateNews
}

// reopen opens a closed incident again for alerts that fire anew; anything else is recorded and leaves it closed.
func (a *applier) reopen(firing []Alert, e AlertsReceived) error {
	if a.firing() == 0 || len(firing) == 0 {
		a.note(Note{Kind: NoteNothingNew})
		return nil
	}
	if a.now.Sub(a.inc.ClosedAt) > cmp.Or(e.Reopen, ReopenWithin) {
		return refusal(Note{Kind: RefusedReopen})
	}
	a.inc.Reopened++
	a.unkept.beyond = 0 // of the episode before: nothing has told their ends
	a.inc.ClosedAt = time.Time{}
	a.inc.MuteReason = NotMuted
	a.inc.AskedBy = nil
	a.inc.AckedBy = nil // it was the episode before that somebody has seen
	a.setNote(Note{})   // it said why the incident ended; without a pool the engine's next turn puts the advice there
	a.inc.HealthySince, a.inc.ChangedAt = time.Time{}, time.Time{}
	a.inc.State = StateInvestigating
	if a.inc.Pool == "" {
		a.inc.State = StateWatching
	}
	reopened := Note{Kind: NoteReopened, Names: a.list(firing)}
	if e.Mode != "" && e.Mode != a.inc.Mode {
		reopened.WasMode, reopened.Mode = a.inc.Mode, e.Mode
		a.takeMode(e.Mode)
	}
	a.sayAlways(reopened)
	return nil
}

// takeMode gives an incident that is opened again the mode that its pool has now. What a dry run did not write is not
// taken for done when the incident is none any more; what was written before it became a dry run is still in place.
func (a *applier) takeMode(m Mode) {
	wasDryRun := a.inc.DryRun
	a.inc.Mode, a.inc.DryRun = m, m == ModeDryRun
	switch {
	case wasDryRun == a.inc.DryRun:
	case a.inc.DryRun:
		a.eachApplied(func(s *Step) { s.Written = true })
	default:
		a.eachApplied(func(s *Step) {
			if !s.Written {
				s.State = StepSuperseded
				s.because(Reason{Kind: ReasonDryRun})
			}
			s.Written = false
		})
	}
}

func (a *applier) eachApplied(change func(*Step)) {
	steps := [][]Step{a.inc.AppliedEarlier}
	if a.inc.Plan != nil {
		steps = append(steps, a.inc.Plan.Steps)
	}
	for _, list := range steps {
		for n := range list {
			if list[n].State == StepApplied {
				change(&list[n])
			}
		}
	}
}

// list names alerts, each with the pods that it fires for: "vLLMHighTTFT on llama-0, llama-1; vLLMQueueBacklog". Rules
// that fire for each pod send one alert for each, and a line that leaves the pods out reads as if the whole alert had
// come or gone.
func (a *applier) list(alerts []Alert) string {
	places := map[string]map[string]bool{}
	for _, x := range alerts {
		name, at := shortName(x.Name()), a.place(x)
		if places[name] == nil {
			places[name] = map[string]bool{}
		}
		places[name][at] = true
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(places)) {
		places := slices.Sorted(maps.Keys(places[name]))
		if places[0] == "" { // one that says nothing of where is not to vanish behind those that do
			names, places = append(names, name), places[1:]
		}
		if len(places) > 0 {
			names = append(names, name+" on "+atMost(placesNamed, places))
		}
	}
	if more := len(names) - alertsNamed; more > 0 {
		names = append(names[:alertsNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, "; ")
}

// alertsNamed is how many alerts a line names, and textNamed how long the name of one, or of a pod, may be in it, in
// bytes: the journal is kept for months, and a delivery may bring tens of thousands of names.
const (
	alertsNamed = 20
	textNamed   = 200
)

func shortName(text string) string { return ClipBytes(text, textNamed) }

// place is where an alert fires: its pod; without a pool also its model, which is what the reader has to find.
func (a *applier) place(x Alert) string {
	at := shortName(cmp.Or(x.Labels["pod"], x.Labels["instance"]))
	if a.inc.Pool != "" {
		return at
	}
	return strings.TrimSpace(shortName(x.Labels["model_name"]) + " " + at)
}

// placesNamed is how many pods a line names; a pool may have hundreds.
const placesNamed = 3

func atMost(n int, places []string) string {
	if more := len(places) - n; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(places[:n], ", "), more)
	}
	return strings.Join(places, ", ")
}
