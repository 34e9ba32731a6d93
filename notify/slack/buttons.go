package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// The action ids of the buttons: the verb, and the step after a colon so that each is unique. actionConfirmed is the
// approval of a step that asks for a confirmation of its own: its button has a dialog, so that the click is the
// confirmation. actionDenyAll turns down everything that is asked; actionDeny, one step, is on messages of older
// versions.
const (
	actionApprove   = "approve"
	actionConfirmed = "approve_confirmed"
	actionDeny      = "deny"
	actionDenyAll   = "deny_all"
	actionUndo      = "undo"
	actionKeep      = "keep"
	actionAskAgain  = "ask_again"
	actionAck       = "ack"
	actionStop      = "stop"
	actionDetails   = "details"
	// actionNarrow is what an approval becomes whose form has another value; no button has it.
	actionNarrow = "narrow"
)

// buttonValue is all that a button carries.
type buttonValue struct {
	Incident string `json:"i"`
	Step     string `json:"s,omitempty"`
	// Digest is what the person saw: the plan's digest, or for an undo the step's, which stays when the plan changes.
	Digest string `json:"d,omitempty"`
	// Seen tells apart what has the same step or digest: of a stop when the step became the active one (in ns since
	// 1970), of asking again the plan's revision.
	Seen int64 `json:"n,omitempty"`
}

