package incident

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// ReopenWithin is how long after its end a re-fire opens an incident again instead of making a new one (docs: the same
// Slack message), where Timing.Reopen says nothing else.
const ReopenWithin = 30 * time.Minute

// Incident is one episode of trouble on one pool. Its JSON form is the outer contract of the API and of -o json.
type Incident struct {
	ID string `json:"id"`
	// Pool is the pool's name; empty for the one incident that gathers alerts which lead to no pool.
	Pool   string `json:"pool"`
	State  State  `json:"state"`
	Mode   Mode   `json:"mode"`
	DryRun bool   `json:"dryRun"`
	// Drill is set for an exercise; nil: it is meant.
	Drill *Drill `json:"exercise,omitempty"`
	// Said says why the incident is where it is, when that is not obvious.
	Said Note `json:"said,omitzero"`
	// Note is Said in words. Apply leaves it empty for present to fill in; of incidents of older versions there is nothing
	// else.
	Note string `json:"note,omitempty"`
	// NoteStep is the step whose Reason the note says, so that nobody is told twice; empty when it says something else.
	NoteStep string    `json:"noteStep,omitempty"`
	OpenedAt time.Time `json:"openedAt"`
	// ReceivedAt is when the delivery came in that opened it; zero in what older versions stored, and in drills. Use
	// Began.
	ReceivedAt time.Time `json:"receivedAt,omitzero"`
	UpdatedAt  time.Time `json:"updatedAt"`
	ClosedAt   time.Time `json:"closedAt,omitzero"`
	Reopened   int       `json:"reopened,omitempty"`
	// WorstSeverity is the worst severity that a firing alert has had in the incident's life; empty in what older versions
	// stored. Use Severity.
	WorstSeverity string `json:"severity,omitempty"`
	// Unshown says that people are not shown the incident: it has no pool, and the pools of its alerts are being looked
	// for. One that has let all of them go stays so.
	Unshown bool `json:"unshown,omitempty"`
	// Alerts are the worst and newest that fire, and the newest that have ended, as far as there is room for them
	// (docs/operations.md, what the store keeps). AlertsLeftOut counts the ended ones beyond them, AlertsNotKept are those
	// that fire beyond them.
	Alerts        []Alert `json:"alerts"`
	AlertsLeftOut int     `json:"alertsLeftOut,omitempty"`
	AlertsNotKept Unkept  `json:"alertsNotKept,omitzero"`
	// AlertsSince is since when news of the alerts wait to be told in the thread; zero when none do.
	AlertsSince time.Time          `json:"alertsSince,omitzero"`
	Readings    map[string]Reading `json:"readings"`
	ReadAt      time.Time          `json:"readAt,omitzero"`
	Dialect     string             `json:"dialect,omitempty"`
	Cluster     Cluster            `json:"cluster"`
	// Versions are those of vLLM that serve in the pool, where it has several.
	Versions []ServedVersion `json:"versions,omitempty"`
	// PodRoles are the roles of pods in a disaggregated pool, as far as Kubernetes tells them.
	PodRoles []PodRole `json:"podRoles,omitempty"`
	// DeadAlerts are alerts whose rule cannot see this pool's vLLM.
	DeadAlerts []DeadAlert `json:"deadAlerts,omitempty"`
	// Unexamined are alerts about whose rule that is not known.
	Unexamined []UnexaminedAlert `json:"unexamined,omitempty"`
	Diagnosis  *Diagnosis        `json:"diagnosis"`
	// DiagnosedAt is when there was a diagnosis for the first time.
	DiagnosedAt time.Time `json:"diagnosedAt,omitzero"`
	// DecidedAt is when a step was approved, by as many as it takes, or denied for the first time.
	DecidedAt time.Time `json:"decidedAt,omitzero"`
	Others    []Other   `json:"others"`
	Plan      *Plan     `json:"plan"`
	// Revision counts the plans of the incident; it only grows, so that step ids never come twice.
	Revision int `json:"revision,omitempty"`
	// AppliedEarlier are applied steps of earlier plans that have not been undone.
	AppliedEarlier []Step `json:"standing,omitempty"`
	// Narrowings are the smaller changes that people chose for steps of the present plan.
	Narrowings []Narrowing `json:"narrowings,omitempty"`
	// History is everything that was applied in the incident's life, the oldest first, also what was undone since.
	History []Made `json:"history,omitempty"`
	// Attempts are the changes that did not help or were taken back. Policy never repeats one.
	Attempts []Attempt `json:"trials,omitempty"`
	// Active is the step that is being run, in the running states.
	Active *Active `json:"active,omitempty"`
	// UndoOffered is the id of the step whose undo is offered with reason, after it did not help.
	UndoOffered string `json:"undoOffered,omitempty"`
	// Request is what people are being asked; nil while they are not.
	Request *Request `json:"request,omitempty"`
	// LastCall is who was called last since the incident was opened; nil when nobody was.
	LastCall *LastCall `json:"lastCall,omitempty"`
	// AskedFor is the longest time that a request has been open which has ended. Whoever was called in it stays called.
	AskedFor time.Duration `json:"askedFor,omitempty"`
	// MuteReason is "denied", "expired" or "snoozed" after a no, "dry-run" after a dry run; then the same diagnosis is not
	// proposed again.
	MuteReason MuteReason `json:"quiet,omitempty"`
	// Snoozes are the diagnoses that are not asked about for a time.
	Snoozes []Snooze `json:"snoozes,omitempty"`
	// AskedBy is who asked again after a no, until that is settled. Policy then approves nothing by itself. It is no
	// approval: they have not seen the plan that is found.
	AskedBy      *Actor    `json:"askedBy,omitempty"`
	HealthySince time.Time `json:"healthySince,omitzero"`
	// ChangedAt is when the bot last changed something, or took it back, since the incident was opened; zero while it has
	// not.
	ChangedAt time.Time `json:"changedAt,omitzero"`
	// Unrecorded names what was said of writes that the database doesn't have, so that it is said once.
	Unrecorded []string `json:"unrecorded,omitempty"`
	// Setback is set while the bot's own work on the incident fails; nil when it goes well.
	Setback   *Setback   `json:"setback,omitempty"`
	AckedBy   *Actor     `json:"ackedBy,omitempty"`
	Decisions []Decision `json:"decisions"`
	// Journal is filled by the store on reads that ask for it; Apply returns new entries beside the incident.
	Journal []Entry `json:"journal"`
	// Paused covers the pool; nil: nothing does. The store fills it on the same reads as Journal, and never keeps it.
	Paused *Pause `json:"paused,omitempty"`
	// JournalLeftOut counts the lines that the journal does not take any more, because there are so many of their kind;
	// LastLeftOut is the newest of them.
	JournalLeftOut int    `json:"journalLeftOut,omitempty"`
	LastLeftOut    *Entry `json:"lastLeftOut,omitempty"`
	// Lines counts the lines of each kind that is not kept for ever.
	Lines map[EventKind]int `json:"lines,omitempty"`
	// Version counts commits. The store fills it; a commit with an old one is refused.
	Version int64 `json:"version"`
}

