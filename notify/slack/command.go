package slack

import (
	"encoding/json"
	"errors"
	"net/url"
)

// commandType marks a kept payload as a slash command; clicks carry Slack's own types.
const commandType = "slash_command"

// command is what is kept of a slash command, whichever way it came: the fields of the form are those of the envelope.
type command struct {
	Type        string `json:"type"`
	App         string `json:"api_app_id"`
	Team        string `json:"team_id"`
	Enterprise  string `json:"enterprise_id,omitempty"`
	User        string `json:"user_id"`
	Channel     string `json:"channel_id"`
	Command     string `json:"command"`
	Text        string `json:"text"`
	ResponseURL string `json:"response_url"`
	// Trigger is the command's own: each delivery of it has the same.
	Trigger string `json:"trigger_id,omitempty"`
}

// commandPayload is what is kept of a command that came in an envelope.
func commandPayload(data []byte) ([]byte, error) {
	var c command
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, errors.New("the command is not JSON of the expected shape")
	}
	return c.payload()
}

// commandForm is what is kept of a command that came as a form.
func commandForm(f url.Values) ([]byte, error) {
	return command{
		App: f.Get("api_app_id"), Team: f.Get("team_id"), Enterprise: f.Get("enterprise_id"), User: f.Get("user_id"),
		Channel: f.Get("channel_id"), Command: f.Get("command"), Text: f.Get("text"), ResponseURL: f.Get("response_url"),
		Trigger: f.Get("trigger_id"),
	}.payload()
}

// decodeCommand reads a kept command; false when the payload is none.
func decodeCommand(payload []byte) (command, bool) {
	var c command
	if err := json.Unmarshal(payload, &c); err != nil || c.Type != commandType {
		return command{}, false
	}
	return c, true
}

// answerTo is a private answer to a kept payload: a click's and a command's have the address in the same place, and a
// form has who sent it and where it was opened.
func answerTo(payload []byte, text string) (Answer, error) {
	var p struct {
		Address string `json:"response_url"`
	}
	if err := json.Unmarshal(payload, &p); err == nil && p.Address != "" {
		return Answer{Text: text, ResponseURL: p.Address}, nil
	}
	c, err := decodeClick(payload)
	if err != nil || c.Form == nil {
		return Answer{}, errors.New("the payload has no response_url")
	}
	return Answer{Text: text, Channel: c.Channel, User: c.User}, nil
}

func (c command) payload() ([]byte, error) {
	if c.Command == "" || c.User == "" || c.ResponseURL == "" {
		return nil, errors.New("the command lacks its name, user or response_url")
	}
	c.Type = commandType
	return json.Marshal(c)
}
