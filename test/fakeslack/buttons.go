package fakeslack

import (
	"encoding/json"
	"slices"
	"strings"
)

// Button is a button as a person sees it.
type Button struct {
	ActionID string
	BlockID  string
	Text     string
	Value    string
	URL      string
	Style    string
	Confirm  *Confirm
}

// Confirm is the question that a button asks before it sends anything.
type Confirm struct {
	Title   string
	Text    string
	Confirm string
	Deny    string
	Style   string
}

// placed is an interactive element and the block it stands in.
type placed struct {
	blockID string
	object  object
}

func (p placed) actionID() string { return text(p.object, "action_id") }

func (p placed) kind() string { return text(p.object, "type") }

// Buttons returns the buttons of the current version, in the order shown.
func (m Message) Buttons() []Button { return buttonsIn(m.Blocks) }

// Buttons returns the buttons of this version, in the order shown.
func (v Version) Buttons() []Button { return buttonsIn(v.Blocks) }

// Buttons returns the buttons of this private message, in the order shown.
func (e Ephemeral) Buttons() []Button { return buttonsIn(e.Blocks) }

// Button returns the first button whose action_id starts with prefix.
func (m Message) Button(prefix string) (Button, bool) {
	all := m.Buttons()
	i := slices.IndexFunc(all, func(b Button) bool { return strings.HasPrefix(b.ActionID, prefix) })
	if i < 0 {
		return Button{}, false
	}
	return all[i], true
}

func buttonsIn(blocks json.RawMessage) []Button {
	var out []Button
	for _, p := range interactives(blocks) {
		if p.kind() != "button" {
			continue
		}
		out = append(out, Button{
			ActionID: p.actionID(), BlockID: p.blockID, Text: innerText(p.object, "text"),
			Value: text(p.object, "value"), URL: text(p.object, "url"), Style: text(p.object, "style"),
			Confirm: confirmOf(p.object),
		})
	}
	return out
}

func confirmOf(o object) *Confirm {
	d, ok := o["confirm"].(object)
	if !ok {
		return nil
	}
	return &Confirm{
		Title: innerText(d, "title"), Text: innerText(d, "text"), Confirm: innerText(d, "confirm"),
		Deny: innerText(d, "deny"), Style: text(d, "style"),
	}
}

// interactives returns every element that can be clicked or filled in.
func interactives(blocks json.RawMessage) []placed {
	var out []placed
	eachBlock(decodeTree(blocks), func(block object) { collectInteractive(block, text(block, "block_id"), &out) })
	return out
}

func collectInteractive(v any, blockID string, out *[]placed) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			collectInteractive(item, blockID, out)
		}
	case object:
		if interactive(text(v, "type")) {
			*out = append(*out, placed{blockID: blockID, object: v})
			return
		}
		for _, key := range []string{"accessory", "element", "elements", "rows"} {
			collectInteractive(v[key], blockID, out)
		}
	}
}

// text returns a string property, or "".
func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

// innerText returns the text of a text object property, or "".
func innerText(o object, key string) string {
	inner, _ := o[key].(object)
	return text(inner, "text")
}
