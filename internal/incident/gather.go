package incident

import "time"

// Gathered says that what has happened to the alerts is told in the thread now. Their news gathers there: one alert
// that flaps for a minute is one line. The journal has each change at once.
type Gathered struct{}

// Kind names the event.
func (Gathered) Kind() EventKind { return KindGathered }

// told says that the thread knows how the alerts are.
func (a *applier) told() {
	for n := range a.inc.Alerts {
		if x := &a.inc.Alerts[n]; x.Untold > 0 {
			x.Untold, x.Told = 0, true
		}
	}
	a.inc.AlertsSince = time.Time{}
}

func (a *applier) gathered() error {
	if a.inc.AlertsSince.IsZero() {
		return refusal(Note{Kind: RefusedNoNews})
	}
	a.tellAlerts()
	return nil
}

// tellAlerts tells the thread in one line how the alerts have changed since it was told last. Whatever else is said
// there comes after it, so that the thread keeps the order in which things happened.
func (a *applier) tellAlerts() {
	if a.inc.AlertsSince.IsZero() {
		return
	}
	var began, again, ended, flapped []Alert
	for _, x := range a.inc.Alerts {
		fired := x.Firing == (x.Untold%2 == 0) // as the thread knows it
		switch {
		case x.Untold == 0:
		case x.Firing == fired:
			flapped = append(flapped, x)
		case !x.Firing:
			ended = append(ended, x)
		case x.Told:
			again = append(again, x)
		default:
			began = append(began, x)
		}
	}
	a.told()
	n := Note{
		Kind: NoteAlerts, Names: a.list(began), Again: a.list(again), Ended: a.list(ended), Flapped: a.list(flapped),
		Count: a.firing(), Pool: a.inc.Pool,
	}
	if n.Names+n.Again+n.Ended+n.Flapped == "" {
		return // what has changed is not in the incident any more
	}
	a.record(Entry{At: a.now, Kind: KindGathered, Said: n, Thread: true})
}
