package fakeslack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestARefusalNamesThePlaceAndLeavesTheChannelAlone(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	s.ExpectError("chat.postMessage", "invalid_blocks", 1)
	out := call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "blocks": `[{"type":"alert"}]`})
	const detail = "unsupported type: alert [json-pointer:/blocks/0]"
	if out["ok"] != false || out["error"] != "invalid_blocks" || out["http_status"] != 200 ||
		fmt.Sprint(out["errors"]) != "["+detail+"]" ||
		!strings.Contains(fmt.Sprint(out["response_metadata"]), "[ERROR] "+detail) {
		t.Errorf("answer = %v", out)
	}
	if n := len(s.Messages(room)); n != 0 {
		t.Errorf("%d messages in the channel, want none", n)
	}
}

func TestBlocksComeBackWithTheIDsThatSlackFillsIn(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	ts := postBlocks(t, s,
		`[{"type":"section","text":{"type":"mrkdwn","text":"a < b"},"accessory":{"type":"button",
			"text":{"type":"plain_text","text":"press"}}},{"type":"divider","block_id":"mine"}]`)
	m, _ := s.Message(room, ts)
	var blocks []struct {
		BlockID string `json:"block_id"`
		Text    struct {
			Text     string
			Verbatim *bool
		}
		Accessory struct {
			ActionID string `json:"action_id"`
		}
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	if blocks[0].BlockID == "" || blocks[0].Accessory.ActionID == "" || blocks[0].Text.Verbatim == nil ||
		*blocks[0].Text.Verbatim {
		t.Errorf("section = %+v, want ids and verbatim:false filled in", blocks[0])
	}
	if blocks[1].BlockID != "mine" || blocks[0].Text.Text != "a < b" {
		t.Errorf("blocks = %s, want what was sent to stay", m.Blocks)
	}
}
