package fakeslack

import (
	"fmt"
	"slices"
)

// tableLimits are those of one kind of table block.
type tableLimits struct {
	rows, cells, text int
	kinds             []string
}

var (
	plainTable = tableLimits{rows: 100, cells: 20, text: 10000, kinds: []string{"raw_text", "raw_number", "rich_text"}}
	dataTable  = tableLimits{rows: 200, cells: 20, text: 20000, kinds: []string{"raw_text", "raw_number", "rich_text", "action_cell"}}
)

func (c *checker) table(o object, at string) {
	c.keys(o, at, "type", "block_id", "rows", "column_settings")
	c.rows(o, at, plainTable)
	for i, v := range c.list(o, at, "column_settings", false, 0, 20) {
		where := fmt.Sprintf("%s/column_settings/%d", at, i)
		if setting, ok := v.(object); ok {
			c.keys(setting, where, "align", "is_wrapped")
			c.oneOf(setting, where, "align", false, "left", "center", "right")
			c.boolean(setting, where, "is_wrapped")
		} else if v != nil {
			c.fail(where, "must be an object")
		}
	}
}

func (c *checker) dataTable(o object, at string) {
	c.keys(o, at, "type", "block_id", "caption", "rows", "page_size", "row_header_column_index")
	c.count(c.str(o, at, "caption", true, maxText))
	c.whole(o, at, "page_size", 1, dataTable.rows)
	c.whole(o, at, "row_header_column_index", 0, dataTable.cells-1)
	c.rows(o, at, dataTable)
}

// rows checks the cells; every row needs as many as the first.
func (c *checker) rows(o object, at string, limits tableLimits) {
	c.tables++
	before, width := c.text, -1
	seen := map[string]bool{}
	for i, v := range c.list(o, at, "rows", true, 1, limits.rows) {
		where := fmt.Sprintf("%s/rows/%d", at, i)
		row, ok := v.([]any)
		if !ok {
			c.fail(where, "must be an array")
			continue
		}
		if len(row) < 1 || len(row) > limits.cells {
			c.fail(where, "must have 1 to %d cells", limits.cells)
		}
		if width < 0 {
			width = len(row)
		}
		if len(row) != width {
			c.fail(where, "must have as many cells as the first row")
		}
		c.objects(row, where, func(o object, at string) { c.cell(o, at, limits.kinds, seen) })
	}
	if c.text-before > limits.text {
		c.fail(at+"/rows", "cells must be less than %d characters together", limits.text+1)
	}
}

func (c *checker) cell(o object, at string, kinds []string, seen map[string]bool) {
	kind, _ := o["type"].(string)
	if !slices.Contains(kinds, kind) {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	switch kind {
	case "raw_text":
		c.keys(o, at, "type", "text")
		c.count(c.str(o, at, "text", true, maxText))
	case "raw_number":
		c.keys(o, at, "type", "value", "text")
		c.number(o, at, "value")
		c.count(c.str(o, at, "text", false, maxText))
	case "rich_text":
		c.richText(o, at)
	case "action_cell":
		c.keys(o, at, "type", "element", "fallback")
		if e, ok := c.child(o, at, "element", true); ok {
			c.element(e, at+"/element", []string{"button"}, seen)
		}
		if f, ok := c.child(o, at, "fallback", false); ok {
			c.cell(f, at+"/fallback", []string{"raw_text", "raw_number"}, seen)
		}
	}
}
