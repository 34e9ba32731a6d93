package incident

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// StepKind names what a step adjusts.
type StepKind string

// The kinds of steps, with those in argument.go. StepManual is advice for a person: it has no target and is never
// executed.
const (
	StepReplicas StepKind = "replicas"
	StepThrottle StepKind = "throttle"
	StepManual   StepKind = "manual"
)

// Value is a knob's setting as text, or absent. In JSON an absent value is null.
type Value struct {
	Present bool
	Text    string
}

// Set returns a present value.
func Set(text string) Value { return Value{Present: true, Text: text} }

// String is the text, or "absent".
func (v Value) String() string {
	if !v.Present {
		return "absent"
	}
	return v.Text
}

// MarshalJSON writes the text, or null when absent.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Present {
		return []byte("null"), nil
	}
	return json.Marshal(v.Text)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*v = Value{}
		return nil
	}
	v.Present = true
	return json.Unmarshal(b, &v.Text)
}

// StepRequest is a step as a playbook asks for it, before anything of the cluster is known.
type StepRequest struct {
	Kind StepKind `json:"kind"`
	// Factor multiplies the present value (a throttle, an engine argument); 0 when Add is used.
	Factor float64 `json:"factor,omitempty"`
	// Add is added to the present value (replicas); 0 when Factor is used.
	Add int64 `json:"add,omitempty"`
	// Times is how many times the present value the load needs, where that was measured; 0: it was not. The step adds at
	// least Add and at most doubles the value.
	Times float64 `json:"times,omitempty"`
	// Of is what Factor multiplies where it is less than the present value: the requests in flight, of which a limit far
	// above them would reject none; 0: not measured, or the step does not ask for it.
	Of float64 `json:"of,omitempty"`
	// Now is the present value as the readings tell it, for a title without the object: the replicas that serve, or the
	// value of an engine argument; 0: they don't tell.
	Now float64 `json:"-"`
	// Asked is the value that people are asked about already, or have approved; 0 when there is none. It stays while what
	// Times or Of leads to is near it: an estimate that wavers must not replace a question that someone reads.
	Asked int64 `json:"-"`
	// Chosen is the value that a person chose, a smaller change than Factor or Add lead to; 0 when nobody did.
	Chosen int64  `json:"-"`
	Why    string `json:"why,omitempty"`
	// Advice is the text of a manual step, Commands are those of Step.
	Advice   string   `json:"advice,omitempty"`
	Commands []string `json:"commands,omitempty"`
	// RevertAfter makes the step a mitigation: it is undone when the pool has been healthy for this long. 0: it is kept.
	RevertAfter time.Duration `json:"revert_after,omitempty"`
	// WarmUp is how long after the rollout the effect cannot be judged yet.
	WarmUp time.Duration `json:"warm_up,omitempty"`
}

// Target is the exact field of the exact object that a step touches.
type Target struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	// Field is a path for people: "spec.replicas (scale)", "spec.minReplicas", "args[vllm] --max-num-batched-tokens". Two
	// targets of one object are the same when it is the same; nothing is read out of it.
	Field string `json:"field"`
	// Setting is the setting's own name: "replicas", "minReplicas", "max-num-batched-tokens", "maxParallelRequests".
	Setting string `json:"setting,omitempty"`
	// Subresource is where the setting is written, "scale"; empty for the object itself.
	Subresource string `json:"subresource,omitempty"`
	// Container is the container whose arguments hold the setting; empty for a setting that no container has.
	Container string `json:"container,omitempty"`
}

// What Target says of a number of replicas that the bot sets itself. Any other setting of a step of that kind is the
// least number that an autoscaler may choose.
const (
	SettingReplicas  = "replicas"
	SubresourceScale = "scale"
)

// Key identifies the object, not the field: locks are on objects.
func (t Target) Key() string { return t.Kind + "/" + t.Namespace + "/" + t.Name }

// String is "Deployment llm/llama-70b spec.replicas".
func (t Target) String() string { return t.Object() + " " + t.Field }

// Object is "Deployment llm/llama-70b".
func (t Target) Object() string { return t.Kind + " " + t.Namespace + "/" + t.Name }

// Checked is what came of trying a change out before anybody decides on it.
type Checked struct {
	// OK says that the change was tried out: the guardrails have the answer.
	OK bool `json:"ok"`
	// By is who was to try it out.
	By CheckedBy `json:"by"`
	// Why says why it was not tried out, without a full stop; empty when it was.
	Why string `json:"why,omitempty"`
}

// CheckedBy is who can try a change out.
type CheckedBy string

// CheckedByServer is Kubernetes' API server, with a dry-run of the very patch.
const CheckedByServer CheckedBy = "api_server"

