package fakeslack

import (
	"fmt"
	"unicode/utf8"
)

// chart checks a data_visualization block. The shape is the one that slack-go
// v0.34.0 and docs.slack.dev give:
//
//	{type, block_id, title, chart: {type: line, series: [{name, data: [{label, value}]}],
//	 axis_config: {categories, x_label, y_label}}}
//
// Slack also draws bars, areas and pies; the bot sends lines only.
func (c *checker) chart(o object, at string) {
	c.charts++
	c.keys(o, at, "type", "block_id", "title", "chart")
	c.count(c.str(o, at, "title", true, 50))
	chart, ok := c.child(o, at, "chart", true)
	if !ok {
		return
	}
	at += "/chart"
	c.oneOf(chart, at, "type", true, "line")
	c.seriesChart(chart, at)
}

func (c *checker) count(text string) { c.text += utf8.RuneCountInString(text) }

func (c *checker) seriesChart(chart object, at string) {
	c.keys(chart, at, "type", "series", "axis_config")
	categories := map[string]bool{}
	if axis, ok := c.child(chart, at, "axis_config", true); ok {
		categories = c.axis(axis, at+"/axis_config")
	}
	names := map[string]bool{}
	series := c.list(chart, at, "series", true, 1, 6)
	c.objects(series, at+"/series", func(o object, at string) {
		c.keys(o, at, "name", "data")
		name := c.str(o, at, "name", true, 20)
		c.count(name)
		if names[name] {
			c.fail(at+"/name", "series names must be unique")
		}
		names[name] = true
		c.points(o, at, categories)
	})
}

func (c *checker) axis(axis object, at string) map[string]bool {
	c.keys(axis, at, "categories", "x_label", "y_label")
	c.count(c.str(axis, at, "x_label", false, 50))
	c.count(c.str(axis, at, "y_label", false, 50))
	categories := map[string]bool{}
	for i, v := range c.list(axis, at, "categories", true, 1, 20) {
		where := fmt.Sprintf("%s/categories/%d", at, i)
		label, ok := v.(string)
		if !ok {
			c.fail(where, "must be a string")
			continue
		}
		c.length(label, where, 1, 20)
		c.count(label)
		if categories[label] {
			c.fail(where, "categories must be unique")
		}
		categories[label] = true
	}
	return categories
}

// points holds every series to exactly one point for every category.
func (c *checker) points(series object, at string, categories map[string]bool) {
	seen := map[string]bool{}
	points := c.list(series, at, "data", true, 1, 20)
	c.objects(points, at+"/data", func(o object, at string) {
		c.keys(o, at, "label", "value")
		c.number(o, at, "value")
		label := c.str(o, at, "label", true, 20)
		switch {
		case !categories[label]:
			c.fail(at+"/label", "must match one of axis_config.categories")
		case seen[label]:
			c.fail(at+"/label", "labels must be unique in a series")
		}
		seen[label] = true
	})
	if len(points) != len(categories) {
		c.fail(at+"/data", "must contain exactly one point for every category")
	}
}

// number checks a property that must be a number. JSON has no NaN and no
// infinity, so one that decodes is finite.
func (c *checker) number(o object, at, key string) {
	v, present := o[key]
	if !present {
		c.fail(at, "missing required field: %s", key)
		return
	}
	if _, ok := v.(float64); !ok {
		c.fail(at+"/"+key, "must be a number")
	}
}
