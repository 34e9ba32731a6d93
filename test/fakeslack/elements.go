package fakeslack

import "slices"

// Which elements may stand where (docs.slack.dev/reference/block-kit). Slack has more; the bot posts none of them, so
// that here they are refused.
var (
	choices         = []string{"static_select", "radio_buttons", "checkboxes"}
	actionElements  = slices.Concat([]string{"button", "overflow"}, choices)
	inputElements   = slices.Concat([]string{"plain_text_input", "number_input"}, choices)
	contextElements = []string{plain, mrkdwn}
)

// element checks one element; seen collects the action_ids of its block.
func (c *checker) element(o object, at string, allowed []string, seen map[string]bool) {
	kind, _ := o["type"].(string)
	if !slices.Contains(allowed, kind) {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	if kind == plain || kind == mrkdwn {
		c.textObject(o, at, maxText, plain, mrkdwn)
		return
	}
	c.actionID(o, at, seen)
	c.confirm(o, at)
	switch kind {
	case "button":
		c.button(o, at)
	case "overflow":
		c.keys(o, at, "type", "action_id", "options", "confirm")
		c.options(o, at, 5, plain)
	case "checkboxes", "radio_buttons":
		c.keys(o, at, "type", "action_id", "options", "initial_options", "initial_option", "confirm", "focus_on_load")
		c.options(o, at, 10, plain, mrkdwn)
	case "static_select":
		c.keys(o, at, "type", "action_id", "options", "initial_option", "confirm", "focus_on_load", "placeholder")
		c.textField(o, at, "placeholder", false, maxPlaceholder, plain)
		c.options(o, at, 100, plain)
	default:
		c.typed(o, at, kind)
	}
}

func (c *checker) actionID(o object, at string, seen map[string]bool) {
	id := c.str(o, at, "action_id", false, maxID)
	if id == "" {
		return
	}
	if seen[id] {
		c.fail(at+"/action_id", "`action_id` already exists for this block")
	}
	seen[id] = true
}

func (c *checker) button(o object, at string) {
	c.keys(o, at, "type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label",
		"visible_to_user_ids")
	c.textField(o, at, "text", true, 75, plain)
	c.link(o, at, "url", false)
	c.str(o, at, "value", false, 2000)
	c.str(o, at, "accessibility_label", false, 75)
	c.oneOf(o, at, "style", false, "primary", "danger")
}

// typed checks what a person types into a modal.
func (c *checker) typed(o object, at, kind string) {
	keys := []string{"type", "action_id", "placeholder", "focus_on_load", "initial_value", "dispatch_action_config"}
	if kind == "plain_text_input" {
		keys = append(keys, "multiline", "min_length", "max_length")
		c.boolean(o, at, "multiline")
		c.whole(o, at, "min_length", 0, maxText)
		c.whole(o, at, "max_length", 1, maxText)
	} else {
		keys = append(keys, "is_decimal_allowed", "min_value", "max_value")
		if _, ok := o["is_decimal_allowed"].(bool); !ok {
			c.fail(at, "missing required field: is_decimal_allowed")
		}
	}
	c.keys(o, at, keys...)
	c.textField(o, at, "placeholder", false, maxPlaceholder, plain)
}
