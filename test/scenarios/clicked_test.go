package scenarios

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	programs "github.com/vllm-medic/vllm-medic/test/process"
)

// click clicks on the first message that has the button, fills in the form that opens, if one does, and prints the
// private answer.
func (j *journey) click(ts *testscript.TestScript, user, button string, as []string) {
	on, action := j.find(button)
	if action == "" {
		ts.Fatalf("no message has a button %s:\n%s", button, j.shown())
	}
	c := fakeslack.ClickRequest{User: user, Channel: slackChannel, MessageTS: on, ActionID: action}
	written := wrong(&c, as)
	ctx, cancel := context.WithTimeout(j.t.Context(), programs.Patience)
	defer cancel()
	res, err := j.slack.Click(ctx, c)
	ts.Check(err)
	answers, err := j.slack.Answered(ctx, user, res.ID, written)
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(answers[0].Text + "\n"))
	ts.Check(err)
}

// button is the action of the first button that begins so; empty when there is none.
func (j *journey) button(begins string) string {
	_, action := j.find(begins)
	return action
}

// find looks for a button in the messages, the oldest first.
func (j *journey) find(begins string) (ts, action string) {
	for _, m := range j.slack.Messages(slackChannel) {
		for _, id := range actions(m) {
			if strings.HasPrefix(id, begins) {
				return m.TS, id
			}
		}
	}
	return "", ""
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
