package fakeslack

import (
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"
)

// Slack's limits (docs.slack.dev/reference/block-kit).
const (
	// maxMessageBlocks counts what is in containers, too. Slack does not say whether it does.
	maxMessageBlocks = 50
	maxModalBlocks   = 100
	// maxBlockText is where chat.postMessage starts to answer msg_blocks_too_long. It is observed, not documented
	// (slackapi/bolt-js#2509).
	maxBlockText = 13200
	maxCharts    = 2
	maxTableText = 10000
	maxText      = 3000
	maxURL       = 3000
	maxID        = 255
)

const (
	plain  = "plain_text"
	mrkdwn = "mrkdwn"
)

// words is a text object of one of the kinds.
func words(most int, kinds ...string) variants {
	own := map[string]string{plain: "emoji", mrkdwn: "verbatim"}
	out := map[string]shape{}
	for _, kind := range kinds {
		out[kind] = shape{must: props{"text": str{most, true}}, may: props{own[kind]: flag}}
	}
	return variantsOf(nil, out)
}

// What the bot sends. Slack has more (images, quotes and links in rich text, pickers, other charts): here that is
// refused, until the bot sends it.
var (
	identifier  = str{most: maxID}
	style       = enum("primary", "danger")
	placeholder = words(150, plain)
	option      = shape{
		must: props{"text": words(75, plain), "value": str{most: 75}},
		may:  props{"description": words(75, plain), "url": link},
	}
	checkbox = shape{
		must: props{"text": words(75, plain, mrkdwn), "value": str{most: 75}},
		may:  props{"description": words(75, plain, mrkdwn)},
	}
	// confirm has four texts that Slack's page calls required.
	confirm = shape{
		must: props{
			"title": words(100, plain), "text": words(300, plain, mrkdwn), "confirm": words(30, plain), "deny": words(30, plain),
		},
		may: props{"style": style},
	}

	selects = map[string]shape{"static_select": {
		must: props{"options": array{1, 100, option, ""}},
		may:  props{"initial_option": option, "placeholder": placeholder, "confirm": confirm, "focus_on_load": flag},
	}}
	// clickable are the elements of an actions block, and the accessories of a section.
	clickable = variantsOf(props{"action_id": identifier}, selects, map[string]shape{
		"button": {
			must: props{"text": words(75, plain)},
			may: props{
				"value": str{most: 2000}, "url": link, "style": style, "confirm": confirm, "accessibility_label": str{most: 75},
			},
		},
		"overflow": {must: props{"options": array{1, 5, option, ""}}, may: props{"confirm": confirm}},
	})
	// fillable are the elements of an input block.
	fillable = variantsOf(props{"action_id": identifier}, selects, map[string]shape{
		"plain_text_input": {may: props{
			"placeholder": placeholder, "focus_on_load": flag, "initial_value": str{most: maxText}, "multiline": flag,
			"min_length": whole(0, maxText), "max_length": whole(1, maxText),
		}},
		"number_input": {must: props{"is_decimal_allowed": flag}, may: props{
			"placeholder": placeholder, "focus_on_load": flag, "initial_value": decimal,
			"min_value": decimal, "max_value": decimal,
		}},
		"checkboxes": {
			must: props{"options": array{1, 10, checkbox, ""}},
			may:  props{"initial_options": array{1, 10, checkbox, ""}, "confirm": confirm, "focus_on_load": flag},
			also: initialAmongOptions,
		},
	})

	commonBlocks = map[string]shape{
		"section": {
			may: props{
				"text": words(maxText, plain, mrkdwn), "fields": array{1, 10, words(2000, plain, mrkdwn), ""},
				"accessory": clickable, "expand": flag,
			},
			also: textOrFields,
		},
		"divider":   {},
		"header":    {must: props{"text": words(150, plain)}, may: props{"level": whole(1, 4)}},
		"context":   {must: props{"elements": array{1, 10, words(maxText, plain, mrkdwn), ""}}},
		"actions":   {must: props{"elements": array{1, 25, clickable, "action_id"}}},
		"rich_text": {must: props{"elements": array{1, maxRichItems, richBlocks, ""}}},
	}
	tables = map[string]shape{"table": {
		must: props{"rows": array{1, 100, array{1, 20, tableCell, ""}, ""}},
		may: props{"column_settings": array{0, 20, shape{
			may: props{"align": enum("left", "center", "right"), "is_wrapped": flag},
		}, ""}},
		also: evenRows,
	}}
	// container holds what Slack's page and its validator both take, of the blocks that are known here. Layout blocks may
	// be nested there, once; here they are not.
	container = shape{
		must: props{
			"title":        words(150, plain),
			"child_blocks": array{1, 10, variantsOf(props{"block_id": identifier}, commonBlocks, tables), ""},
		},
		may: props{
			"subtitle": words(150, plain, mrkdwn), "width": enum("narrow", "standard", "wide", "full"),
			"is_collapsible": flag, "default_collapsed": flag, "has_header_divider": flag,
		},
		also: foldable,
	}
	messageBlocks = variantsOf(props{"block_id": identifier}, commonBlocks, tables, map[string]shape{
		"data_visualization": {must: props{"title": str{50, true}, "chart": lineChart}},
		"container":          container,
	})
	modalBlocks = variantsOf(props{"block_id": identifier}, commonBlocks, map[string]shape{
		"input": {
			must: props{"label": words(2000, plain), "element": fillable},
			may:  props{"hint": words(2000, plain), "optional": flag, "dispatch_action": flag},
		},
		"alert": {
			must: props{"text": words(maxText, plain, mrkdwn)},
			may:  props{"level": enum("default", "info", "warning", "error", "success")},
		},
	})

	tableCell = variantsOf(nil, map[string]shape{
		"raw_text":   {must: props{"text": str{maxText, true}}},
		"raw_number": {must: props{"value": number}, may: props{"text": str{maxText, true}}},
	})
	// lineChart is as slack-go v0.34.0 and docs.slack.dev give it.
	lineChart = shape{
		must: props{
			"type": enum("line"),
			"series": array{1, 6, shape{must: props{
				"name": str{20, true},
				"data": array{1, 20, shape{must: props{"label": str{most: 20}, "value": number}}, ""},
			}}, "name"},
			"axis_config": shape{
				must: props{"categories": array{1, 20, str{20, true}, ""}},
				may:  props{"x_label": str{50, true}, "y_label": str{50, true}},
			},
		},
		also: onePointPerCategory,
	}

	modal = shape{
		must: props{
			"type": enum("modal"), "title": words(24, plain), "blocks": array{1, maxModalBlocks, modalBlocks, "block_id"},
		},
		may: props{
			"submit": words(24, plain), "close": words(24, plain), "private_metadata": str{most: maxText},
			"callback_id": identifier,
		},
		also: submitForInputs,
	}
)

