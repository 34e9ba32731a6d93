package surface

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/vllm-medic/vllm-medic/test/truth"
)

// rows are the lines of a table, each as a sentence would have it.
func rows(table *html.Node) (out []string) {
	var head []string
	for n := range table.Descendants() {
		if n.Data != "tr" {
			continue
		}
		var cells []string
		for c := range n.ChildNodes() {
			switch c.Data {
			case "th":
				head = append(head, text(c))
			case "td":
				cells = append(cells, text(c))
			}
		}
		if len(cells) > 0 {
			out = append(out, sentence(head, cells))
		}
	}
	return out
}

// sentence is a row of a table in words.
func sentence(head, cells []string) string {
	cell := func(name string) string {
		if n := slices.Index(head, name); n >= 0 && n < len(cells) {
			return cells[n]
		}
		return ""
	}
	within := func(text, limit string) string {
		if limit != "" {
			text += " (" + limit + ")"
		}
		return text
	}
	switch {
	case slices.Contains(head, "Alert"):
		line := "• " + cell("Alert") + " (" + cell("Severity") + ")"
		if cell("State") != "firing" {
			line += ", " + cell("State")
		}
		return line + ": " + cell("Summary")
	case slices.Contains(head, "Before"):
		return within(cell("Signal")+" "+cell("Before")+" → "+cell("After"), cell("Expected"))
	case slices.Contains(head, "Seen"):
		return within(cell("Signal")+" "+cell("Seen"), cell("Expected")) + ": " + cell("Result")
	case slices.Contains(head, "Signal"):
		line := within(cell("Signal")+" "+cell("Value"), cell("Expected"))
		if usual := cell("Usually"); usual != "" {
			line += "; " + usual
		}
		return line
	}
	return strings.Join(cells, " · ")
}

// List is what the page of all incidents says of each, by its ID.
func List(page string) map[string]truth.Version {
	out := map[string]truth.Version{}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return out
	}
	for n := range root.Descendants() {
		switch {
		case n.Data == "section" && strings.Contains(attribute(n, "class"), "level-"):
			_, level, _ := strings.Cut(attribute(n, "class"), "level-")
			if a := link(n); a != nil {
				out[idOf(a)] = truth.Version{Text: signOf(level) + " " + text(n)}
			}
		case n.Data == "tr":
			if a := link(n); a != nil && attribute(a.Parent, "class") == "name" {
				out[idOf(a)] = truth.Version{Text: row(n, a)}
			}
		}
	}
	return out
}

// row is a line of the list: the pool and what there is to say of it, as a headline, and the rest below.
func row(n, a *html.Node) string {
	var cells []string
	level := ""
	for c := range n.ChildNodes() {
		if c.Data == "td" {
			cells = append(cells, text(c))
		}
	}
	for d := range n.Descendants() {
		if class, tagged := strings.CutPrefix(attribute(d, "class"), "tag "); tagged && level == "" {
			level = class
		}
	}
	return strings.TrimSpace(signOf(level) + " " + text(a) + ": " + strings.Join(cells[1:], "\n"))
}

const incidents = "/incidents/"

// link is the first link to an incident.
func link(n *html.Node) *html.Node {
	for d := range n.Descendants() {
		if d.Data == "a" && strings.HasPrefix(attribute(d, "href"), incidents) {
			return d
		}
	}
	return nil
}

func idOf(a *html.Node) string { return strings.TrimPrefix(attribute(a, "href"), incidents) }