// Attempt is a change that was made in this incident and did not help, or was taken back.
type Attempt struct {
	Kind StepKind `json:"kind"`
	// Target is Target.Key() of the object.
	Target string `json:"target"`
	To     Value  `json:"to"`
	// Verdict is empty when it was taken back before there was one.
	Verdict Verdict   `json:"verdict,omitempty"`
	At      time.Time `json:"at"`
	// UndoneBy is nil while the change stands.
	UndoneBy *Actor `json:"undoneBy,omitempty"`
	// Cause says in other cases why it is not repeated: somebody set it back, or nobody knows what became of it. Attempts
	// of older versions have Why, the same in words.
	Cause Reason `json:"cause,omitzero"`
	Why   string `json:"why,omitempty"`
}

// Phase is how far the active step has come within its state.
type Phase string

// The phases. PhaseRecheck: approved, not claimed. PhaseClaimed: the write may have happened. PhaseRollout: written,
// pods are changing. PhaseSettle: waiting for the signals' window. PhaseVerify: reading again.
const (
	PhaseRecheck Phase = "recheck"
	PhaseClaimed Phase = "claimed"
	PhaseRollout Phase = "rollout"
	PhaseSettle  Phase = "settle"
	PhaseVerify  Phase = "verify"
)

// Active is the step that is being run.
type Active struct {
	Step  string    `json:"step"`
	Op    Op        `json:"op"`
	Phase Phase     `json:"phase"`
	Since time.Time `json:"since"`
	By    Actor     `json:"by"`
	// Said is the reason of an undo, Why the same in words, as in Incident.
	Said Note   `json:"said,omitzero"`
	Why  string `json:"why,omitempty"`
	// WriteID names the claim of the write; it is also the annotation on the object.
	WriteID string `json:"writeId,omitempty"`
	// Mark is what the field was like just before the claim.
	Mark *Mark `json:"mark,omitempty"`
	// Tries counts the tries of the claimed write that had no clear answer, the last one at TriedAt with LastError.
	Tries       int       `json:"tries,omitempty"`
	TriedAt     time.Time `json:"triedAt,omitzero"`
	LastError   string    `json:"lastError,omitempty"`
	SettleUntil time.Time `json:"settleUntil,omitzero"`
	// Before are the readings before the write.
	Before map[string]Reading `json:"before,omitempty"`
	// WorseInRow counts readings in a row that were worse.
	WorseInRow int `json:"worseInRow,omitempty"`
	// Readings counts the readings of this verification.
	Readings int `json:"readings,omitempty"`
}

