package incident

import (
	"maps"
	"slices"
	"time"
)

// Storm is the rate of new incidents in a channel above which further ones fold into a digest. The zero value folds
// nothing.
type Storm struct {
	// Incidents within Within are what a channel takes with a message for each. 0 folds nothing.
	Incidents int
	Within    time.Duration
}

// DefaultStorm is the rate unless it is set: five messages that ring a phone in ten minutes say that something is
// wrong everywhere, and more of them say nothing else.
var DefaultStorm = Storm{Incidents: 5, Within: 10 * time.Minute}

// A digest takes incidents for DigestFor at most, and at most DigestSize: what lasts longer, or is larger, gets a
// further message, which rings once more and can still be drawn. Of those that have ended, it shows the DigestClosed
// that did so last.
const (
	DigestFor    = time.Hour
	DigestSize   = 100
	DigestClosed = 20
)

// On says whether anything folds.
func (s Storm) On() bool { return s.Incidents > 0 && s.Within > 0 }

// Around is the time in which an incident counts for the rate at a time, without its ends: what lies ahead counts as
// well, because the clocks of replicas differ, and only what lies far ahead, since a clock was set back, does not.
func (s Storm) Around(now time.Time) (from, to time.Time) {
	return now.Add(-s.Within), now.Add(s.Within)
}

// FoldReason says why an incident folds, or has a message of its own.
type FoldReason string

// The reasons.
const (
	FoldRate FoldReason = "rate" // the only one to fold: the channel has had as many as it takes
	FoldOff  FoldReason = "off"
	FoldCalm FoldReason = "calm"
	// FoldSevere is also the reason of a severity that nobody knows, and of a change that went wrong: what might need
	// somebody at once is not hidden.
	FoldSevere FoldReason = "severe"
)

// Fold decides whether a new incident folds into a channel's digest. counted are the times at which incidents came into
// the channel before it, folded or not: a storm lasts as long as they come that fast.
func (s Storm) Fold(inc Incident, counted []time.Time, now time.Time) (bool, FoldReason) {
	recent := 0
	from, to := s.Around(now)
	for _, at := range counted {
		if at.After(from) && at.Before(to) {
			recent++
		}
	}
	switch {
	case !s.On():
		return false, FoldOff
	case !inc.MayFold():
		return false, FoldSevere
	case recent < s.Incidents:
		return false, FoldCalm
	}
	return true, FoldRate
}

// MayFold says whether the incident may be shown as one line among others: only one that is known to be less than
// critical. Every alert of it counts, because among words that are not known nobody can tell the worst. One without
// a pool is shown: nobody has looked how bad it is. So is a drill, which is to be noticed, and one in which a change
// went wrong: it needs a human.
func (i Incident) MayFold() bool {
	if i.Pool == "" || i.Drill != nil || i.changedBadly() {
		return false
	}
	return !slices.ContainsFunc(append(severities(i.Alerts), i.Severity()), func(s string) bool {
		return s != "warning" && s != "info"
	})
}

// changedBadly says that a write failed, that nobody knows what became of one, or that it could not be undone.
func (i Incident) changedBadly() bool {
	steps := i.AppliedEarlier
	if i.Plan != nil {
		steps = slices.Concat(steps, i.Plan.Steps)
	}
	return slices.ContainsFunc(steps, func(s Step) bool {
		return s.State == StepFailed || s.Unsure || s.UndoUnsure || s.UndoTries > 0 || s.Cause.Kind == ReasonWriteUnknown
	})
}

// Digest is what a channel shows in one message of the incidents that folded.
type Digest struct {
	ID string
	// Version counts what has changed in it.
	Version int64
	// Since is when the first incident joined, At when all this was read.
	Since, At time.Time
	// Came is how many incidents came into the channel, folded or not, in the time Within before the last one joined.
	// It is 0 while nothing folds.
	Came   int
	Within time.Duration
	// Folded are shown nowhere else, in the order in which they came, without their journals: all that are open, and
	// the DigestClosed that have ended last. Closed counts the others.
	Folded []Incident
	Closed int
	// Shown have messages of their own, by their ids.
	Shown []string
	// Unreadable are further ones that this program cannot read, by their ids.
	Unreadable []string
	// Calls are the lines of its thread that were not posted yet: who was called for which of its incidents.
	Calls []Call
	// LastCall is the number of the last line, also when it is gone with its incident.
	LastCall int64
}

