package fakeslack

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
)

// maxRichItems bounds what is in one element of a rich text. Slack documents no number; this is a guess on the strict
// side, as maxText is for one text in it. Empty lists and texts are refused (observed, not documented).
const maxRichItems = 100

var (
	// richStyle is what docs.slack.dev and its SDK for Node both have for a text. What Slack's own client marks
	// (highlight, unlink) isn't for apps.
	richStyle = shape{may: props{"bold": flag, "italic": flag, "strike": flag, "underline": flag, "code": flag}}
	// richText is text in which nothing is parsed: people, times and links are elements of their own.
	richText = map[string]shape{
		"text": {must: props{"text": str{maxText, true}}, may: props{"style": richStyle}},
	}
	richElements = variantsOf(nil, richText, map[string]shape{
		"user": {must: props{"user_id": simple{"the id of a user", func(v any) bool {
			s, _ := v.(string)
			return userID.MatchString(s)
		}}}},
		"date": {
			must: props{"timestamp": whole(1, 1<<53), "format": simple{"text with a {token} for the time", func(v any) bool {
				s, _ := v.(string)
				return dateFormat.MatchString(s)
			}}},
			may: props{"fallback": str{maxText, true}},
		},
	})
	richSections = map[string]shape{
		"rich_text_section": {must: props{"elements": array{1, maxRichItems, richElements, ""}}},
	}
	border     = whole(0, 1)
	richBlocks = variantsOf(nil, richSections, map[string]shape{
		"rich_text_list": {
			must: props{
				"style": enum("bullet", "ordered"), "elements": array{1, maxRichItems, variantsOf(nil, richSections), ""},
			},
			may: props{"indent": whole(0, 8), "offset": whole(0, 1<<31), "border": border},
		},
		"rich_text_preformatted": {
			must: props{"elements": array{1, maxRichItems, variantsOf(nil, richText), ""}}, may: props{"border": border},
		},
	})
)

var (
	userID     = regexp.MustCompile(`^[UW][A-Z0-9]{2,20}$`)
	dateFormat = regexp.MustCompile(
		`\{(date|date_num|date_slash|date_long|date_long_full|date_long_pretty|date_short|date_short_pretty|date_pretty|` +
			`time|time_secs|day_divider_pretty|ago)\}`)
)

// richLines are what a person reads of a rich text, with the bullets of its lists.
func richLines(block object) []string {
	var out []string
	eachObject(block["elements"], func(o object) {
		if text(o, "type") != "rich_text_list" {
			out = append(out, richLine(o))
			return
		}
		eachObject(o["elements"], func(item object) { out = append(out, "• "+richLine(item)) })
	})
	return out
}

func richLine(section object) string {
	var b strings.Builder
	eachObject(section["elements"], func(o object) {
		switch text(o, "type") {
		case "user":
			b.WriteString("@" + text(o, "user_id"))
		case "date":
			b.WriteString(text(o, "fallback"))
		default:
			b.WriteString(text(o, "text"))
		}
	})
	return b.String()
}

// rich renders a rich text.
func (r renderer) rich(block object) template.HTML {
	var b strings.Builder
	eachObject(block["elements"], func(o object) {
		switch text(o, "type") {
		case "rich_text_list":
			tag := "ul"
			if text(o, "style") == "ordered" {
				tag = "ol"
			}
			b.WriteString("<" + tag + ">")
			eachObject(o["elements"], func(item object) { b.WriteString("<li>" + r.richHTML(item) + "</li>") })
			b.WriteString("</" + tag + ">")
		case "rich_text_preformatted":
			b.WriteString("<pre>" + strings.ReplaceAll(r.richHTML(o), "<br>", "\n") + "</pre>")
		default:
			b.WriteString("<p>" + r.richHTML(o) + "</p>")
		}
	})
	return template.HTML(b.String()) //nolint:gosec // built above from escaped text and own tags only
}

func (r renderer) richHTML(section object) string {
	var b strings.Builder
	eachObject(section["elements"], func(o object) {
		switch text(o, "type") {
		case "user":
			p := rendering{renderer: r}
			b.WriteString(mention("@", p.name(text(o, "user_id"), "")))
		case "date":
			b.WriteString(escape(text(o, "fallback")))
		default:
			b.WriteString(styled(string(r.plain(text(o, "text"))), o["style"]))
		}
	})
	return b.String()
}

func styled(html string, style any) string {
	o, _ := style.(object)
	for _, f := range slices.Backward([]struct{ name, tag string }{
		{"bold", "strong"}, {"italic", "em"}, {"strike", "s"}, {"underline", "u"}, {"code", "code"},
	}) {
		if o[f.name] == true {
			html = "<" + f.tag + ">" + html + "</" + f.tag + ">"
		}
	}
	return html
}
