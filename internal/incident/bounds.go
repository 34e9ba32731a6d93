package incident

import (
	"cmp"
	"slices"
	"time"
)

// An incident may stay open for weeks while alerts come and go. What it carries is bounded; counts say what was left
// out.
const (
	// endedKept is how many ended alerts an incident keeps, the newest ones. Those whose "firing" may still come late are
	// kept beyond it, up to endedMost, so that it is recognized.
	endedKept, endedMost = 100, 1000
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

// boundAlerts leaves out the ended alerts that are too many, the oldest first. All that fire stay.
func (a *applier) boundAlerts() {
	var ends []time.Time
	for _, x := range a.inc.Alerts {
		if !x.Firing {
			ends = append(ends, x.EndsAt)
		}
	}
	if len(ends) <= endedKept {
		return
	}
	slices.SortFunc(ends, func(x, y time.Time) int { return y.Compare(x) })
	keep := endedKept
	for keep < min(len(ends), endedMost) && a.now.Sub(ends[keep]) <= lateNews {
		keep++
	}
	if keep == len(ends) {
		return
	}
	oldest, tied := ends[keep-1], 0
	for _, end := range ends[:keep] {
		if end.Equal(oldest) {
			tied++
		}
	}
	if slices.ContainsFunc(a.inc.Alerts, func(x Alert) bool { return x.Untold > 0 && !x.Firing }) {
		a.tellAlerts() // before it is forgotten
	}
	a.inc.Alerts = slices.DeleteFunc(a.inc.Alerts, func(x Alert) bool {
		switch c := cmp.Compare(x.EndsAt.UnixNano(), oldest.UnixNano()); {
		case x.Firing || c > 0:
			return false
		case c == 0 && tied > 0:
			tied--
			return false
		default:
			return true
		}
	})
	a.inc.AlertsLeftOut += len(ends) - keep
	a.index = nil
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
