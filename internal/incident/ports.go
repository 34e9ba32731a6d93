package incident

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// WriteResult is how a write to a target ended.
type WriteResult string

// The results. The engine observes the object until it knows; ResultUnknown is left when a person ended that, or when
// the object cannot tell.
const (
	ResultApplied WriteResult = "applied" // the object has the wanted value, written by this claim
	ResultDrift   WriteResult = "drift"   // the object was not what the human saw; nothing was written
	ResultFailed  WriteResult = "failed"  // refused by the API server; nothing was written
	ResultDryRun  WriteResult = "dry-run" // a dry run: the server-side dry-run was accepted; nothing was written
	ResultUnknown WriteResult = "unknown" // nobody knows whether it took effect; it is not made again
)

// Write is the claim of one write to one target: the intent before it, and its end. It is also the history that
// cool-down and budget read.
type Write struct {
	ID       string   `json:"id"`
	Incident string   `json:"incident"`
	Step     string   `json:"step"`
	Pool     string   `json:"pool"`
	Kind     StepKind `json:"kind"`
	// Target is Target.Key() of the object.
	Target    string      `json:"target"`
	Op        Op          `json:"op"`
	DryRun    bool        `json:"dryRun"`
	StartedAt time.Time   `json:"startedAt"`
	EndedAt   time.Time   `json:"endedAt,omitzero"`
	Result    WriteResult `json:"result,omitempty"`
}

// Pause stops writes, in every replica. An empty Pool stops all pools.
type Pause struct {
	Pool   string    `json:"pool,omitempty"`
	Reason string    `json:"reason"`
	By     Actor     `json:"by"`
	At     time.Time `json:"at"`
}

// Covers says whether the pause stops writes of a pool.
func (p Pause) Covers(pool string) bool { return p.Pool == "" || p.Pool == pool }

// PauseOf is the first of the pauses that covers a pool; nil: none does.
func PauseOf(pauses []Pause, pool string) *Pause {
	for _, p := range pauses {
		if p.Covers(pool) {
			return &p
		}
	}
	return nil
}

// Change is one commit on one incident: its new state, journal entries, and what goes with them, all or nothing.
type Change struct {
	Incident Incident
	// Expect is the version that was read; 0 creates the incident.
	Expect int64
	// Fence proves the claim under which the change was worked out; 0 for intake and decisions, which rely on Expect
	// alone.
	Fence   int64
	Entries []Entry
	// DueAt is when the engine should look again; zero: not by itself.
	DueAt time.Time
	// Sooner says that DueAt may only bring the next turn forward: an earlier one that is set stays. Alerts that come in
	// all the time must not put off what waits for its time.
	Sooner bool
	// Release gives the claim back. Without it the claim stays, with the same fence.
	Release bool
	// Render says that the message in Slack is to be drawn again. Thread entries always do.
	Render bool
	// Claim opens a write. The commit is refused with PausedError when a pause covers its pool (undo included).
	Claim *Write
	// Finish ends the write with this id.
	Finish *Write
	// Lock takes the target object for the incident and step; refused with LockedError when another incident has it.
	// Taking an own lock again is fine.
	Lock string
	// Snapshot is kept of the investigation behind the change; nil: there is none worth keeping.
	Snapshot *Snapshot
	// Unlock gives back the lock on this target object, when the incident has it.
	Unlock string
}

// Folded is what became of claimed deliveries: they are done, together with the changes that they made, all or nothing.
type Folded struct {
	Deliveries []Delivery
	Changes    []Change
	// Ended are alerts that had ended before any incident knew of them.
	Ended []Alert
}

// Claimed is an incident with the fence of its claim.
type Claimed struct {
	Incident Incident
	Fence    int64
	// Abandoned says that the claim before this one was never given back: its holder ended, hung, or was cut off from the
	// store.
	Abandoned bool
}

// Filter narrows a listing. Listings are ordered by opening time, the newest first.
type Filter struct {
	// State is a state, "open" for all but closed, or empty for all.
	State string
	Pool  string
	// AllPools ignores Pool.
	AllPools bool
	Limit    int
	// After is the id of the last incident of the page before.
	After string
}

// Opened narrows to the incidents that were opened in [Since, Until).
type Opened struct {
	Since, Until time.Time
	Pool         string
	// AllPools ignores Pool.
	AllPools bool
}

// SinkSlack is the sink that people decide in: Slack, or the log of a bot without Slack. Others only show.
const SinkSlack = "slack"

// KindDigest is the kind of a message that shows a Digest; one of no kind shows an incident.
const KindDigest = "digest"

