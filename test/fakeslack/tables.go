package fakeslack

import "fmt"

// Limits of a table block.
const (
	maxTableRows  = 100
	maxTableCells = 20
	maxTableText  = 10000
)

// table checks a table of plain cells. Slack also takes rich text in cells; the bot does not send it.
func (c *checker) table(o object, at string) {
	c.tables++
	c.keys(o, at, "type", "block_id", "rows", "column_settings")
	settings := c.list(o, at, "column_settings", false, 0, maxTableCells)
	c.objects(settings, at+"/column_settings", func(o object, at string) {
		c.keys(o, at, "align", "is_wrapped")
		c.oneOf(o, at, "align", false, "left", "center", "right")
		c.boolean(o, at, "is_wrapped")
	})
	before, width := c.text, -1
	for i, v := range c.list(o, at, "rows", true, 1, maxTableRows) {
		where := fmt.Sprintf("%s/rows/%d", at, i)
		row, ok := v.([]any)
		if !ok {
			c.fail(where, "must be an array")
			continue
		}
		if len(row) < 1 || len(row) > maxTableCells {
			c.fail(where, "must have 1 to %d cells", maxTableCells)
		}
		if width < 0 {
			width = len(row)
		}
		if len(row) != width {
			c.fail(where, "must have as many cells as the first row")
		}
		c.objects(row, where, c.cell)
	}
	if c.text-before > maxTableText {
		c.fail(at+"/rows", "cells must be less than %d characters together", maxTableText+1)
	}
}

func (c *checker) cell(o object, at string) {
	switch kind, _ := o["type"].(string); kind {
	case "raw_text":
		c.keys(o, at, "type", "text")
		c.count(c.str(o, at, "text", true, maxText))
	case "raw_number":
		c.keys(o, at, "type", "value", "text")
		c.number(o, at, "value")
		c.count(c.str(o, at, "text", false, maxText))
	default:
		c.fail(at, "unsupported type: %s", kind)
	}
}
