package fakeslack

import (
	"html/template"
	"strings"
)

// richText renders a rich_text block or cell.
func (r renderer) richText(o object) template.HTML {
	var b strings.Builder
	eachObject(o["elements"], func(e object) { r.richContainer(&b, e) })
	return template.HTML(b.String()) //nolint:gosec // richLeaf escapes every text
}

func (r renderer) richContainer(b *strings.Builder, o object) {
	tags := map[string][2]string{
		"rich_text_section":      {"<p>", "</p>"},
		"rich_text_preformatted": {"<pre>", "</pre>"},
		"rich_text_quote":        {"<blockquote>", "</blockquote>"},
		"rich_text_list":         {"<ul>", "</ul>"},
	}
	kind := text(o, "type")
	tag := tags[kind]
	if kind == "rich_text_list" && text(o, "style") == "ordered" {
		tag = [2]string{"<ol>", "</ol>"}
	}
	b.WriteString(tag[0])
	eachObject(o["elements"], func(e object) {
		if kind == "rich_text_list" {
			b.WriteString("<li>")
			eachObject(e["elements"], func(leaf object) { b.WriteString(r.richLeaf(leaf)) })
			b.WriteString("</li>")
			return
		}
		b.WriteString(r.richLeaf(e))
	})
	b.WriteString(tag[1])
}

func (r renderer) richLeaf(o object) string {
	p := rendering{renderer: r}
	var out string
	switch text(o, "type") {
	case "link":
		label := text(o, "text")
		if label == "" {
			label = text(o, "url")
		}
		out = anchor(text(o, "url"), label)
	case "user":
		out = mention("@", p.name(text(o, "user_id"), ""))
	case "usergroup":
		out = mention("@", p.name(text(o, "usergroup_id"), ""))
	case "channel":
		out = mention("#", p.name(text(o, "channel_id"), ""))
	case "broadcast":
		out = mention("@", text(o, "range"))
	case "emoji":
		out = emoji(":" + escape(text(o, "name")) + ":")
	case "date":
		out = escape(text(o, "fallback"))
	default:
		out = lineBreaks(escape(text(o, "text")))
	}
	style, _ := o["style"].(object)
	for _, f := range [][2]string{{"bold", "strong"}, {"italic", "em"}, {"strike", "s"}, {"code", "code"}} {
		if style[f[0]] == true {
			out = "<" + f[1] + ">" + out + "</" + f[1] + ">"
		}
	}
	return out
}
