package scenarios

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// click clicks on the first message, fills in the form that opens, if one does, and prints the private answer.
func (j *journey) click(ts *testscript.TestScript, user, button string, as []string) {
	messages := j.slack.Messages(slackChannel)
	if len(messages) == 0 {
		ts.Fatalf("there is no message to click on")
	}
	c := fakeslack.ClickRequest{
		User: user, Channel: slackChannel, MessageTS: messages[0].TS, ActionID: j.button(button),
	}
	if c.ActionID == "" {
		ts.Fatalf("no button %s; there are %v", button, actions(messages[0]))
	}
	written := wrong(&c, as)
	ctx, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	res, err := j.slack.Click(ctx, c)
	ts.Check(err)
	answers, err := j.slack.Answered(ctx, user, res.ID, written)
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(answers[0].Text + "\n"))
	ts.Check(err)
}

// button is the action of the first message's first button whose action begins so; empty when there is none.
func (j *journey) button(begins string) string {
	messages := j.slack.Messages(slackChannel)
	if len(messages) == 0 {
		return ""
	}
	for _, id := range actions(messages[0]) {
		if strings.HasPrefix(id, begins) {
			return id
		}
	}
	return ""
}

// wrong makes the click say something wrong about itself; what is no such thing is written into a form.
func wrong(c *fakeslack.ClickRequest, as []string) map[string]map[string]string {
	written := map[string]map[string]string{}
	for _, one := range as {
		switch key, value, _ := strings.Cut(one, "="); key {
		case "app":
			c.AppID = value
		case "team":
			c.TeamID = value
		case "channel":
			c.PayloadChannel = value
		case "message":
			c.PayloadMessageTS = value
		case "button":
			c.Value = &value
		default:
			written[key] = map[string]string{key: value}
		}
	}
	return written
}

// print writes the private answer to what a person did.
func (j *journey) print(ctx context.Context, ts *testscript.TestScript, id string) {
	answers, err := j.slack.WaitAnswers(ctx, id, 1)
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(answers[0].Text + "\n"))
	ts.Check(err)
}

// actions are the action ids in a message, in order.
func actions(m fakeslack.Message) []string {
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			if id, ok := v["action_id"].(string); ok {
				out = append(out, id)
			}
			for _, key := range []string{"blocks", "elements", "accessory", "child_blocks"} {
				walk(v[key])
			}
		}
	}
	var blocks any
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		return nil
	}
	walk(blocks)
	return slices.Compact(out)
}
