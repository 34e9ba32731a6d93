package fakeslack

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"time"
)

// triggerLife is Slack's documented limit.
const triggerLife = 3 * time.Second

// verificationToken is the deprecated field that payloads still carry.
const verificationToken = "fake-deprecated-verification-token" //nolint:gosec // not a secret, and no bot may rely on it

// trigger allows one view to be opened.
type trigger struct {
	user, clickID string
	used          bool
	expires       time.Time
}

func (s *Server) newTrigger(user, clickID string) string {
	id := fmt.Sprintf("%d.%d.%s", time.Now().UnixMilli(), 900000+s.lastID, randomHex(16))
	s.triggers[id] = &trigger{user: user, clickID: clickID, expires: time.Now().Add(triggerLife)}
	return id
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // crypto/rand.Read never fails; it ends the program instead
	return hex.EncodeToString(b)
}

// clickPayload builds the block_actions payload of docs.slack.dev/reference/interaction-payloads.
func (s *Server) clickPayload(c ClickRequest, t target, result *ClickResult) (answer, error) {
	action, err := actionOf(t.element, c)
	if err != nil {
		return nil, err
	}
	action["action_ts"] = s.nextTS()
	result.TriggerID = s.newTrigger(c.User, result.ID)
	result.ResponseURL = s.newResponseURL(result.ID, c.Channel, c.MessageTS, c.User)
	channel, ts := cmp.Or(c.PayloadChannel, c.Channel), cmp.Or(c.PayloadMessageTS, c.MessageTS)

	container := answer{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": t.private != nil}
	payload := s.origin("block_actions", t.user, origin{c.AppID, c.TeamID, c.EnterpriseID, c.UserTeamID})
	payload["container"] = container
	payload["trigger_id"] = result.TriggerID
	payload["channel"] = answer{"id": channel, "name": t.channel.Name}
	payload["state"] = answer{"values": stateOf(t.others, t.element, action)}
	payload["response_url"] = result.ResponseURL
	payload["actions"] = []answer{action}
	if t.message != nil {
		m := s.wireVersion(t.message, t.version, true)
		m["ts"] = ts
		payload["message"] = m
		if !t.message.topLevel() {
			container["thread_ts"] = t.message.ThreadTS
		}
	}
	return payload, nil
}

// origin replaces parts of a payload's origin where it is not empty.
type origin struct{ app, team, enterprise, userTeam string }

func (s *Server) origin(kind string, u User, o origin) answer {
	team := answer{"id": cmp.Or(o.team, TeamID), "domain": teamDomain}
	out := answer{
		"type": kind, "token": verificationToken, "api_app_id": cmp.Or(o.app, AppID),
		"user": answer{
			"id": u.ID, "username": u.Name, "name": u.Name,
			"team_id": cmp.Or(o.userTeam, u.TeamID),
		},
		"team":                  team,
		"enterprise":            nil,
		"is_enterprise_install": false,
	}
	if id := cmp.Or(o.enterprise, s.opts.EnterpriseID); id != "" {
		name := "Fake Enterprise"
		team["enterprise_id"], team["enterprise_name"] = id, name
		out["enterprise"] = answer{"id": id, "name": name}
	}
	return out
}

// actionOf returns the action that an element sends when it is used.
func actionOf(p placed, c ClickRequest) (answer, error) {
	kind := p.kind()
	action := answer{"type": kind, "action_id": p.actionID(), "block_id": p.blockID}
	if kind == "button" {
		for _, key := range []string{"text", "value", "style", "confirm"} {
			if v, ok := p.object[key]; ok {
				action[key] = v
			}
		}
		if c.Value != nil {
			action["value"] = *c.Value
		}
		return action, nil
	}
	if v, ok := p.object["placeholder"]; ok {
		action["placeholder"] = v
	}
	value, err := valueOf(p.object, c.Option)
	if err != nil {
		return nil, err
	}
	maps.Copy(action, value)
	return action, nil
}

// valueOf returns the state of an element in which a person chose or typed value. Of checkboxes value names those that
// are ticked, one a line.
func valueOf(o object, value string) (answer, error) {
	switch text(o, "type") {
	case "plain_text_input", "number_input":
		return answer{"value": value}, nil
	case "checkboxes":
		chosen := []object{}
		for ticked := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\n' }) {
			option, err := findOption(o, ticked)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, option)
		}
		return answer{"selected_options": chosen}, nil
	default: // static_select, overflow
		option, err := findOption(o, value)
		return answer{"selected_option": option}, err
	}
}

// inputState returns the state of an input. Empty ones are there, with null.
func inputState(o object, value string) (answer, error) {
	state := answer{"selected_option": nil}
	var err error
	switch kind := text(o, "type"); {
	case value != "" || kind == "checkboxes":
		state, err = valueOf(o, value)
	case kind != "static_select":
		state = answer{"value": nil}
	}
	if err != nil {
		return nil, err
	}
	state["type"] = text(o, "type")
	return state, nil
}

// initialOf returns what an element holds before anybody touches it, as valueOf takes it.
func initialOf(o object) string {
	option, _ := o["initial_option"].(object)
	var ticked []string
	eachObject(o["initial_options"], func(option object) { ticked = append(ticked, text(option, "value")) })
	return cmp.Or(text(o, "initial_value"), text(option, "value"), strings.Join(ticked, "\n"))
}

func findOption(o object, value string) (object, error) {
	for _, option := range optionsOf(o) {
		if text(option, "value") == value {
			return option, nil
		}
	}
	return nil, fmt.Errorf("%w: no option %q", ErrNotVisible, value)
}

func optionsOf(o object) []object {
	var out []object
	eachObject(o["options"], func(option object) { out = append(out, option) })
	return out
}

// stateOf returns state.values: the elements that hold a value, with the one just used as it is now.
func stateOf(all []placed, used placed, action answer) answer {
	values := answer{}
	for _, p := range all {
		if p.kind() == "button" || p.kind() == "overflow" {
			continue
		}
		state := answer{"type": p.kind()}
		for from, to := range initialValues {
			if v, ok := p.object[from]; ok {
				state[to] = v
			}
		}
		if p.blockID == used.blockID && p.actionID() == used.actionID() {
			for _, to := range initialValues {
				if v, ok := action[to]; ok {
					state[to] = v
				}
			}
		}
		block, ok := values[p.blockID].(answer)
		if !ok {
			block = answer{}
			values[p.blockID] = block
		}
		block[p.actionID()] = state
	}
	return values
}

var initialValues = map[string]string{
	"initial_option": "selected_option", "initial_value": "value",
}
