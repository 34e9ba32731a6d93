package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// checkMessageBlocks returns the decoded blocks of a message or what Slack
// answers about them. It never panics, whatever raw is.
func checkMessageBlocks(raw string) ([]any, *slackError) {
	var tree []any
	if err := json.Unmarshal([]byte(raw), &tree); err != nil {
		return nil, refuse("invalid_blocks_format")
	}
	if slices.ContainsFunc(tree, func(v any) bool { _, ok := v.(object); return !ok }) {
		return nil, refuse("invalid_blocks_format")
	}
	var c checker
	array{0, maxMessageBlocks, messageBlocks, ""}.check(&c, tree, "/blocks")
	wholeMessage(&c, tree)
	if countOf(tree, "data_visualization") > maxCharts {
		c.fail("/blocks", "no more than %d data_visualization blocks allowed", maxCharts)
	}
	switch {
	case len(c.details) > 0:
		return nil, refuse("invalid_blocks", c.details...)
	case countOf(tree, "table") > 1:
		return nil, refuse("invalid_attachments", "only_one_table_allowed [json-pointer:/blocks]")
	case c.text > maxBlockText:
		return nil, refuse("msg_blocks_too_long")
	}
	return tree, nil
}

// wholeMessage holds the blocks within containers together with those around them: how many there are, and that no two
// have one block_id, because a click names its block.
func wholeMessage(c *checker, tree []any) {
	total, seen := 0, map[string]bool{}
	var walk func(blocks []any, at string)
	walk = func(blocks []any, at string) {
		total += len(blocks)
		for i, v := range blocks {
			block, _ := v.(object)
			where := fmt.Sprintf("%s/%d", at, i)
			if id := text(block, "block_id"); id != "" {
				if seen[id] {
					c.fail(where+"/block_id", "`block_id` already exists")
				}
				seen[id] = true
			}
			inner, _ := block["child_blocks"].([]any)
			walk(inner, where+"/child_blocks")
		}
	}
	walk(tree, "/blocks")
	if total > maxMessageBlocks && len(tree) <= maxMessageBlocks {
		c.fail("/blocks", "no more than %d items allowed", maxMessageBlocks)
	}
}

// completeBlocks fills in what Slack fills in before it stores blocks: a block_id for each block, an action_id for
// each interactive element, and the defaults of text objects. The caller holds the lock.
func (s *Server) completeBlocks(tree []any) json.RawMessage {
	eachBlock(tree, func(block object) {
		if _, has := block["block_id"]; !has {
			block["block_id"] = s.nextID("blk")
		}
	})
	s.completeTree(tree)
	return encode(tree)
}

func (s *Server) completeTree(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			s.completeTree(item)
		}
	case object:
		kind, _ := v["type"].(string)
		_, isText := v["text"].(string)
		switch {
		case kind == plain && isText:
			setDefault(v, "emoji", true)
		case kind == mrkdwn && isText:
			setDefault(v, "verbatim", false)
		case interactive(kind):
			if _, has := v["action_id"]; !has {
				v["action_id"] = s.nextID("act")
			}
		}
		for _, item := range v {
			s.completeTree(item)
		}
	}
}

func interactive(kind string) bool {
	_, inActions := clickable[kind]
	_, inInput := fillable[kind]
	return inActions || inInput
}

func setDefault(o object, key string, value any) {
	if _, has := o[key]; !has {
		o[key] = value
	}
}

// encode turns a decoded tree back into JSON without escaping <, > and &, so that records stay readable.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// v was decoded from JSON, which always encodes again.
		return json.RawMessage(fmt.Sprintf("%q", "fakeslack: "+err.Error()))
	}
	return bytes.TrimSpace(b.Bytes())
}
