package incident

import (
	"slices"
	"strings"
	"time"
)

// lateNews is how long after the end of an alert a peer of Alertmanager's may still bring the "firing" from before it:
// its default group_interval, which bounds how long one notification is tried, 15 s for each peer before it, and some
// room for clocks.
const lateNews = 6 * time.Minute

// endsKept bounds how many words about ends are remembered, beside that they are forgotten after lateNews; more
// Alertmanagers than that are not run side by side. To forget one too early makes an alert fire, and never hides one.
const endsKept = 8

// AlertEnd is a word of a source (Delivery.Source) that an episode of an alert has ended: its start, as that source
// knows it, and its end.
type AlertEnd struct {
	By    string    `json:"by"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

type alertChange int

const (
	alertSame alertChange = iota
	alertResolved
	alertRefired
)

// heard is an alert of which nothing was known before.
func heard(in Alert, source string) Alert {
	in, _ = in.AtReceipt()
	known := Alert{Fingerprint: in.Fingerprint, Firing: in.Firing, StartsAt: in.StartsAt, Ends: in.Ends}
	if in.Firing && in.NoStart {
		known.NewestStart, known.AnewBy, known.AnewAt = known.LastEnd.Add(1), source, in.SeenAt
	}
	out, _ := merge(known, in, source)
	return out
}

// Heard is what is known of an alert after a word of a source about it.
func (a Alert) Heard(in Alert, source string) Alert {
	out, _ := merge(a, in, source)
	return out
}

// merge folds a word about an alert into what is known of it. Prometheus gives each episode a start of its own, after
// the end of the one before. So an alert fires when the latest start is after the latest end, in whatever order the
// words come in: HA peers repeat them, and bring some late. Two things the times do not tell.
//
// A "firing" may start before the end that is known and be true all the same; firesAnew decides. The alert gets a start
// of the bot's own then, just after that end, and whose word it was: no end that this source tells need come after it.
// So does one whose start cannot have been: it says that the alert fires, and not since when.
//
// What must stay true: once every Alertmanager has had its last word about an alert, each in its own order and however
// often, the alert is as they say. And no word hides an alert beyond the next delivery that says it fires, unless it is
// the end of that very episode by a peer of its sender.
func merge(old, in Alert, source string) (Alert, alertChange) {
	old = old.healed()
	in, _ = in.AtReceipt()
	out := old
	out.Labels, out.Annotations, out.GeneratorURL = in.Labels, in.Annotations, in.GeneratorURL
	out.SeenAt = later(old.SeenAt, in.SeenAt)
	// The word itself knows more when it has been folded before.
	start := old.NewestStart
	if start.IsZero() { // of an older version
		start = old.StartsAt
	}
	start = later(start, in.NewestStart)
	end := later(later(old.LastEnd, old.EndsAt), in.LastEnd)
	anew := false
	switch {
	case !in.Firing:
		over := in.EndsAt
		if !in.NoStart {
			start, over = later(start, in.StartsAt), later(over, in.StartsAt)
		}
		if old.Firing && old.aloneOn(source) && !in.SeenAt.Before(old.AnewAt) {
			over = later(over, start)
		}
		end = later(end, over)
		if !over.Before(start) { // else it is about an episode before, and says nothing of this one
			out.Ends = remember(old.Ends, AlertEnd{By: source, Start: in.StartsAt, End: over}, in.SeenAt)
		}
	case !old.Firing && (in.NoStart || !in.StartsAt.After(end)) && firesAnew(old, in, source, start, end):
		start, anew = end.Add(1), true
		out.AnewBy, out.AnewAt = source, in.SeenAt
		out.Ends = withoutStart(old.Ends, in.StartsAt)
	case in.NoStart: // it is known to fire, or the word is late
	default:
		start = later(start, in.StartsAt)
		if old.Firing && toldEnd(old.Ends, source, in.StartsAt) {
			out.Ends = withoutStart(old.Ends, in.StartsAt)
		}
	}
	out.NewestStart, out.LastEnd = start, end
	out.Firing = start.After(end)
	if !anew && (!out.Firing || !start.Equal(old.NewestStart)) {
		out.AnewBy, out.AnewAt = "", time.Time{}
		if out.Firing && start.Equal(in.NewestStart) {
			out.AnewBy, out.AnewAt = in.AnewBy, in.AnewAt
		}
	}
	return out.since(old, in, end)
}

// since fills in when the alert as it is now began or ended, and says how it differs from what was known.
func (a Alert) since(old, in Alert, end time.Time) (Alert, alertChange) {
	switch {
	case !a.Firing:
		a.EndsAt = end
		if old.Firing {
			return a, alertResolved
		}
		return a, alertSame
	case in.Firing && (!old.Firing || in.StartsAt.Before(old.StartsAt) && in.StartsAt.After(end)):
		a.StartsAt = in.StartsAt
	// what was taken for its start was that of an episode which has ended
	case !in.Firing && !old.StartsAt.After(end) && end.After(old.LastEnd):
		a.StartsAt = a.NewestStart
	}
	a.EndsAt = time.Time{}
	if old.Firing {
		return a, alertSame
	}
	return a, alertRefired
}

// aloneOn says whether an alert fires by the word of this source alone, against the times.
func (a Alert) aloneOn(source string) bool { return !a.AnewAt.IsZero() && a.AnewBy == source }

// firesAnew decides about a "firing" that starts before the known end of an alert. It is either late, or true: when
// the end was made up, or when Alertmanager merged what an HA pair of Prometheus says and kept the earliest start. The
// first line that fits decides:
//
//	nobody of its group told an end                  anew
//	received before what is already known            late
//	its source told the end of the newest episode,
//	or of one with its start                         anew: a source speaks in order
//	longer than lateNews after the end               anew
//	nobody knows whose word it is, or who told ends  late
//	a peer told the end of an episode with its start late
//	else                                             anew
//
// A late word that is taken for true fires until its source says that it ended, which comes next; a true one that is
// taken for late is not repeated for hours. That a peer's word must name the start makes it hard to forge, and
// impossible before the alert is known.
func firesAnew(old, in Alert, source string, start, end time.Time) bool {
	toldBy := func(is func(AlertEnd) bool) bool { return slices.ContainsFunc(old.Ends, is) }
	unknown := source == "" || len(old.Ends) == 0
	switch {
	case !unknown && !toldBy(func(e AlertEnd) bool { return sameGroup(e.By, source) }):
		return true
	case in.SeenAt.Before(old.SeenAt):
		return false
	case toldEnd(old.Ends, source, in.StartsAt), toldBy(func(e AlertEnd) bool {
		return e.By == source && !e.End.Before(start)
	}):
		return true
	case in.SeenAt.Sub(end) > lateNews:
		return true
	case unknown:
		return false
	default:
		return !toldBy(func(e AlertEnd) bool { return sameGroup(e.By, source) && e.Start.Equal(in.StartsAt) })
	}
}

// sameGroup says whether two sources are of one group: peers, or the same.
func sameGroup(a, b string) bool {
	of := func(source string) string {
		group, _, named := strings.Cut(source, sourceSeparator)
		if !named {
			return ""
		}
		return group
	}
	return of(a) == of(b)
}

// toldEnd says whether the source is among those that told the end of an episode with that start.
func toldEnd(ends []AlertEnd, source string, start time.Time) bool {
	return slices.ContainsFunc(ends, func(e AlertEnd) bool { return e.By == source && e.Start.Equal(start) })
}

// withoutStart leaves out what was told of an episode whose start a new one has, too: it says nothing of that.
func withoutStart(ends []AlertEnd, start time.Time) []AlertEnd {
	return slices.DeleteFunc(slices.Clone(ends), func(e AlertEnd) bool { return e.Start.Equal(start) })
}

// remember adds a word about an end, and forgets those that no "firing" can be late for any more.
func remember(ends []AlertEnd, told AlertEnd, at time.Time) []AlertEnd {
	var out []AlertEnd
	for _, e := range ends {
		switch {
		case e.By == told.By && e.Start.Equal(told.Start): // it says it again
			told.End = later(told.End, e.End)
		case at.Sub(e.End) <= lateNews:
			out = append(out, e)
		}
	}
	if told.By != "" {
		out = append(out, told)
	}
	return out[max(0, len(out)-endsKept):]
}
