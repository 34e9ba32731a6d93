package incident

import (
	"slices"
	"time"
)

// lateNews is how long after the end of an alert a peer of Alertmanager's may still bring the "firing" from before it:
// its default group_interval, which bounds how long one notification is tried, 15 s for each peer before it, and some
// room for clocks.
const lateNews = 6 * time.Minute

// endersKept bounds how many sources are remembered that said that an alert ended; more Alertmanagers than that are not
// run side by side.
const endersKept = 8

type alertChange int

const (
	alertSame alertChange = iota
	alertResolved
	alertRefired
)

// heard is an alert of which nothing was known before.
func heard(in Alert, source string) Alert {
	out, _ := merge(Alert{Fingerprint: in.Fingerprint, Firing: in.Firing, StartsAt: in.StartsAt, EndedBy: in.EndedBy}, in,
		source)
	return out
}

// Heard is what is known of an alert after a word of a source about it.
func (a Alert) Heard(in Alert, source string) Alert {
	out, _ := merge(a, in, source)
	return out
}

// merge folds a word about an alert into what is known of it. Prometheus gives each episode a start of its own, after
// the end of the one before. So the alert fires when the latest start is after the latest end, in whatever order the
// words come in: HA peers repeat them, and bring some late.
//
// One thing the times do not tell. Alertmanager merges what an HA pair of Prometheus says and keeps the earliest start,
// so an alert may fire anew with the start that it had before its end, and that looks like a "firing" from before the
// end which is late. From a source that had said that it ended it is no late one, because a source speaks in order;
// from any other one when it comes too long after the end.
func merge(old, in Alert, source string) (Alert, alertChange) {
	out := old
	out.Labels, out.Annotations, out.GeneratorURL = in.Labels, in.Annotations, in.GeneratorURL
	out.SeenAt = later(old.SeenAt, in.SeenAt)
	// The word itself knows more when it has been folded before.
	start := later(later(old.NewestStart, old.StartsAt), in.NewestStart)
	end := later(later(old.LastEnd, old.EndsAt), in.LastEnd)
	switch {
	case !in.Firing:
		over := later(in.EndsAt, in.StartsAt)
		start, end = later(start, in.StartsAt), later(end, over)
	case !old.Firing && !in.StartsAt.After(end) && anewDespiteStart(old, in, source, end):
		start = end.Add(1)
	default:
		start = later(start, in.StartsAt)
	}
	out.NewestStart, out.LastEnd = start, end
	out.Firing = start.After(end)
	if !out.Firing {
		out.EndsAt = end
		if !in.Firing && source != "" && !slices.Contains(old.EndedBy, source) {
			out.EndedBy = append(slices.Clone(old.EndedBy), source)
			out.EndedBy = out.EndedBy[max(0, len(out.EndedBy)-endersKept):]
		}
		if old.Firing {
			return out, alertResolved
		}
		return out, alertSame
	}
	out.EndsAt, out.EndedBy = time.Time{}, nil
	switch {
	case in.Firing && (!old.Firing || in.StartsAt.Before(old.StartsAt) && in.StartsAt.After(end)):
		out.StartsAt = in.StartsAt
	// what was taken for its start was that of an episode which has ended
	case !in.Firing && !old.StartsAt.After(end) && end.After(old.LastEnd):
		out.StartsAt = start
	}
	if old.Firing {
		return out, alertSame
	}
	return out, alertRefired
}

// anewDespiteStart says whether an ended alert fires anew although its start is not after its end.
func anewDespiteStart(old, in Alert, source string, end time.Time) bool {
	if source != "" && slices.Contains(old.EndedBy, source) {
		return !in.SeenAt.Before(old.SeenAt)
	}
	return in.SeenAt.Sub(end) > lateNews
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