const (
	// EditGap is the least time between two edits of a message in Slack, so that a burst becomes one; Slack allows about
	// one call a second.
	EditGap = time.Second
	// CountGap is the same for edits that only count alerts or repeat what was known: Slack allows some 50 edits a minute
	// in a workspace (docs.slack.dev/apis/web-api/rate-limits, tier 3), and the messages of ten pools whose alerts flap
	// stay below that. What asks people comes in between.
	CountGap = 15 * time.Second
)

// OnlyCounts says that a change shows nothing that anybody waits for: alerts that come and go, or readings again.
func (ch Change) OnlyCounts() bool {
	switch ch.Incident.State {
	case StateApplying, StateSettling, StateVerifying, StateUndoing, StateClosed:
		return false
	case StateReceived, StateInvestigating, StateProposed, StateDeciding, StateWatching:
	}
	for _, e := range ch.Entries {
		if e.Kind != KindAlerts && e.Kind != KindGathered {
			return false
		}
	}
	return true
}

// Message is one row of the outbox: an incident in one sink, with the version that was sent and how far its thread is.
type Message struct {
	// Incident is the digest's id where Kind is KindDigest.
	Incident string `json:"incident"`
	Kind     string `json:"kind,omitempty"`
	// Sink is a notifier of the configuration, by its name. Channel is the place within it, empty where it has but one.
	Sink    string `json:"sink"`
	Channel string `json:"channel"`
	// TS identifies the posted message; empty before. PostedAt is when the store first had it; the store fills it.
	TS       string    `json:"ts,omitempty"`
	PostedAt time.Time `json:"postedAt,omitzero"`
	// Wanted and Sent are versions of the incident; equal when the message is up to date.
	Wanted int64 `json:"wanted"`
	Sent   int64 `json:"sent"`
	// ThreadSent is the seq of the last journal entry that stands in the thread.
	ThreadSent int64 `json:"threadSent"`
	// IntentAt is when a post began whose answer is not known; zero otherwise. IntentThread is the entry that was being
	// posted, 0 for the message itself.
	IntentAt     time.Time `json:"intentAt,omitzero"`
	IntentThread int64     `json:"intentThread,omitempty"`
	Attempts     int       `json:"attempts"`
	NextAt       time.Time `json:"nextAt"`
	LastError    string    `json:"lastError,omitempty"`
	// GaveUp says that a permanent error stopped the delivery; a new version tries again.
	GaveUp bool `json:"gaveUp,omitempty"`
	// Refused says of one that gave up that it is also tried again at NextAt, because somebody may have put right by then
	// what it was refused for.
	Refused bool `json:"refused,omitempty"`
	// Digest is the digest that the incident has joined, empty when none; Folded says that it is shown nowhere else.
	Digest string `json:"digest,omitempty"`
	Folded bool   `json:"folded,omitempty"`
	// CalledAt is when the thread of a digest last called people.
	CalledAt time.Time `json:"calledAt,omitzero"`
	// Fence proves the claim; the store fills it.
	Fence int64 `json:"-"`
}

// StampedAt is when the message was posted, as its TS says: that of Slack is the time in seconds since 1970, with a
// fraction. Zero: it was not posted, or its TS says no time.
func (m Message) StampedAt() time.Time {
	whole, fraction, _ := strings.Cut(m.TS, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	micros, err2 := strconv.ParseInt(fraction, 10, 64)
	if err != nil || err2 != nil || len(fraction) != 6 || micros < 0 || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, micros*1000).UTC()
}

// Errors of the store that its users tell apart.
var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrStale says that the incident has changed since it was read: read it and work the change out again.
	ErrStale = errors.New("the incident has changed meanwhile")
	// ErrFenced says that the claim was lost to somebody else: stop.
	ErrFenced = errors.New("the claim was lost")
	// ErrPoolOpen says that the pool has another open incident: join that.
	ErrPoolOpen = errors.New("the pool has an open incident already")
)

// LockedError says who holds the lock on a target, which is the Key of an object.
type LockedError struct{ Target, Incident string }

// Error is for logs; people read the words for Reason.
func (e *LockedError) Error() string { return fmt.Sprintf("%s is locked by %s", e.Target, e.Incident) }

// Reason is the error as facts.
func (e *LockedError) Reason() Reason {
	kind, object, _ := strings.Cut(e.Target, "/")
	namespace, name, _ := strings.Cut(object, "/")
	return Reason{
		Kind: ReasonLocked, Target: Target{Kind: kind, Namespace: namespace, Name: name}, Incident: e.Incident,
	}
}

// PausedError says which pause stopped a write.
type PausedError struct{ Pause Pause }

// Error is for logs; people read the words for Reason.
func (e *PausedError) Error() string { return fmt.Sprintf("writes are paused by %s", e.Pause.By) }

// Reason is the error as facts.
func (e *PausedError) Reason() Reason {
	return Reason{Kind: ReasonPaused, Pool: e.Pause.Pool, Who: e.Pause.By, Text: e.Pause.Reason}
}
