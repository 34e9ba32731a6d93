package incident

import "time"

// ActorKind says where an actor is known, or which part of the bot it is. It is stored and exported, so its values
// stay.
type ActorKind string

// The kinds.
const (
	// ActorSlack is a person by the id of their Slack account.
	ActorSlack ActorKind = "slack"
	// ActorKubernetes is a person by the name of their Kubernetes user: the command line, the pages and the API.
	ActorKubernetes ActorKind = "kubernetes"
	// ActorViewer holds the viewer token, which only reads.
	ActorViewer ActorKind = "viewer"
	// ActorPolicy is the configured policy, ActorBot the bot itself where nothing else decides.
	ActorPolicy ActorKind = "policy"
	ActorBot    ActorKind = "bot"
	// ActorSchedule starts what the configuration has a schedule for.
	ActorSchedule ActorKind = "schedule"
)

// ActorKinds are all kinds. Nothing changes the list.
var ActorKinds = []ActorKind{ActorSlack, ActorKubernetes, ActorViewer, ActorPolicy, ActorBot, ActorSchedule}

// Actor is who did something. ID is the stable id there, never a display name.
type Actor struct {
	Kind ActorKind `json:"kind"`
	ID   string    `json:"id"`
}

// String is "slack:U0123".
func (a Actor) String() string { return string(a.Kind) + ":" + a.ID }

// Person says whether a human did it, through whatever door.
func (a Actor) Person() bool {
	switch a.Kind {
	case ActorSlack, ActorKubernetes:
		return true
	case ActorViewer, ActorPolicy, ActorBot, ActorSchedule:
	}
	return false
}

// Decision is an approval, a denial, a request to undo or the refusal of an offered undo, with the plan that the person
// saw.
type Decision struct {
	// Step is empty in a denial of everything that is asked.
	Step string `json:"step"`
	// Digest is the plan's digest. An undo, and the refusal of one, may have the step's, or none.
	Digest  string    `json:"digest"`
	Verb    Verb      `json:"decision"`
	By      Actor     `json:"by"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason,omitempty"`
	Confirm bool      `json:"confirmed,omitempty"`
	// Snooze is how long the diagnosis is not asked about after a denial of everything; 0: as after any denial.
	Snooze time.Duration `json:"snooze,omitempty"`
}

// Verb is what a decision says.
type Verb string

// The verbs of a decision.
const (
	Approve Verb = "approve"
	Deny    Verb = "deny"
	Undo    Verb = "undo"
	// Keep declines the undo that is offered.
	Keep Verb = "keep"
)

// all says that the decision is about everything that is asked.
func (d Decision) all() bool { return d.Step == "" && d.Verb == Deny }