func textOrFields(c *checker, section object, at string) {
	if section["text"] == nil && section["fields"] == nil {
		c.fail(at, "must define either `text` or `fields`")
	}
}

// foldable holds a container to Slack's two conditions on what is shown of it.
func foldable(c *checker, block object, at string) {
	if block["default_collapsed"] == true && block["is_collapsible"] != true {
		c.fail(at+"/default_collapsed", "requires `is_collapsible` to be true")
	}
	if block["has_header_divider"] == true && block["is_collapsible"] == true {
		c.fail(at+"/has_header_divider", "is not supported when `is_collapsible` is true")
	}
}

// initialAmongOptions compares whole options, as Slack does.
func initialAmongOptions(c *checker, element object, at string) {
	options, _ := element["options"].([]any)
	initial, _ := element["initial_options"].([]any)
	for i, v := range initial {
		if !slices.ContainsFunc(options, func(o any) bool { return reflect.DeepEqual(o, v) }) {
			c.fail(fmt.Sprintf("%s/initial_options/%d", at, i), "must be one of the options")
		}
	}
}

// evenRows also bounds the text of all cells together.
func evenRows(c *checker, table object, at string) {
	rows, _ := table["rows"].([]any)
	width, n := 0, 0
	for i, v := range rows {
		row, _ := v.([]any)
		if i == 0 {
			width = len(row)
		}
		if len(row) != width {
			c.fail(fmt.Sprintf("%s/rows/%d", at, i), "must have as many cells as the first row")
		}
		eachObject(row, func(cell object) { n += utf8.RuneCountInString(text(cell, "text")) })
	}
	if n > maxTableText {
		c.fail(at+"/rows", "cells must be less than %d characters together", maxTableText+1)
	}
}

// onePointPerCategory holds every series to the same categories, each once.
func onePointPerCategory(c *checker, chart object, at string) {
	axis, _ := chart["axis_config"].(object)
	categories, _ := axis["categories"].([]any)
	want := make([]string, len(categories))
	for i, v := range categories {
		want[i], _ = v.(string)
	}
	slices.Sort(want)
	if len(slices.Compact(slices.Clone(want))) != len(want) {
		c.fail(at+"/axis_config/categories", "categories must be unique")
	}
	series, _ := chart["series"].([]any)
	for i, v := range series {
		o, _ := v.(object)
		var got []string
		eachObject(o["data"], func(point object) { got = append(got, text(point, "label")) })
		if slices.Sort(got); !slices.Equal(got, want) {
			c.fail(fmt.Sprintf("%s/series/%d/data", at, i), "must contain exactly one point for every category")
		}
	}
}

func submitForInputs(c *checker, view object, at string) {
	blocks, _ := view["blocks"].([]any)
	if _, has := view["submit"]; !has && countOf(blocks, "input") > 0 {
		c.fail(at, "missing required field: submit (there are input blocks)")
	}
}

// countOf returns how many of the blocks are of one type.
func countOf(blocks []any, kind string) int {
	n := 0
	eachBlock(blocks, func(o object) {
		if text(o, "type") == kind {
			n++
		}
	})
	return n
}

// eachBlock visits the blocks and those within containers, in reading order.
func eachBlock(blocks []any, do func(object)) {
	eachObject(blocks, func(o object) {
		do(o)
		if inner, ok := o["child_blocks"].([]any); ok {
			eachBlock(inner, do)
		}
	})
}
