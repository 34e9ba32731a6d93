package messages

import (
	"encoding/json"
	"testing"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// links are those that a bot with everything set has.
var links = slack.ViewOptions{
	BaseURL: "https://medic.example.com", DocsURL: "https://docs.example.com",
	PrometheusURL: "https://prometheus.example.com",
}

// channel is where the messages are.
const channel = "C0INCIDENTS"

// post shows the messages in a workspace, in their order, and returns what identifies each there.
func post(t *testing.T, s *fakeslack.Server, messages []slack.View) []string {
	t.Helper()
	client := slackgo.New(s.Token(), slackgo.OptionAPIURL(s.APIURL()))
	out := make([]string, len(messages))
	for i, m := range messages {
		_, ts, err := client.PostMessageContext(t.Context(), channel, slackgo.MsgOptionText(m.Text, false),
			slackgo.MsgOptionBlocks(m.Blocks...))
		if err != nil {
			raw, _ := json.Marshal(m.Blocks) //nolint:errchkjson // only said
			t.Fatalf("post: %v: %s", err, raw)
		}
		out[i] = ts
	}
	return out
}
