package fakeslack

import (
	"fmt"
	"slices"
)

var (
	richContainers = []string{"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"}
	richLeaves     = map[string]string{ // leaf -> the field it cannot be without
		"text": "text", "link": "url", "user": "user_id", "usergroup": "usergroup_id", "team": "team_id",
		"channel": "channel_id", "emoji": "name", "broadcast": "range", "color": "value", "date": "timestamp",
	}
)

// richText checks a rich_text block, or a rich_text cell, which looks the same.
func (c *checker) richText(o object, at string) {
	c.keys(o, at, "type", "block_id", "elements")
	items := c.list(o, at, "elements", true, 0, maxText)
	c.objects(items, at+"/elements", func(o object, at string) { c.richContainer(o, at, richContainers) })
}

func (c *checker) richContainer(o object, at string, allowed []string) {
	kind, _ := o["type"].(string)
	if !slices.Contains(allowed, kind) {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	c.keys(o, at, "type", "elements", "style", "indent", "offset", "border", "language")
	items := c.list(o, at, "elements", true, 0, maxText)
	if kind == "rich_text_list" {
		c.oneOf(o, at, "style", true, "bullet", "ordered")
		c.objects(items, at+"/elements", func(o object, at string) { c.richContainer(o, at, richContainers[:1]) })
		return
	}
	c.objects(items, at+"/elements", c.richLeaf)
}

func (c *checker) richLeaf(o object, at string) {
	kind, _ := o["type"].(string)
	needed, known := richLeaves[kind]
	if !known {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	switch v := o[needed].(type) {
	case nil:
		c.fail(at, "missing required field: %s", needed)
	case string:
		c.length(v, fmt.Sprintf("%s/%s", at, needed), 1, maxBlockText)
	}
	if text, ok := o["text"].(string); ok {
		c.count(text)
	}
}
