package fakeslack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Chart is a data_visualization block with its numbers.
type Chart struct {
	Title  string
	Type   string
	Labels []string
	Series []ChartSeries
	XLabel string
	YLabel string
}

// ChartSeries is one line.
type ChartSeries struct {
	Name   string
	Values []float64
}

// VisibleText returns all that a person can read in the message: the blocks if there are any, else the text. What
// a container has folded is part of it. Links are shown by their label and Slack's escapes are undone, except in
// plain_text and rich_text, which are taken as they are.
func (m Message) VisibleText() string { return visibleText(m.Text, m.Blocks) }

// VisibleText returns all that a person could read in this version.
func (v Version) VisibleText() string { return visibleText(v.Text, v.Blocks) }

// Charts returns the charts of the current version.
func (m Message) Charts() []Chart {
	var out []Chart
	for _, v := range decodeTree(m.Blocks) {
		if o, ok := v.(object); ok && text(o, "type") == "data_visualization" {
			out = append(out, chartOf(o))
		}
	}
	return out
}

func visibleText(fallback string, blocks json.RawMessage) string {
	tree := decodeTree(blocks)
	if len(tree) == 0 {
		return readable(fallback)
	}
	var lines []string
	for _, v := range tree {
		collectText(v, &lines)
	}
	return strings.Join(lines, "\n")
}

// shown are the properties that hold text or lead to it, in reading order.
var shown = []string{
	"title", "subtitle", "label", "text", "description", "fields", "elements", "accessory", "element", "rows", "options",
	"hint", "child_blocks",
}

func collectText(v any, lines *[]string) {
	switch v := v.(type) {
	case string:
		*lines = append(*lines, v)
	case []any:
		for _, item := range v {
			collectText(item, lines)
		}
	case object:
		if text(v, "type") == "data_visualization" {
			*lines = append(*lines, chartOf(v).lines()...)
			return
		}
		if text(v, "type") == "rich_text" {
			*lines = append(*lines, richLines(v)...)
			return
		}
		switch kind := text(v, "type"); {
		case kind == mrkdwn:
			*lines = append(*lines, readable(text(v, "text")))
			return
		case kind == "raw_number" && v["text"] == nil:
			*lines = append(*lines, fmt.Sprint(v["value"]))
		}
		for _, key := range shown {
			if inner, ok := v[key]; ok {
				collectText(inner, lines)
			}
		}
	}
}

var linkToken = regexp.MustCompile(`<([^<>|]*)(?:\|([^<>]*))?>`)

// readable shows a link by its label and undoes Slack's three escapes.
func readable(s string) string {
	s = linkToken.ReplaceAllStringFunc(s, func(hit string) string {
		parts := linkToken.FindStringSubmatch(hit)
		if parts[2] != "" {
			return parts[2]
		}
		return parts[1]
	})
	return unescaper.Replace(s)
}

// unescaper undoes the three escapes that Slack knows, in one pass.
var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

func chartOf(o object) Chart {
	body, _ := o["chart"].(object)
	c := Chart{Title: text(o, "title"), Type: text(body, "type")}
	axis, _ := body["axis_config"].(object)
	c.XLabel, c.YLabel = text(axis, "x_label"), text(axis, "y_label")
	categories, _ := axis["categories"].([]any)
	for _, v := range categories {
		label, _ := v.(string)
		c.Labels = append(c.Labels, label)
	}
	eachObject(body["series"], func(series object) {
		s := ChartSeries{Name: text(series, "name"), Values: make([]float64, len(c.Labels))}
		eachObject(series["data"], func(point object) {
			if i := slices.Index(c.Labels, text(point, "label")); i >= 0 {
				s.Values[i], _ = point["value"].(float64)
			}
		})
		c.Series = append(c.Series, s)
	})
	return c
}

func eachObject(v any, do func(object)) {
	items, _ := v.([]any)
	for _, item := range items {
		if o, ok := item.(object); ok {
			do(o)
		}
	}
}

func (c Chart) lines() []string {
	out := []string{c.Title}
	for _, s := range c.Series {
		out = append(out, s.Name)
	}
	for _, label := range []string{c.XLabel, c.YLabel} {
		if label != "" {
			out = append(out, label)
		}
	}
	return out
}

func formatTS(t time.Time) string {
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}

// timeOf returns when a timestamp was given.
func timeOf(ts string) time.Time {
	seconds, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{} // only timestamps given by nextTS get here
	}
	return time.Unix(n, 0).UTC()
}
