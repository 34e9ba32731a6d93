package incident

// Ignored says why a word of an accepted delivery about an alert changed nothing. A word that only says again what is
// known is not ignored.
type Ignored string

// The reasons.
const (
	// IgnoredLate is a "firing" that is taken for late news from before the end of the alert.
	IgnoredLate Ignored = "late_firing"
	// IgnoredClosed is a "firing" right after the incident of the alert was closed, of an episode from before that.
	IgnoredClosed Ignored = "closed_incident"
	// IgnoredEarlier is a "resolved" of an episode before the one that fires.
	IgnoredEarlier Ignored = "earlier_end"
	// IgnoredUnknown is a "resolved" of an alert that was never heard to fire.
	IgnoredUnknown Ignored = "unknown_end"
	// IgnoredRoom is such a "resolved" in an incident that keeps no more of those that have ended.
	IgnoredRoom Ignored = "no_room"
)

// AllIgnored lists every reason.
func AllIgnored() []Ignored {
	return []Ignored{IgnoredLate, IgnoredClosed, IgnoredEarlier, IgnoredUnknown, IgnoredRoom}
}

// Firing says whether what was ignored is that an alert fires.
func (i Ignored) Firing() bool { return i == IgnoredLate || i == IgnoredClosed }

// IgnoredWords are the words of one delivery that were ignored for one reason.
type IgnoredWords struct {
	// Delivery is Delivery.ID; 0 for alerts that came from another incident.
	Delivery int64
	Why      Ignored
	Count    int
	// First are the first of the alerts.
	First []Alert
}

// ignoredNamed is how many alerts are kept for the log of each delivery and reason.
const ignoredNamed = 3

// Ignore adds a word to a list.
func Ignore(list []IgnoredWords, delivery int64, why Ignored, a Alert) []IgnoredWords {
	at := -1
	for n := range list {
		if list[n].Delivery == delivery && list[n].Why == why {
			at = n
		}
	}
	if at < 0 {
		at, list = len(list), append(list, IgnoredWords{Delivery: delivery, Why: why})
	}
	list[at].Count++
	if len(list[at].First) < ignoredNamed {
		list[at].First = append(list[at].First, a)
	}
	return list
}

// IgnoredOf says whether a word about an alert was ignored, given what is known of the alert after it.
func IgnoredOf(known, word Alert) (Ignored, bool) {
	switch {
	case word.Firing && !known.Firing:
		return IgnoredLate, true
	case !word.Firing && known.Firing:
		return IgnoredEarlier, true
	default:
		return "", false
	}
}