// Needs are what a step needs before it may run.
type Needs struct {
	// Confirm asks for a confirmation of its own, because the step restarts pods.
	Confirm bool `json:"confirm,omitempty"`
	// Restart says that pods are replaced.
	Restart bool `json:"restart,omitempty"`
	// Approvals is how many different people must approve.
	Approvals int `json:"approvals"`
	// Users and Groups are the approvers at the time of the proposal, as ids of Slack. They are for showing only: whoever
	// decides is held against the approvers of that moment.
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Step is one turn of one knob from a value to a value, or advice for a person.
type Step struct {
	ID     string   `json:"id"`
	Digest string   `json:"digest"`
	Kind   StepKind `json:"kind"`
	// Title names the change with both values, "Scale llama-70b from 2 to 3 replicas", or is the advice. Of an absent From
	// it has what that means.
	Title string `json:"title"`
	Why   string `json:"why,omitempty"`
	// Commands are lines of a shell for a person to run for a manual step, in this order. They are about the first of the
	// pods that the diagnosis is about. Nothing of the bot runs them.
	Commands []string `json:"commands,omitempty"`
	Target   Target   `json:"target,omitzero"`
	From     Value    `json:"from"`
	To       Value    `json:"to"`
	// Assumed is what an absent From is taken to mean where only the configuration says it. Absent: nothing is assumed.
	Assumed Value `json:"assumed,omitzero"`
	// Undo is the value that the way back restores.
	Undo Value  `json:"undo"`
	Diff string `json:"diff,omitempty"`
	// Checked says whether the API server has accepted the change as a dry-run; zero: nobody has said it.
	Checked    Checked     `json:"check,omitzero"`
	Cost       string      `json:"cost,omitempty"`
	Speed      string      `json:"speed,omitempty"`
	Risk       string      `json:"risk,omitempty"`
	Needs      Needs       `json:"needs"`
	Guardrails []Guardrail `json:"guardrails"`
	State      StepState   `json:"state"`
	// Cause says why the step is refused, failed, denied or superseded, Reason the same in words, as in Incident.
	Cause       Reason        `json:"cause,omitzero"`
	Reason      string        `json:"reason,omitempty"`
	RevertAfter time.Duration `json:"liftAfter,omitempty"`
	WarmUp      time.Duration `json:"warmUp,omitempty"`
	AppliedAt   time.Time     `json:"appliedAt,omitzero"`
	// AskedAt is since when people had been asked when they approved it; LiveAt is when its rollout was complete. UndoneBy
	// took it back at UndoneAt. Unsure says that nobody knows whether its write took effect.
	AskedAt   time.Time `json:"askedAt,omitzero"`
	LiveAt    time.Time `json:"liveAt,omitzero"`
	UndoneAt  time.Time `json:"undoneAt,omitzero"`
	UndoneBy  *Actor    `json:"undoneBy,omitempty"`
	Unsure    bool      `json:"unsure,omitempty"`
	Approvals []Actor   `json:"approvals,omitempty"`
	// ApprovedUnder is Approvers.Rule of the configuration under which the approvals were given.
	ApprovedUnder string        `json:"approvedUnder,omitempty"`
	Verification  *Verification `json:"verification,omitempty"`
	// Reverted says who changed the value after the step, or its undo, had set it.
	Reverted *Reversal `json:"reverted,omitempty"`
	// Attempt is what came of the same change earlier in this incident; nil when it is new. People may repeat it, policy
	// may not. Tried says it in words, as Incident.Note does.
	Attempt *Attempt `json:"trial,omitempty"`
	Tried   string   `json:"tried,omitempty"`
	// UndoTries counts the undos that were refused, the last one at UndoRefusedAt. The step still stands.
	UndoTries     int       `json:"undoTries,omitempty"`
	UndoRefusedAt time.Time `json:"undoRefusedAt,omitzero"`
	// Written says, in a dry run, that the step was applied before the incident became one.
	Written bool `json:"written,omitempty"`
	// Worked is the arithmetic of the step, as its knob said it. Only snapshots keep it.
	Worked *Worked `json:"worked,omitempty"`
	// UndoUnsure says that nobody knows what became of an undo. The bot does not try another one by itself; a person may.
	UndoUnsure bool `json:"undoUnsure,omitempty"`
}

// undoPause is how long the bot waits after a refused undo; it doubles with each, up to undoPauseMost. A refusal by
// RBAC, admission or quota lasts until a person has done something, and every try is a line in the thread.
const (
	undoPause     = 5 * time.Minute
	undoPauseMost = 2 * time.Hour
)

// UndoDue says whether the bot may try to undo the step by itself: at once, and after refusals ever more rarely. A
// person may ask at any time.
func (s Step) UndoDue(now time.Time) bool {
	switch {
	case s.UndoUnsure:
		return false
	case s.UndoTries == 0:
		return true
	}
	return !now.Before(s.UndoRefusedAt.Add(min(undoPause<<min(s.UndoTries-1, 10), undoPauseMost)))
}

// WasTried says whether the same change was made earlier in this incident.
func (s Step) WasTried() bool { return s.Attempt != nil || s.Tried != "" }

// Counting are the approvals that count under the approvers of now. One that was given in Slack under other approvers
// counts only when its person is among the users of now: who is in a group is not known here.
func (s Step) Counting(now Approvers) []Actor {
	if s.ApprovedUnder == now.Rule() {
		return s.Approvals
	}
	return slices.DeleteFunc(slices.Clone(s.Approvals), func(by Actor) bool {
		return by.Kind == ActorSlack && !slices.Contains(now.Users, by.ID)
	})
}

// Executable says whether the bot can run the step at all: it is not advice and nothing refuses it.
func (s Step) Executable() bool { return s.Kind != StepManual && s.Refusal().Kind == "" }

// Refusal says why the bot can't run a step that is not advice: a guardrail refuses it, or this version does not know
// its kind. The zero Reason: it can.
func (s Step) Refusal() Reason {
	if !slices.Contains(StepKinds(), s.Kind) {
		return Reason{Kind: ReasonStepKind, Given: string(s.Kind)}
	}
	return Refusal(s.Guardrails)
}

// HeldByPause says which pause keeps the step from being proposed, or stopped it before its write; false: none does.
func (s Step) HeldByPause() (Reason, bool) {
	why := s.Refusal()
	if s.State == StepRefused && s.Cause.Kind == ReasonPaused {
		why = s.Cause
	}
	held := (s.State == StepProposed || s.State == StepRefused) && s.Kind != StepManual && why.Kind == ReasonPaused
	return why, held
}

// HeldByPause says that nothing is asked because changes were paused when the incident was last looked at. It is asked
// again when that ends.
func (i Incident) HeldByPause() bool {
	return i.State == StateWatching && i.MuteReason == NotMuted && i.Plan != nil &&
		slices.ContainsFunc(i.Plan.Steps, func(s Step) bool {
			_, held := s.HeldByPause()
			return held
		})
}

// Cautions are what an approver should know first. A step that has one runs only when a person approves it.
func (s Step) Cautions() []string {
	var out []string
	for _, g := range s.Guardrails {
		if g.Verdict == GuardCaution {
			out = append(out, g.Reason)
		}
	}
	return out
}

// Mitigation says whether the step is undone by itself when the incident has recovered.
func (s Step) Mitigation() bool { return s.RevertAfter > 0 }

// ComputeDigest hashes what an approval binds to: target with UID, field, from, to and undo, and what is assumed, if
// anything. Twelve hex digits of SHA-256. The words of a manual step are not in it: nobody approves them, and they hold
// readings, so that every investigation would make a new plan and refuse the click on the one that is shown.
func (s Step) ComputeDigest() string {
	// What is hashed of a target is what a target was when the first digests were stored: they stay.
	type target struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
		UID        string `json:"uid"`
		Field      string `json:"field"`
	}
	t := s.Target
	return digest(struct {
		Kind           StepKind
		Target         target
		From, To, Undo Value
		// Left out when absent, so that the digests of stored steps that assume nothing stay.
		Assumed Value `json:",omitzero"`
	}{s.Kind, target{t.APIVersion, t.Kind, t.Namespace, t.Name, t.UID, t.Field}, s.From, s.To, s.Undo, s.Assumed})
}

// Plan is the ordered steps proposed for a diagnosis.
type Plan struct {
	Digest    string    `json:"digest"`
	Revision  int       `json:"revision"`
	Diagnosis string    `json:"diagnosis"`
	Steps     []Step    `json:"steps"`
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is when waiting for a decision ends with a no; zero while nobody is asked.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Missed is how many looks in a row have not found the plan's diagnosis.
	Missed int `json:"missed,omitempty"`
	// Rechosen says that a person has chosen another number: the next look takes it, however little it moves.
	Rechosen bool `json:"rechosen,omitempty"`
}

// ComputeDigest hashes the digests of the steps in order.
func (p Plan) ComputeDigest() string {
	ds := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		ds[i] = s.Digest
	}
	return digest(ds)
}

func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		// Only strings and numbers are hashed here; Marshal cannot fail on them.
		return "unhashable: " + err.Error()
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}
