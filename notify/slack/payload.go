package slack

import (
	"encoding/json"
	"errors"
	"fmt"
)

// click is what is needed of a block_actions payload. It is decoded with own types: slack-go's refuse a whole payload
// for one block they do not know, and take an incomplete one without a word.
type click struct {
	App           string
	Team          string // empty on an installation for a whole organisation
	Enterprise    string
	User          string
	UserTeam      string
	Channel       string
	MessageTS     string
	Private       bool // the button stood in a private message
	Action, Value string
	ResponseURL   string
	// Trigger opens a form within three seconds of the click, once.
	Trigger string
	// First says that nobody has worked on the click before, so that its Trigger is unused.
	First bool
	// Form is what was written into a form that the click had opened; nil of a click itself.
	Form *filled
}

// errNotForUs says that a payload is not a click on a button of ours, and needs no answer.
var errNotForUs = errors.New("not a click on a button")

type payloadJSON struct {
	Type       string               `json:"type"`
	App        string               `json:"api_app_id"`
	Team       *struct{ ID string } `json:"team"`
	Enterprise *struct{ ID string } `json:"enterprise"`
	User       struct {
		ID     string `json:"id"`
		TeamID string `json:"team_id"`
	} `json:"user"`
	Channel   *struct{ ID string } `json:"channel"`
	Container struct {
		Type      string `json:"type"`
		MessageTS string `json:"message_ts"`
		ChannelID string `json:"channel_id"`
		Ephemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	ResponseURL string    `json:"response_url"`
	TriggerID   string    `json:"trigger_id"`
	View        *formJSON `json:"view"`
	Actions     []struct {
		Type     string `json:"type"`
		ActionID string `json:"action_id"`
		BlockID  string `json:"block_id"`
		Value    string `json:"value"`
		At       string `json:"action_ts"`
	} `json:"actions"`
}

// decodeClick reads a payload. The error is errNotForUs for interactions that are none of ours.
func decodeClick(payload []byte) (click, error) {
	var p payloadJSON
	if err := json.Unmarshal(payload, &p); err != nil {
		return click{}, errors.New("the payload is not JSON of the expected shape")
	}
	if p.Type == "view_submission" {
		c, err := p.decodeForm()
		if err == nil {
			err = p.sentBy(&c)
		}
		return c, err
	}
	if p.Type != "block_actions" || p.Container.Type != "message" {
		return click{}, fmt.Errorf("%w: type %.40q in %.40q", errNotForUs, p.Type, p.Container.Type)
	}
	if len(p.Actions) != 1 {
		return click{}, fmt.Errorf("the payload has %d actions, not one", len(p.Actions))
	}
	a := p.Actions[0]
	c := click{
		Channel: p.Container.ChannelID, MessageTS: p.Container.MessageTS,
		Private: p.Container.Ephemeral, Action: a.ActionID, Value: a.Value, ResponseURL: p.ResponseURL,
		Trigger: p.TriggerID,
	}
	if err := p.sentBy(&c); err != nil {
		return click{}, err
	}
	switch {
	case a.Type != "button":
		return click{}, fmt.Errorf("%w: element %.40q", errNotForUs, a.Type)
	case c.Channel == "" || c.MessageTS == "" || a.ActionID == "" || a.BlockID == "":
		return click{}, errors.New("the payload lacks user, channel, message or action")
	case p.Channel != nil && p.Channel.ID != c.Channel:
		return click{}, errors.New("the payload names two channels")
	}
	return c, nil
}

// sentBy notes who did it, and through which app and workspace.
func (p payloadJSON) sentBy(c *click) error {
	c.App, c.User, c.UserTeam = p.App, p.User.ID, p.User.TeamID
	if p.Team != nil {
		c.Team = p.Team.ID
	}
	if p.Enterprise != nil {
		c.Enterprise = p.Enterprise.ID
	}
	if c.User == "" {
		return errors.New("the payload lacks its user")
	}
	return nil
}
