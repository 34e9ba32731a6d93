package slack

import (
	"encoding/json"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Limits of Slack, with a margin where Slack may count otherwise than in characters
// (docs.slack.dev/reference/block-kit; contracts are checked against test/fakeslack).
const (
	maxBlocks = 50
	// maxTotal bounds all text of one message. Slack documents no number; its staff names 12,000 with a buffer
	// (slackapi/bolt-js#2509), and a message of 11,341 was once refused.
	maxTotal   = 10000
	maxSection = 2900 // of 3000
	maxHeader  = 145  // of 150
	maxButton  = 70   // of 75
	maxValue   = 2000 // of a button
	maxID      = 255  // block_id and action_id
	maxConfirm = 290  // of 300
	maxActions = 25   // elements of one row of buttons
	maxText    = 3500 // top-level text: chat.update refuses more than 4000
	maxSeries  = 6    // of a chart
	maxPoints  = 20   // of a series
	maxLabel   = 20   // of a category or series
	maxURL     = 1500 // of one link, so that links cannot eat the budget

	maxCalled = incident.CallPeople // mentions in a reply: the longest ones fit into a section with the text
)

// counted says whether a property holds text that Slack shows.
func counted(key string) bool {
	switch key {
	case "type", "block_id", "action_id", "value", "style":
		return false
	}
	return true
}

// size is the number of characters of all text in the blocks, links included. It rather counts too much.
func size(blocks []slackgo.Block) (int, error) {
	raw, err := json.Marshal(blocks)
	if err != nil {
		return 0, err
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return 0, err
	}
	return count(tree), nil
}

func count(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case []any:
		for _, item := range v {
			n += count(item)
		}
	case map[string]any:
		for key, item := range v {
			if _, isText := item.(string); !isText || counted(key) {
				n += count(item)
			}
		}
	}
	return n
}