// Call is a line of a journal that calls people, while its incident is folded.
type Call struct {
	Seq      int64
	Incident string
	Entry    Entry
}

// Open says whether an incident in it has not ended, or might not have.
func (d Digest) Open() bool {
	return len(d.Unreadable) > 0 || slices.ContainsFunc(d.Folded, Incident.Open)
}

// All is how many incidents have joined it.
func (d Digest) All() int { return len(d.Folded) + d.Closed + len(d.Shown) + len(d.Unreadable) }

// CallsEvery is how often the thread of a digest calls people at most: what comes meanwhile is gathered.
const CallsEvery = time.Minute

// A reply calls CallPeople at most, for at most CallIncidents: what no longer fits gets a further one.
const (
	CallPeople    = 40
	CallIncidents = 20
)

// urgentWithin is how long before the end of a request people are called whatever was said before.
const urgentWithin = 2 * CallsEvery

// callHeld is how long a call that cannot be told yet holds up those behind it: longer than a plan takes from its
// proposal to the question, and a newer replica to take the message.
const callHeld = 2 * time.Minute

// Pending are calls that one reply tells.
type Pending struct {
	// Calls are for incidents that are folded and wait for a decision.
	Calls []Call
	// Last is the number of the line up to which nothing is left to tell then; it may be one that is passed over.
	Last int64
	// Held says that they wait, because people were called just before.
	Held bool
	// More says that further ones did not fit, and follow at once.
	More bool
}

// Pending are the next calls behind the line after that still count, when people were called last at called. A call
// that may count in a moment stops the queue: what was passed over is never told.
func (d Digest) Pending(after int64, called, now time.Time) Pending {
	p := Pending{Last: max(after, d.LastCall)}
	people, incidents := map[string]bool{}, map[string]bool{}
	urgent := false
	for _, c := range d.Calls {
		if c.Seq <= after {
			continue
		}
		inc, stand := d.stands(c, now)
		if stand == callSoon {
			p.Last = min(p.Last, c.Seq-1)
			break
		}
		if stand == callOver {
			continue
		}
		urgent = urgent || inc.Plan.ExpiresAt.Before(now.Add(urgentWithin))
		if p.More {
			continue
		}
		if !joins(people, c.Entry.Mention, CallPeople) || !joins(incidents, []string{c.Incident}, CallIncidents) {
			p.More, p.Last = true, c.Seq-1
			continue
		}
		p.Calls = append(p.Calls, c)
	}
	recent := !called.IsZero() && !called.After(now) && now.Before(called.Add(CallsEvery))
	p.Held = recent && !urgent && len(p.Calls) > 0
	return p
}

// joins adds to a set what still fits; the first ones always do.
func joins(set map[string]bool, more []string, most int) bool {
	further := map[string]bool{}
	for _, one := range more {
		if !set[one] {
			further[one] = true
		}
	}
	if len(set) > 0 && len(further) > 0 && len(set)+len(further) > most {
		return false
	}
	maps.Copy(set, further)
	return true
}

// callStand says whether a call counts.
type callStand int

const (
	callOver callStand = iota // decided, or told elsewhere
	callSoon
	callNow
)

// stands says how a call stands, and for a call that counts of which incident it is.
func (d Digest) stands(c Call, now time.Time) (Incident, callStand) {
	n := slices.IndexFunc(d.Folded, func(i Incident) bool { return i.ID == c.Incident })
	var since time.Time
	switch {
	case n >= 0 && d.Folded[n].Waits():
		return d.Folded[n], callNow
	case n >= 0 && d.Folded[n].Request.Open() && d.Folded[n].Plan != nil:
		since = d.Folded[n].Plan.CreatedAt // the plan is being replaced
	case slices.Contains(d.Unreadable, c.Incident):
		since = c.Entry.At
	}
	if !since.IsZero() && now.Sub(since).Abs() < callHeld {
		return Incident{}, callSoon
	}
	return Incident{}, callOver
}

// Waits says whether people are being asked to decide.
func (i Incident) Waits() bool {
	return i.State == StateDeciding && i.Request.Open() && i.Plan != nil && len(i.Asking()) > 0
}
