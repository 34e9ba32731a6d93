package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// actionShow gives one incident of a digest its own message, actionShowAll all of them.
const (
	actionShow    = "show"
	actionShowAll = "show_all"
)

// Digests gives the incidents of digests messages of their own.
type Digests interface {
	// Unfold does so for one incident of a digest, or with an empty id for all open ones, and says how many it was: none
	// when they have one. It may be called twice. incident.ErrNotFound says that there is no such digest, or incident in
	// it.
	Unfold(ctx context.Context, digest, incidentID string) (int, error)
}

// digestValue is all that a button of a digest carries.
type digestValue struct {
	Digest string `json:"g"`
	// Incident is empty for all of them.
	Incident string `json:"i,omitempty"`
}

// showButton gives an incident its own message, or all of them.
func showButton(digest, id string) (*slackgo.ButtonBlockElement, bool) {
	value, ok := digestValue{digest, id}.encode()
	if !ok {
		return nil, false
	}
	if id == "" {
		return button(actionShowAll, "", value, "Show all", slackgo.StyleDefault), true
	}
	return button(actionShow, id, value, "Show", slackgo.StyleDefault), true
}

// showAllDialog asks before a channel gets many messages.
func showAllDialog(n int) *slackgo.ConfirmationBlockObject {
	text := fmt.Sprintf("Each of the %d open incidents gets its own message in this channel. Closed ones don't.", n)
	return slackgo.NewConfirmationBlockObject(plain(fmt.Sprintf("Post %d messages?", n)), plain(text),
		plain("Show all"), plain("Cancel"))
}

// encode is false when it is too long.
func (v digestValue) encode() (string, bool) {
	b, err := json.Marshal(v)
	return string(b), err == nil && len(b) <= maxValue && v.Digest != ""
}

// decodeDigestValue reads what a button of a digest carries: an incident for one of them, none for all.
func decodeDigestValue(action, raw string) (digestValue, *refusal) {
	var v digestValue
	dec := json.NewDecoder(bytes.NewReader([]byte(raw)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&v)
	if err == nil && (v.Digest == "" || dec.More() || (v.Incident == "") != (action == actionShowAll)) {
		err = errors.New("the button's value is incomplete")
	}
	if err != nil {
		return v, unknownValue(err)
	}
	return v, nil
}

// unfold carries out a click on Show or Show all, which is for every full member of the workspace, as the details are:
// it shows more and decides nothing.
func (i *Interactions) unfold(ctx context.Context, c click, action string, a *Answer) *refusal {
	if no := i.origin(ctx, c); no != nil {
		return no
	}
	v, no := decodeDigestValue(action, c.Value)
	if no != nil {
		return no
	}
	a.Incident = present.Clip(present.Line(v.Incident), 100)
	if no := i.place(ctx, c, v.Digest); no != nil {
		return no
	}
	if no := i.member(ctx, c); no != nil {
		return no
	}
	n, err := i.digests.Unfold(ctx, v.Digest, v.Incident)
	switch {
	case errors.Is(err, incident.ErrNotFound):
		return unreadable(err)
	case err != nil:
		no := refuse("the digest could not be unfolded", "Could not show it. Click again in a minute, or use "+
			"`vllm-medic incidents`.")
		no.err = err
		return no
	case n == 0 && v.Incident == "":
		a.Text = "Every open incident of it has its own message already."
	case n == 0:
		a.Text = "It has its own message in this channel already."
	case v.Incident == "":
		a.Text = "Posting " + present.Counted(n, "message") + " in this channel."
	default:
		a.Text = "Posting its message in this channel."
	}
	return nil
}
