package fakeslack

import "slices"

// Which elements may stand where (docs.slack.dev/reference/block-kit).
var (
	selects = []string{
		"static_select", "external_select", "users_select", "conversations_select", "channels_select",
		"multi_static_select", "multi_external_select", "multi_users_select", "multi_conversations_select", "multi_channels_select",
	}
	choices         = []string{"checkboxes", "radio_buttons", "datepicker", "timepicker"}
	actionElements  = slices.Concat([]string{"button", "overflow", "datetimepicker"}, choices, selects)
	accessories     = slices.Concat([]string{"button", "overflow", "image"}, choices, selects)
	inputElements   = slices.Concat([]string{"plain_text_input", "email_text_input", "url_text_input", "number_input", "datetimepicker"}, choices, selects)
	contextElements = []string{"image", plain, mrkdwn}
)

// element checks one element; seen collects the action_ids of its block.
func (c *checker) element(o object, at string, allowed []string, seen map[string]bool) {
	kind, _ := o["type"].(string)
	if !slices.Contains(allowed, kind) {
		c.fail(at, "unsupported type: %s", kind)
		return
	}
	switch kind {
	case "image":
		c.imageElement(o, at)
		return
	case plain, mrkdwn:
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
	case "static_select", "multi_static_select":
		c.staticSelect(o, at)
	default:
		c.inputLike(o, at, kind)
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
	c.keys(o, at, "type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label", "visible_to_user_ids")
	c.textField(o, at, "text", true, 75, plain)
	c.link(o, at, "url", false)
	c.str(o, at, "value", false, 2000)
	c.str(o, at, "accessibility_label", false, 75)
	c.oneOf(o, at, "style", false, "primary", "danger")
}

func (c *checker) imageElement(o object, at string) {
	c.keys(o, at, "type", "image_url", "slack_file", "alt_text")
	c.imageSource(o, at)
}

func (c *checker) imageSource(o object, at string) {
	c.str(o, at, "alt_text", true, 2000)
	file, isFile := c.child(o, at, "slack_file", false)
	_, isURL := o["image_url"]
	if isFile == isURL {
		c.fail(at, "must have exactly one of image_url and slack_file")
	}
	if isURL {
		c.link(o, at, "image_url", true)
	}
	if isFile {
		c.keys(file, at+"/slack_file", "id", "url")
		if len(file) != 1 {
			c.fail(at+"/slack_file", "must have exactly one of id and url")
		}
	}
}

func (c *checker) staticSelect(o object, at string) {
	c.keys(o, at, "type", "action_id", "options", "option_groups", "initial_option", "initial_options",
		"confirm", "max_selected_items", "focus_on_load", "placeholder")
	c.textField(o, at, "placeholder", false, maxPlaceholder, plain)
	if _, grouped := o["option_groups"]; grouped {
		if _, both := o["options"]; both {
			c.fail(at, "must have exactly one of options and option_groups")
		}
		c.optionGroups(o, at)
		return
	}
	c.options(o, at, 100, plain)
}

// inputLike checks the elements that the project does not post today, to the
// depth of their names, placeholder and lengths.
func (c *checker) inputLike(o object, at, kind string) {
	keys := []string{"type", "action_id", "placeholder", "focus_on_load", "confirm"}
	switch kind {
	case "plain_text_input":
		keys = append(keys, "initial_value", "multiline", "min_length", "max_length", "dispatch_action_config")
		c.boolean(o, at, "multiline")
		c.whole(o, at, "min_length", 0, maxText)
		c.whole(o, at, "max_length", 1, maxText)
	case "number_input":
		keys = append(keys, "is_decimal_allowed", "initial_value", "min_value", "max_value", "dispatch_action_config")
		if _, ok := o["is_decimal_allowed"].(bool); !ok {
			c.fail(at, "missing required field: is_decimal_allowed")
		}
	case "email_text_input", "url_text_input":
		keys = append(keys, "initial_value", "dispatch_action_config")
	case "datepicker":
		keys = append(keys, "initial_date")
	case "timepicker":
		keys = append(keys, "initial_time", "timezone")
	case "datetimepicker":
		keys = append(keys, "initial_date_time")
	default: // selects fed by Slack or by the app
		keys = append(keys, "initial_option", "initial_options", "initial_user", "initial_users", "initial_conversation",
			"initial_conversations", "initial_channel", "initial_channels", "min_query_length", "max_selected_items",
			"default_to_current_conversation", "response_url_enabled", "filter")
	}
	c.keys(o, at, keys...)
	c.textField(o, at, "placeholder", false, maxPlaceholder, plain)
}
