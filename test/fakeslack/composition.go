package fakeslack

import (
	"net/url"
	"unicode/utf8"
)

const (
	plain  = "plain_text"
	mrkdwn = "mrkdwn"
)

// Limits of text and of composition objects (docs.slack.dev/reference/block-kit).
const (
	maxText        = 3000
	maxURL         = 3000
	maxID          = 255
	maxPlaceholder = 150
)

// textField checks a property that is a text object of the given kinds.
func (c *checker) textField(o object, at, key string, required bool, most int, kinds ...string) {
	if t, ok := c.child(o, at, key, required); ok {
		c.textObject(t, at+"/"+key, most, kinds...)
	}
}

func (c *checker) textObject(t object, at string, most int, kinds ...string) {
	switch c.oneOf(t, at, "type", true, kinds...) {
	case plain:
		c.keys(t, at, "type", "text", "emoji")
		c.boolean(t, at, "emoji")
	case mrkdwn:
		c.keys(t, at, "type", "text", "verbatim")
		c.boolean(t, at, "verbatim")
	default:
		return // the type was reported
	}
	c.text += utf8.RuneCountInString(c.str(t, at, "text", true, most))
}

// confirm checks a confirmation dialog. Slack's page calls all four texts required.
func (c *checker) confirm(o object, at string) {
	d, ok := c.child(o, at, "confirm", false)
	if !ok {
		return
	}
	at += "/confirm"
	c.keys(d, at, "title", "text", "confirm", "deny", "style")
	c.textField(d, at, "title", true, 100, plain)
	c.textField(d, at, "text", true, 300, plain, mrkdwn)
	c.textField(d, at, "confirm", true, 30, plain)
	c.textField(d, at, "deny", true, 30, plain)
	c.oneOf(d, at, "style", false, "primary", "danger")
}

func (c *checker) link(o object, at, key string, required bool) {
	raw := c.str(o, at, key, required, maxURL)
	if raw == "" {
		return
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || (u.Host == "" && u.Opaque == "") {
		c.fail(at+"/"+key, "must be a valid URL")
	}
}

// option checks one choice of a select, of an overflow menu, of checkboxes or
// radio buttons.
func (c *checker) option(o object, at string, kinds ...string) {
	c.keys(o, at, "text", "value", "description", "url")
	c.textField(o, at, "text", true, 75, kinds...)
	c.str(o, at, "value", true, 75)
	c.textField(o, at, "description", false, 75, kinds...)
	c.link(o, at, "url", false)
}

func (c *checker) options(o object, at string, most int, kinds ...string) {
	items := c.list(o, at, "options", true, 1, most)
	c.objects(items, at+"/options", func(o object, at string) { c.option(o, at, kinds...) })
}
