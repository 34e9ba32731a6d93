package fakeslack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// pageBlock is one block, ready for its template.
type pageBlock struct {
	Kind      string
	Level     int
	Text      template.HTML
	Fields    []template.HTML
	Elements  []pageElement
	Accessory *pageElement
	Rows      [][]pageCell
	Chart     *chartView
	Input     *pageInput
	Container *pageContainer
}

// pageContainer is a container; the block's Text is its title.
type pageContainer struct {
	Subtitle         template.HTML
	Foldable, Folded bool
	Rule             bool // between the title and the rest
	Width            string
	Blocks           []pageBlock
}

// pageElement is one element of a block.
type pageElement struct {
	Kind              string
	BlockID, ActionID string
	Text              template.HTML
	Label             string
	URL, Style        string
	Confirm           *Confirm
	Placeholder       string
	Options           []pageOption
	Multiline         bool
	Value             string
}

type pageOption struct {
	Value       string
	Text        template.HTML
	Description template.HTML
	Selected    bool
}

type pageCell struct {
	Text   template.HTML
	Number bool
}

type pageInput struct {
	Label, Hint, Error string
	Optional           bool
}

type pageModal struct {
	ID, Hash      string
	Title         string
	Submit, Close string
	Blocks        []pageBlock
}

// pageBlocks prepares a message; without blocks its text is a section.
func (r renderer) pageBlocks(fallback string, blocks json.RawMessage, errs map[string]string) []pageBlock {
	tree := decodeTree(blocks)
	if len(tree) == 0 {
		return []pageBlock{{Kind: "section", Text: r.mrkdwn(fallback)}}
	}
	return r.pageTree(tree, errs)
}

func (r renderer) pageTree(tree any, errs map[string]string) []pageBlock {
	var out []pageBlock
	eachObject(tree, func(o object) { out = append(out, r.pageBlock(o, errs)) })
	return out
}

func (r renderer) pageBlock(o object, errs map[string]string) pageBlock {
	id := text(o, "block_id")
	b := pageBlock{Kind: text(o, "type")}
	switch b.Kind {
	case "header":
		level, _ := o["level"].(float64)
		b.Level, b.Text = max(1, int(level)), r.textObject(o["text"])
	case "section":
		b.Text = r.textObject(o["text"])
		eachObject(o["fields"], func(f object) { b.Fields = append(b.Fields, r.textObject(f)) })
		if a, ok := o["accessory"].(object); ok {
			e := r.pageElement(a, id)
			b.Accessory = &e
		}
	case "context", "actions":
		eachObject(o["elements"], func(e object) { b.Elements = append(b.Elements, r.pageElement(e, id)) })
	case "alert":
		b.Text = r.textObject(o["text"])
	case "rich_text":
		b.Text = r.rich(o)
	case "table":
		b.Rows = r.rows(o["rows"])
	case "data_visualization":
		b.Chart = drawChart(chartOf(o))
	case "container":
		b.Text = r.textObject(o["title"])
		b.Container = &pageContainer{
			Subtitle: r.textObject(o["subtitle"]), Foldable: o["is_collapsible"] == true,
			Folded: o["default_collapsed"] == true, Rule: o["has_header_divider"] == true,
			Width: cmp.Or(text(o, "width"), "standard"), Blocks: r.pageTree(o["child_blocks"], nil),
		}
	case "input":
		b.Input = &pageInput{
			Label: innerText(o, "label"), Hint: innerText(o, "hint"), Error: errs[id], Optional: o["optional"] == true,
		}
		if e, ok := o["element"].(object); ok {
			b.Elements = []pageElement{r.pageElement(e, id)}
		}
	}
	return b
}

func (r renderer) textObject(v any) template.HTML {
	o, _ := v.(object)
	if text(o, "type") == mrkdwn {
		return r.mrkdwn(text(o, "text"))
	}
	return r.plain(text(o, "text"))
}

func (r renderer) pageElement(o object, blockID string) pageElement {
	e := pageElement{
		Kind: text(o, "type"), BlockID: blockID, ActionID: text(o, "action_id"), URL: text(o, "url"), Style: text(o, "style"),
		Confirm: confirmOf(o), Placeholder: innerText(o, "placeholder"), Multiline: o["multiline"] == true,
		Value: text(o, "initial_value"),
	}
	switch e.Kind {
	case plain, mrkdwn:
		e.Kind, e.Text = "text", r.textObject(o)
	case "button":
		e.Text, e.Label = r.textObject(o["text"]), text(o, "accessibility_label")
	case "static_select", "overflow", "checkboxes":
		if e.Kind != "checkboxes" {
			e.Kind = "select"
		}
		initial := strings.Split(initialOf(o), "\n")
		for _, opt := range optionsOf(o) {
			e.Options = append(e.Options, pageOption{
				Value: text(opt, "value"), Text: r.textObject(opt["text"]), Description: r.textObject(opt["description"]),
				Selected: slices.Contains(initial, text(opt, "value")),
			})
		}
	case "plain_text_input", "number_input":
		e.Kind = "input"
	}
	return e
}

func (r renderer) rows(v any) [][]pageCell {
	var out [][]pageCell
	rows, _ := v.([]any)
	for _, row := range rows {
		var cells []pageCell
		eachObject(row, func(o object) {
			shown, number := text(o, "text"), text(o, "type") == "raw_number"
			if number && shown == "" {
				shown = fmt.Sprint(o["value"])
			}
			cells = append(cells, pageCell{Text: r.plain(shown), Number: number})
		})
		out = append(out, cells)
	}
	return out
}
