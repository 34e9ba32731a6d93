package incident

import (
	"slices"
	"time"
)

// An incident may stay open for weeks while alerts come and go. What it carries is bounded; counts say what was left
// out.
const (
	// endedKept is how many ended alerts an incident keeps, the newest ones. Those whose "firing" may still come late are
	// kept beyond it, up to endedMost, so that it is recognized.
	endedKept, endedMost = 100, 1000
	// endedBytes bounds what the ended alerts take, as firingBytes does for those that fire: they explain less.
	endedBytes = 256 << 10
	// routineKept is how many lines of one routine kind the journal takes. Then it takes one each time their number has
	// doubled.
	routineKept = 200
)

// routine are the kinds of lines that repeat without anybody's doing. Decisions, writes, verdicts and whatever else
// happens once are always kept.
var routine = map[EventKind]bool{
	KindAlerts: true, KindStarted: true, KindInvestigated: true, KindAsked: true, KindMuted: true, KindNoted: true,
	KindRerouted: true, KindSetback: true, KindGathered: true,
}

// record puts a line into the journal, or counts it when there have been too many of its kind.
func (a *applier) record(e Entry) {
	if !routine[e.Kind] {
		a.entries = append(a.entries, e)
		return
	}
	if a.inc.Lines == nil {
		a.inc.Lines = map[EventKind]int{}
	}
	a.inc.Lines[e.Kind]++
	n := a.inc.Lines[e.Kind]
	switch {
	case n <= routineKept:
	case n%routineKept == 0 && powerOfTwo(n/routineKept):
		e.Line = n
	default:
		a.inc.JournalLeftOut++
		a.inc.LastLeftOut = &e
		return
	}
	a.entries = append(a.entries, e)
}

func powerOfTwo(n int) bool { return n&(n-1) == 0 }

// boundAlerts leaves out the ended alerts that are too many, the oldest first, and those that fire and for which there
// is no room. It says whether there are some of those.
func (a *applier) boundAlerts() bool {
	a.boundEnded()
	kept, over := worstOf(a.inc.Firing())
	if len(over) == 0 {
		return false
	}
	a.unkept.take(over)
	keep := make(map[string]bool, len(kept))
	for _, x := range kept {
		keep[x.Fingerprint] = true
	}
	a.inc.Alerts = slices.DeleteFunc(a.inc.Alerts, func(x Alert) bool { return x.Firing && !keep[x.Fingerprint] })
	a.index = nil
	return true
}

func (a *applier) boundEnded() {
	var ended []Alert
	for _, x := range a.inc.Alerts {
		if !x.Firing {
			ended = append(ended, x)
		}
	}
	keep := endedRoom(ended, a.now)
	if keep == len(ended) {
		return
	}
	if slices.ContainsFunc(ended, func(x Alert) bool { return x.Untold > 0 }) {
		a.tellAlerts() // before it is forgotten
	}
	a.inc.Alerts = keepEnded(a.inc.Alerts, ended[:keep])
	a.inc.AlertsLeftOut += len(ended) - keep
	a.index = nil
}

// endedRoom puts ended alerts in the order of their ends, the newest first, and says how many of them are kept.
func endedRoom(ended []Alert, now time.Time) int {
	slices.SortStableFunc(ended, func(x, y Alert) int { return y.EndsAt.Compare(x.EndsAt) })
	keep, taken := 0, 0
	for _, x := range ended {
		taken += x.size()
		late := keep < endedMost && now.Sub(x.EndsAt) <= lateNews
		if keep >= endedKept && !late || taken > endedBytes {
			break
		}
		keep++
	}
	return keep
}

// keepEnded leaves out the ended alerts that are not among those that are kept.
func keepEnded(alerts, kept []Alert) []Alert {
	keep := make(map[string]bool, len(kept))
	for _, x := range kept {
		keep[x.Fingerprint] = true
	}
	return slices.DeleteFunc(alerts, func(x Alert) bool { return !x.Firing && !keep[x.Fingerprint] })
}

// leftOut says whether an ended alert that is not known is one of those which were left out: as many are kept as there
// is room for, and its end is older.
func (a *applier) leftOut(in Alert) bool {
	if in.Firing || a.inc.AlertsLeftOut == 0 {
		return false
	}
	kept := 0
	for _, x := range a.inc.Alerts {
		switch {
		case x.Firing:
		case x.EndsAt.Before(in.EndsAt):
			return false
		default:
			kept++
		}
	}
	return kept >= endedKept
}
