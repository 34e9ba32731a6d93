package incident

import "time"

// ClockTolerance is how far the clocks of two machines may be apart without a word: five times what etcd, which each
// cluster has, warns of between its members (1 s), and far above what NTP leaves.
const ClockTolerance = 5 * time.Second

// AtReceipt is the alert with times that can be true, and by how much the latest of them was ahead of SeenAt, its
// receipt; zero when none was by more than ClockTolerance. Nobody can tell of what has not happened yet. So a later
// time says nothing but that the clock of its sender is ahead, or that it is made up, and the receipt is taken for it:
// an end in the future would hide the episodes until then, and no end would come after such a start.
func (a Alert) AtReceipt() (Alert, time.Duration) {
	if a.SeenAt.IsZero() {
		return a, 0
	}
	ahead := time.Duration(0)
	if by := a.StartsAt.Sub(a.SeenAt); by > ClockTolerance {
		a.StartsAt, a.NoStart, ahead = a.SeenAt, true, by
	}
	if by := a.EndsAt.Sub(a.SeenAt); by > ClockTolerance {
		a.EndsAt, ahead = a.SeenAt, max(ahead, by)
	}
	return a, ahead
}

// healed is what is known of an alert, without the times that an older version took from the future. That it fires, or
// not, stays.
func (a Alert) healed() Alert {
	a, _ = a.AtReceipt()
	limit := a.SeenAt.Add(ClockTolerance)
	fires := a.NewestStart.After(a.LastEnd)
	if a.SeenAt.IsZero() || !a.NewestStart.After(limit) && !a.LastEnd.After(limit) {
		return a
	}
	a.NewestStart, a.LastEnd = earlier(a.NewestStart, limit), earlier(a.LastEnd, limit)
	if fires {
		a.NewestStart = later(a.NewestStart, a.LastEnd.Add(1))
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
