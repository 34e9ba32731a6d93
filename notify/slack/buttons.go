package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The action ids of the buttons: the verb, and the step after a colon so that each is unique. actionConfirmed is the
// approval of a step that asks for a confirmation of its own: its button has a dialog, so that the click is the
// confirmation.
const (
	actionApprove   = "approve"
	actionConfirmed = "approve_confirmed"
	actionDeny      = "deny"
	actionUndo      = "undo"
)

// buttonValue is all that a button carries.
type buttonValue struct {
	Incident string `json:"i"`
	Step     string `json:"s"`
	// Digest is what the person saw: the plan's digest, or for an undo the step's, which stays when the plan changes.
	Digest string `json:"d"`
}

// encode is false when a part is missing or too long: then no button is shown.
func (v buttonValue) encode() (string, bool) {
	b, err := json.Marshal(v)
	if err != nil || len(b) > maxValue || v.Incident == "" || v.Step == "" || v.Digest == "" {
		return "", false
	}
	return string(b), true
}

func decodeValue(raw string) (buttonValue, error) {
	var v buttonValue
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return buttonValue{}, errors.New("the button's value is not what this bot writes")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return buttonValue{}, errors.New("the button's value has something behind it")
	}
	if v.Incident == "" || v.Step == "" || v.Digest == "" {
		return buttonValue{}, errors.New("the button's value is incomplete")
	}
	return v, nil
}

// blockID changes with the plan, so that Slack takes an edited message's buttons for new ones.
func blockID(what string, inc incident.Incident, s incident.Step) string {
	revision, digest := 0, s.Digest
	if inc.Plan != nil {
		revision, digest = inc.Plan.Revision, inc.Plan.Digest
	}
	return fmt.Sprintf("%s:%s:r%d:%s", what, s.ID, revision, digest)
}

// decideButtons are Approve, with a verb that says what it does, and Deny.
func decideButtons(inc incident.Incident, s incident.Step) []slackgo.BlockElement {
	if inc.Plan == nil {
		return nil
	}
	value, ok := buttonValue{inc.ID, s.ID, inc.Plan.Digest}.encode()
	if !ok {
		return nil
	}
	label := verb(s, incident.OpApply)
	if inc.DryRun {
		label = "Dry run: " + label
	}
	style := slackgo.StylePrimary
	if inc.UndoOffered != "" {
		style = slackgo.StyleDefault // the undo is what is asked first
	}
	yes := button(actionApprove, s.ID, value, label, style)
	if s.Needs.Confirm || s.Needs.Restart {
		yes = button(actionConfirmed, s.ID, value, label, slackgo.StyleDanger)
		yes.Confirm = restartDialog(s, label)
	}
	return []slackgo.BlockElement{yes, button(actionDeny, s.ID, value, "Deny", slackgo.StyleDefault)}
}

// undoButton is shown on a step that is in effect, as long as the incident takes an undo. It stands out when the undo
// is offered.
func undoButton(inc incident.Incident, s incident.Step) (*slackgo.ButtonBlockElement, bool) {
	if s.State != incident.StepApplied || inc.DryRun || (inc.Active != nil && inc.Active.Step != s.ID) ||
		!takesUndo(inc.State) {
		return nil, false
	}
	value, ok := buttonValue{inc.ID, s.ID, s.Digest}.encode()
	if !ok {
		return nil, false
	}
	style := slackgo.StyleDefault
	if inc.UndoOffered == s.ID {
		style = slackgo.StylePrimary
	}
	b := button(actionUndo, s.ID, value, verb(s, incident.OpUndo), style)
	if s.Needs.Restart {
		b.Confirm = restartDialog(s, verb(s, incident.OpUndo))
	}
	return b, true
}

func takesUndo(s incident.State) bool {
	switch s {
	case incident.StateDeciding, incident.StateSettling, incident.StateVerifying, incident.StateWatching:
		return true
	case incident.StateReceived, incident.StateInvestigating, incident.StateProposed, incident.StateApplying,
		incident.StateUndoing,
		incident.StateClosed:
	}
	return false
}

func button(action, step, value, label string, style slackgo.Style) *slackgo.ButtonBlockElement {
	b := slackgo.NewButtonBlockElement(clip(action+":"+step, maxID), value, plain(clip(line(label), maxButton)))
	b.Style = style
	return b
}

func restartDialog(s incident.Step, label string) *slackgo.ConfirmationBlockObject {
	text := label + " replaces the pods of " + s.Target.Object() + "."
	if s.Cost != "" {
		text += " Cost: " + s.Cost
	}
	d := slackgo.NewConfirmationBlockObject(plain("Restart pods?"), plain(clip(line(text), maxConfirm)),
		plain("Restart pods"), plain("Cancel"))
	d.Style = slackgo.StyleDanger
	return d
}

// verb says in a few words what a button does.
func verb(s incident.Step, op incident.Op) string {
	if op == incident.OpUndo {
		return "Roll back to " + valueText(s.Undo)
	}
	arrow := line(valueText(s.From)) + " → " + line(valueText(s.To))
	if s.Kind == incident.StepManual {
		return "Mark as done"
	}
	if knob, ok := s.Kind.Knob(); ok {
		return knob.Verb(s) + " " + arrow
	}
	return "Set " + arrow
}

func valueText(v incident.Value) string {
	if !v.Present {
		return "not set"
	}
	return clip(line(v.Text), 40)
}

// unset shows the values of a step when one of them is not set. The title has what that means then, such as vLLM's
// default, while the rollback says "not set".
func unset(s incident.Step) string {
	if s.Kind == incident.StepManual || s.From.Present == s.To.Present {
		return ""
	}
	return " `" + escape(strings.ReplaceAll(valueText(s.From)+" → "+valueText(s.To), "`", "'"), 100) + "`"
}

// name is a step's title, or what it does where it has none.
func name(s incident.Step) string {
	if t := line(s.Title); t != "" {
		return t
	}
	return verb(s, incident.OpApply)
}

// incidentURL is the incident's page.
func incidentURL(opts ViewOptions, inc incident.Incident) string {
	return strings.TrimRight(opts.BaseURL, "/") + "/incidents/" + url.PathEscape(inc.ID)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