// encode is false when it is too long or names no incident: then no button is shown.
func (v buttonValue) encode() (string, bool) {
	b, err := json.Marshal(v)
	if err != nil || len(b) > maxValue || v.Incident == "" {
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
	if v.Incident == "" {
		return buttonValue{}, errors.New("the button's value is incomplete")
	}
	return v, nil
}

// blockID changes with the plan and the state.
func blockID(what string, inc incident.Incident) string {
	revision, digest := 0, ""
	if inc.Plan != nil {
		revision, digest = inc.Plan.Revision, inc.Plan.Digest
	}
	return fmt.Sprintf("%s:%s:r%d:%s", what, inc.State, revision, digest)
}

// approveButton says with a verb what an approval does. The first one stands out, unless the same knob was tried in
// this incident already: nobody is led to what was just rolled back. Another one is an alternative to it.
func approveButton(inc incident.Incident, s incident.Step, instead bool) (*slackgo.ButtonBlockElement, bool) {
	if inc.Plan == nil || s.ID == "" || inc.Plan.Digest == "" {
		return nil, false
	}
	value, ok := buttonValue{Incident: inc.ID, Step: s.ID, Digest: inc.Plan.Digest}.encode()
	if !ok {
		return nil, false
	}
	label, style := approvalLabel(s), slackgo.StylePrimary
	if inc.Attempted(s) {
		style = slackgo.StyleDefault
	}
	switch {
	case inc.Drill != nil:
		label = "[DRILL] " + label
	case inc.DryRun:
		label = "Dry-run " + present.Lower(label)
	}
	if instead {
		label, style = present.Clip(present.Line(label), maxButton-len(" instead"))+" instead", slackgo.StyleDefault
	}
	if s.Needs.Confirm || s.Needs.Restart {
		b := button(actionConfirmed, s.ID, value, label, slackgo.StyleDanger)
		b.Confirm = restartDialog(inc, s, present.Verb(s, incident.OpApply))
		return b, true
	}
	return button(actionApprove, s.ID, value, label, style), true
}

// denyAllButton turns down every step that is asked about.
func denyAllButton(inc incident.Incident) (*slackgo.ButtonBlockElement, bool) {
	if inc.Plan == nil || inc.Plan.Digest == "" {
		return nil, false
	}
	value, ok := buttonValue{Incident: inc.ID, Digest: inc.Plan.Digest}.encode()
	if !ok {
		return nil, false
	}
	return button(actionDenyAll, "", value, "Deny", slackgo.StyleDefault), true
}

// undoButton is shown for a step that can be rolled back now. It stands out when the undo is offered.
func undoButton(inc incident.Incident, s incident.Step) (*slackgo.ButtonBlockElement, bool) {
	if s.Digest == "" || !slices.ContainsFunc(inc.Undoable(), func(o incident.Step) bool { return o.ID == s.ID }) {
		return nil, false
	}
	value, ok := buttonValue{Incident: inc.ID, Step: s.ID, Digest: s.Digest}.encode()
	if !ok {
		return nil, false
	}
	style, label := slackgo.StyleDefault, present.Verb(s, incident.OpUndo)
	switch {
	case inc.UndoOffered == s.ID:
		style = slackgo.StylePrimary
	case s.Mitigation() && !inc.HealthySince.IsZero():
		label = "Revert to " + present.ValueText(s.Undo) + " now"
	}
	b := button(actionUndo, s.ID, value, label, style)
	if s.Needs.Restart {
		b.Style, b.Confirm = slackgo.StyleDanger, restartDialog(inc, s, label)
	}
	return b, true
}

// keepButton declines the rollback that is offered.
func keepButton(inc incident.Incident, s incident.Step) (*slackgo.ButtonBlockElement, bool) {
	value, ok := buttonValue{Incident: inc.ID, Step: s.ID, Digest: s.Digest}.encode()
	if !ok || s.Digest == "" || inc.DryRun {
		return nil, false
	}
	return button(actionKeep, s.ID, value, "Keep "+present.ValueText(s.To), slackgo.StyleDefault), true
}

// stopButton stops the active step before its write.
func stopButton(inc incident.Incident, s incident.Step) (*slackgo.ButtonBlockElement, bool) {
	a := inc.Active
	if a == nil || a.Phase != incident.PhaseRecheck || a.Step != s.ID || s.Digest == "" {
		return nil, false
	}
	value, ok := buttonValue{Incident: inc.ID, Step: s.ID, Digest: s.Digest, Seen: a.Since.UnixNano()}.encode()
	if !ok {
		return nil, false
	}
	return button(actionStop, "", value, "Stop", slackgo.StyleDefault), true
}

// generalButton is one that is about the incident and not about a step.
func generalButton(inc incident.Incident, action, label string) *slackgo.ButtonBlockElement {
	value, ok := buttonValue{Incident: inc.ID}.encode()
	if !ok {
		value = ""
	}
	return button(action, "", value, label, slackgo.StyleDefault)
}

// askAgainButton asks once more for what was turned down or not answered in time. Without a plan, as when the
// investigation was stopped, it is about none.
func askAgainButton(inc incident.Incident) (*slackgo.ButtonBlockElement, bool) {
	v := buttonValue{Incident: inc.ID}
	if inc.Plan != nil {
		v.Digest, v.Seen = inc.Plan.Digest, int64(inc.Plan.Revision)
	}
	value, ok := v.encode()
	if !ok {
		return nil, false
	}
	return button(actionAskAgain, "", value, "Ask again", slackgo.StyleDefault), true
}

func button(action, step, value, label string, style slackgo.Style) *slackgo.ButtonBlockElement {
	id := action
	if step != "" {
		id += ":" + step
	}
	b := slackgo.NewButtonBlockElement(present.Clip(id, maxID), value, plain(present.Clip(present.Line(label), maxButton)))
	b.Style = style
	return b
}

// approvalLabel is what an approval does in as few words as a phone has room for on a button.
func approvalLabel(s incident.Step) string {
	if s.Needs.Restart && s.To.Present {
		return "Restart with " + present.ValueText(s.To)
	}
	return present.Verb(s, incident.OpApply)
}

// restartDialog asks once more. does is what the step or its rollback does.
func restartDialog(inc incident.Incident, s incident.Step, does string) *slackgo.ConfirmationBlockObject {
	text := does + " replaces all pods of " + s.Target.Object() + ", one by one."
	if s.Cost != "" {
		text += " " + s.Cost
	}
	title, yes := "Restart pods?", "Restart pods"
	if not := present.NothingChanges(inc); not != "" {
		title, yes, text = "Would you restart pods?", "Yes, nothing is changed", not+" In a real incident: "+text
	}
	d := slackgo.NewConfirmationBlockObject(plain(title), plain(present.Clip(present.Line(text), maxConfirm)),
		plain(yes), plain("Cancel"))
	d.Style = slackgo.StyleDanger
	return d
}

// unset shows the values of a step when one of them is not set. The title has what that means then, such as vLLM's
// default, while the rollback says "not set".
func unset(s incident.Step) string {
	if s.Kind == incident.StepManual || s.From.Present == s.To.Present {
		return ""
	}
	return " " + code(present.ValueText(s.From)+" → "+present.ValueText(s.To), 100)
}

// incidentURL is the incident's page.
func incidentURL(opts ViewOptions, inc incident.Incident) string {
	return present.IncidentURL(opts.BaseURL, inc.ID)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
