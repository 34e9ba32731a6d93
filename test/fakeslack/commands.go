package fakeslack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// CommandRequest says who types which slash command where. The second half tampers with what the app gets in ways in
// which Slack never would.
type CommandRequest struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	// Command is what is typed, with its slash: "/vllm-medic".
	Command string `json:"command"`
	Text    string `json:"text"`

	// BadSignature signs with another secret, Unsigned not at all; both only over HTTP.
	BadSignature bool `json:"bad_signature,omitempty"`
	Unsigned     bool `json:"unsigned,omitempty"`
	// These replace what is said about the origin.
	AppID        string `json:"app_id,omitempty"`
	TeamID       string `json:"team_id,omitempty"`
	EnterpriseID string `json:"enterprise_id,omitempty"`
}

// Command sends a slash command, over a connection in Socket Mode and to the interactivity URL else, and waits for the
// answer as a click does. What the app answers at once is shown to the person alone, like what it sends to the
// response_url later; Answers has both.
func (s *Server) Command(ctx context.Context, c CommandRequest) (ClickResult, error) {
	sent, err := s.prepareCommand(c)
	if err != nil {
		return ClickResult{}, fmt.Errorf("command %s in %s: %w", c.Command, c.Channel, err)
	}
	result, err := s.deliver(ctx, sent)
	if err != nil {
		return result, fmt.Errorf("command %s %s by %s: %w", c.Command, c.Text, c.User, err)
	}
	if err := s.showAtOnce(c, result); err != nil {
		return result, fmt.Errorf("command %s %s by %s: %w", c.Command, c.Text, c.User, err)
	}
	return result, nil
}

func (s *Server) prepareCommand(c CommandRequest) (*sentClick, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, ok := s.users[c.User]
	if !ok {
		return nil, fmt.Errorf("%w: no user %q", ErrNotVisible, c.User)
	}
	channel, ok := s.channels[c.Channel]
	if !ok || !channel.hasMember(c.User) {
		return nil, fmt.Errorf("%w: %s is not in %q", ErrNotVisible, c.User, c.Channel)
	}
	if !strings.HasPrefix(c.Command, "/") || len(c.Command) > 32 {
		return nil, fmt.Errorf("%w: %q is no slash command", ErrNotVisible, c.Command)
	}
	sent := &sentClick{result: ClickResult{ID: s.nextID("command")}}
	sent.root = sent.result.ID
	sent.result.TriggerID = s.newTrigger(c.User, sent.result.ID)
	sent.result.ResponseURL = s.newResponseURL(sent.result.ID, c.Channel, "", c.User)
	fields := map[string]string{
		"token": verificationToken, "team_id": cmp.Or(c.TeamID, TeamID), "team_domain": teamDomain,
		"channel_id": channel.ID, "channel_name": channel.Name, "user_id": user.ID, "user_name": user.Name,
		"command": c.Command, "text": c.Text, "api_app_id": cmp.Or(c.AppID, AppID), "is_enterprise_install": "false",
		"response_url": sent.result.ResponseURL, "trigger_id": sent.result.TriggerID,
	}
	if id := cmp.Or(c.EnterpriseID, s.opts.EnterpriseID); id != "" {
		fields["enterprise_id"], fields["enterprise_name"] = id, "Fake Enterprise"
	}
	form, payload := url.Values{}, answer{}
	for k, v := range fields {
		form.Set(k, v)
		payload[k] = v
	}
	sent.payload = encode(payload)
	s.sign(sent, []byte(form.Encode()), signing{bad: c.BadSignature, none: c.Unsigned})
	s.clicks[sent.result.ID] = sent
	return sent, nil
}

// showAtOnce shows what the app answered in its answer to the command: nothing, text, or a message.
func (s *Server) showAtOnce(c CommandRequest, result ClickResult) error {
	if strings.TrimSpace(result.Body) == "" {
		return nil
	}
	var m struct {
		Text         string          `json:"text"`
		Blocks       json.RawMessage `json:"blocks"`
		ResponseType string          `json:"response_type"`
	}
	if err := json.Unmarshal([]byte(result.Body), &m); err != nil {
		m.Text = result.Body // over HTTP plain text is an answer, too
	}
	if m.ResponseType != "" && m.ResponseType != "ephemeral" {
		return fmt.Errorf("%w: response_type %q shows it to everybody", ErrRefused, m.ResponseType)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addEphemeral(Ephemeral{
		Channel: c.Channel, User: c.User, Text: m.Text, Blocks: m.Blocks, ClickID: result.ID,
	})
	return nil
}