// Entry is one line of the journal. Entries are only ever added.
type Entry struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Said is what happened, Text the same in words, as in Incident.
	Said Note   `json:"said,omitzero"`
	Text string `json:"text"`
	// Line is the number of the line among those of its kind where most of them are left out; 0 elsewhere.
	Line int    `json:"line,omitempty"`
	By   *Actor `json:"by,omitempty"`
	Step string `json:"step,omitempty"`
	// Thread says that the line also goes to the Slack thread.
	Thread bool `json:"thread,omitempty"`
	// Mention are the ids of users and user groups whom the line in the thread calls, in Slack's form.
	Mention []string        `json:"mention,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	// Record says, of a decision and of what is done about a step, exactly what it is about; nil elsewhere.
	Record *Record `json:"record,omitempty"`
	// Hash is the hash of the line and of all before it. The store fills it on reads; empty in journals of older versions.
	Hash string `json:"hash,omitempty"`
}

// New returns an incident of the pool that has just been received, without alerts.
func New(id, pool string, mode Mode, dryRun bool, now time.Time) Incident {
	return Incident{
		ID: id, Pool: pool, State: StateReceived, Mode: mode, DryRun: dryRun, OpenedAt: now, UpdatedAt: now,
		Alerts: []Alert{}, Readings: map[string]Reading{}, Others: []Other{}, Decisions: []Decision{}, Journal: []Entry{},
	}
}

// ChosenBy is the person who chose a step's very value; nil when it is the one that the bot proposes. To ask again
// after a no chooses nothing.
func (i Incident) ChosenBy(s Step) *Actor {
	if n, ok := i.Narrowing(s.Kind); ok && n.Holds(s) {
		return &n.By
	}
	return nil
}

// Open says whether the incident has not ended.
func (i Incident) Open() bool { return i.State != StateClosed }

// Firing returns the alerts that fire, of those that are kept.
func (i Incident) Firing() []Alert {
	return slices.DeleteFunc(slices.Clone(i.Alerts), func(a Alert) bool { return !a.Firing })
}

// FiringNames returns the different names of alerts that fire, by name.
func (i Incident) FiringNames() []string {
	names := i.AlertNames()
	fires := func(name string) bool {
		return slices.ContainsFunc(i.Alerts, func(a Alert) bool { return a.Firing && a.Name() == name })
	}
	return slices.DeleteFunc(names, func(name string) bool { return !fires(name) })
}

// AlertNames returns the different alert names, firing ones first, then by name.
func (i Incident) AlertNames() []string {
	firing := map[string]bool{}
	for _, a := range i.Alerts {
		firing[a.Name()] = firing[a.Name()] || a.Firing
	}
	names := slices.Collect(maps.Keys(firing))
	slices.SortFunc(names, func(a, b string) int {
		if firing[a] != firing[b] {
			if firing[a] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return names
}

// CanAskAgain says whether a person may have the bot ask again: a no, or the end of the time to decide, has muted it.
func (i Incident) CanAskAgain() bool {
	return i.State == StateWatching && slices.Contains([]MuteReason{MutedDenied, MutedExpired, MutedSnoozed}, i.MuteReason)
}

// Severity is the worst severity label that an alert has had in the incident's life ("critical", "warning", other words
// as they are), or "". It stays when the alerts resolve, and when the incident is opened again.
func (i Incident) Severity() string {
	if i.WorstSeverity != "" {
		return i.WorstSeverity
	}
	return worst(severities(i.Alerts)) // stored by an older version
}

// rank orders severities, the worst highest.
func rank(severity string) int {
	switch severity {
	case "critical", "page":
		return 3
	case "warning":
		return 2
	case "":
		return 0
	default:
		return 1
	}
}

func worst(severities []string) string {
	return slices.MaxFunc(append([]string{""}, severities...), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(b, a))
	})
}

func severities(as []Alert) []string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = a.Labels["severity"]
	}
	return out
}

// Step finds a step by its id in the plan, then among the steps of earlier plans.
func (i Incident) Step(id string) (Step, bool) {
	if i.Plan != nil {
		for _, s := range i.Plan.Steps {
			if s.ID == id {
				return s, true
			}
		}
	}
	for _, s := range i.AppliedEarlier {
		if s.ID == id {
			return s, true
		}
	}
	return Step{}, false
}

// Applied returns every applied step that has not been undone: those of earlier plans, then those of the plan.
func (i Incident) Applied() []Step {
	out := slices.Clone(i.AppliedEarlier)
	if i.Plan != nil {
		for _, s := range i.Plan.Steps {
			if s.State == StepApplied {
				out = append(out, s)
			}
		}
	}
	return slices.DeleteFunc(out, func(s Step) bool { return s.State != StepApplied })
}

// ClosesOnResolve says that an alert still fires, so the incident stays open although its signals are healthy. The
// alert may see something that they do not, or its window lags behind and it resolves soon. An incident closed before
// that would miss a relapse: Alertmanager doesn't repeat an alert that keeps firing before its repeat_interval.
func (i Incident) ClosesOnResolve() bool { return i.FiringCount() > 0 }

// Mitigations returns the applied steps that must be undone before the incident can close. A dry run has none: it
// changed nothing.
func (i Incident) Mitigations() []Step {
	if i.DryRun {
		return nil
	}
	return slices.DeleteFunc(i.Applied(), func(s Step) bool { return !s.Mitigation() })
}

// Proposed returns the steps of the plan that still wait for a decision and can be executed.
func (i Incident) Proposed() []Step {
	if i.Plan == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(i.Plan.Steps), func(s Step) bool {
		return s.State != StepProposed || !s.Executable()
	})
}
