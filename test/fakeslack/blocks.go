package fakeslack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

const (
	maxMessageBlocks = 50
	maxModalBlocks   = 100
	// maxBlockText is where chat.postMessage starts to answer
	// msg_blocks_too_long. It is observed, not documented (slackapi/bolt-js#2509).
	maxBlockText = 13200
	maxCharts    = 2
)

// blocksPerSurface are the blocks that this double takes. Those that the bot
// does not post (image, rich_text, markdown, data_table, video, ...) are refused.
var blocksPerSurface = map[surface][]string{
	inMessage: {"section", "divider", "header", "context", "actions", "input", "table", "data_visualization"},
	inModal:   {"section", "divider", "header", "context", "actions", "input", "alert"},
}

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
	c := newChecker(inMessage)
	c.blocks(tree, "/blocks", maxMessageBlocks)
	switch {
	case len(c.details) > 0:
		return nil, refuse("invalid_blocks", c.details...)
	case c.tables > 1:
		return nil, refuse("invalid_attachments", "only_one_table_allowed [json-pointer:/blocks]")
	case c.text > maxBlockText:
		return nil, refuse("msg_blocks_too_long")
	}
	return tree, nil
}

func (c *checker) blocks(tree []any, at string, most int) {
	if len(tree) > most {
		c.fail(at, "no more than %d items allowed", most)
	}
	c.objects(tree, at, c.block)
	if c.charts > maxCharts {
		c.fail(at, "no more than %d data_visualization blocks allowed", maxCharts)
	}
}

func (c *checker) block(o object, at string) {
	kind, _ := o["type"].(string)
	if !slices.Contains(blocksPerSurface[c.surface], kind) {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	c.blockID(o, at)
	switch kind {
	case "section":
		c.section(o, at)
	case "divider":
		c.keys(o, at, "type", "block_id")
	case "header":
		c.keys(o, at, "type", "block_id", "text", "level")
		c.textField(o, at, "text", true, 150, plain)
		c.whole(o, at, "level", 1, 4)
	case "context":
		c.keys(o, at, "type", "block_id", "elements")
		c.elements(o, at, 10, contextElements)
	case "actions":
		c.keys(o, at, "type", "block_id", "elements")
		c.elements(o, at, 25, actionElements)
	case "input":
		c.input(o, at)
	case "table":
		c.table(o, at)
	case "data_visualization":
		c.chart(o, at)
	case "alert":
		c.keys(o, at, "type", "block_id", "text", "level")
		c.textField(o, at, "text", true, maxText, plain, mrkdwn)
		c.oneOf(o, at, "level", false, "default", "info", "warning", "error", "success")
	}
}

func (c *checker) blockID(o object, at string) {
	id := c.str(o, at, "block_id", false, maxID)
	if id == "" {
		return
	}
	if c.blockIDs[id] {
		c.fail(at+"/block_id", "`block_id` already exists")
	}
	c.blockIDs[id] = true
}

func (c *checker) section(o object, at string) {
	c.keys(o, at, "type", "block_id", "text", "fields", "accessory", "expand")
	c.boolean(o, at, "expand")
	_, hasText := o["text"]
	_, hasFields := o["fields"]
	if !hasText && !hasFields {
		c.fail(at, "must define either `text` or `fields`")
	}
	c.textField(o, at, "text", false, maxText, plain, mrkdwn)
	fields := c.list(o, at, "fields", false, 1, 10)
	c.objects(fields, at+"/fields", func(o object, at string) { c.textObject(o, at, 2000, plain, mrkdwn) })
	if a, ok := c.child(o, at, "accessory", false); ok {
		c.element(a, at+"/accessory", actionElements, map[string]bool{})
	}
}

func (c *checker) elements(o object, at string, most int, allowed []string) {
	seen := map[string]bool{}
	items := c.list(o, at, "elements", true, 1, most)
	c.objects(items, at+"/elements", func(o object, at string) { c.element(o, at, allowed, seen) })
}

func (c *checker) input(o object, at string) {
	c.inputs++
	c.keys(o, at, "type", "block_id", "label", "element", "hint", "optional", "dispatch_action")
	c.textField(o, at, "label", true, 2000, plain)
	c.textField(o, at, "hint", false, 2000, plain)
	c.boolean(o, at, "optional")
	c.boolean(o, at, "dispatch_action")
	if e, ok := c.child(o, at, "element", true); ok {
		c.element(e, at+"/element", inputElements, map[string]bool{})
	}
}

// completeBlocks fills in what Slack fills in before it stores blocks: a
// block_id for each block, an action_id for each interactive element, and the
// defaults of text objects. The caller holds the lock.
func (s *Server) completeBlocks(tree []any) json.RawMessage {
	for _, b := range tree {
		block, ok := b.(object)
		if !ok {
			continue
		}
		if _, has := block["block_id"]; !has {
			block["block_id"] = s.nextID("blk")
		}
		s.completeTree(block)
	}
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
	return slices.Contains(actionElements, kind) || slices.Contains(inputElements, kind)
}

func setDefault(o object, key string, value any) {
	if _, has := o[key]; !has {
		o[key] = value
	}
}

// encode turns a decoded tree back into JSON without escaping <, > and &, so
// that records stay readable.
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
