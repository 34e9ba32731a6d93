package main

// Grafana's grid is 24 columns wide.
const columns = 24

// runbooks is where the pages of docs are for whoever has only a dashboard.
const runbooks = "https://github.com/vllm-medic/vllm-medic/blob/main/docs/"

// query is an expression and what its series are called in the legend.
type query struct{ expr, legend string }

// chart is a panel before it has a place.
type chart struct {
	title, description, unit string
	// limit is where a red line is drawn, or from where on a number is red; 0 is none.
	limit float64
	// share is a chart of values from 0 to 1; stacked one whose series add up to something.
	share, stacked bool
	// signed is a chart whose values may be below 0.
	signed bool
	// stat is a single number; its words are texts in place of values.
	stat  bool
	words map[string]string
	// calm says that 0 is normal, and everything above it is worth a look.
	calm    bool
	runbook string
	queries []query
}

// row is a headline and its charts, all of one size.
type row struct {
	title         string
	width, height int
	collapsed     bool
	charts        []chart
}

// laid gives every panel of the rows its place and its number.
func laid(rows ...row) []panel {
	var out []panel
	id, y := 0, 0
	next := func() int { id++; return id }
	for _, r := range rows {
		head := panel{
			ID: next(), Type: "row", Title: r.title, GridPos: place{H: 1, W: columns, Y: y},
			Collapsed: new(r.collapsed), Panels: &[]panel{},
		}
		y++
		var body []panel
		for i, c := range r.charts {
			perLine := columns / r.width
			p := c.panel(next())
			p.GridPos = place{H: r.height, W: r.width, X: i % perLine * r.width, Y: y + i/perLine*r.height}
			body = append(body, p)
		}
		if r.collapsed {
			// Grafana keeps the panels of a collapsed row in it, and asks for their data when it is opened.
			head.Panels = &body
			out = append(out, head)
			continue
		}
		lines := (len(r.charts)*r.width + columns - 1) / columns
		y += lines * r.height
		out = append(append(out, head), body...)
	}
	return out
}

func (c chart) panel(id int) panel {
	p := panel{
		ID: id, Type: "timeseries", Title: c.title, Description: c.description, Datasource: &prometheus,
		FieldConfig: &fields{Defaults: c.field(), Overrides: []string{}},
		Options: graphOptions{
			Legend:  legend{DisplayMode: "table", Placement: "bottom", ShowLegend: true, Calcs: []string{"lastNotNull", "max"}},
			Tooltip: tooltip{Mode: "multi", Sort: "desc"},
		},
	}
	if c.stat {
		p.Type, p.Options = "stat", statOptions{
			ColorMode: "value", GraphMode: "area", JustifyMode: "auto", TextMode: "auto", WideLayout: true,
			PercentChangeColorMode: "standard", Orientation: "auto",
			ReduceOptions: reduceOptions{Calcs: []string{"lastNotNull"}},
		}
	}
	if c.runbook != "" {
		p.Links = []link{{
			Title: "Runbook", Type: "link", URL: runbooks + c.runbook, Tags: []string{}, TargetBlank: true,
		}}
	}
	for i, q := range c.queries {
		p.Targets = append(p.Targets, target{
			RefID: string(rune('A' + i)), Datasource: prometheus, Expr: q.expr, LegendFormat: q.legend, Range: true,
			EditorMode: "code",
		})
	}
	return p
}

func (c chart) field() field {
	f := field{Unit: c.unit, Color: color{Mode: "palette-classic"}, NoValue: "no data"}
	if !c.signed {
		f.Min = new(0.0)
	}
	if c.share {
		f.Max = new(1.0)
	}
	base := "green"
	if !c.calm && c.limit == 0 {
		base = "text"
	}
	f.Thresholds = &thresholds{Mode: "absolute", Steps: []threshold{{Color: base}}}
	switch {
	case c.limit != 0:
		f.Thresholds.Steps = append(f.Thresholds.Steps, threshold{Value: new(c.limit), Color: "red"})
	case c.calm:
		f.Thresholds.Steps = append(f.Thresholds.Steps, threshold{Value: new(1.0), Color: "red"})
	}
	if c.stat {
		f.Color.Mode = "thresholds"
		c.word(&f)
		return f
	}
	f.Custom = &drawn{DrawStyle: "line", LineWidth: 1, FillOpacity: 10, ShowPoints: "never"}
	if c.limit != 0 {
		f.Custom.ThresholdsStyle = &styleMode{Mode: "dashed"}
	}
	if c.stacked {
		f.Custom.Stacking = &stacking{Mode: "normal", Group: "A"}
	}
	return f
}

// word gives the values of a chart their words. The higher value is the good one: 0 is red.
func (c chart) word(f *field) {
	if c.words == nil {
		return
	}
	f.Thresholds.Steps = []threshold{{Color: "red"}, {Value: new(1.0), Color: "green"}}
	options := map[string]result{}
	for value, text := range c.words {
		options[value] = result{Text: text}
	}
	f.Mappings = []mapping{{Type: "value", Options: options}}
}

// chooser is the variable of the data source.
func chooser() variable {
	return variable{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Refresh: 1}
}

// choice is a variable whose values are those of a label. All is any value and none at all, so that a Prometheus whose
// series lack the label is shown, too.
func choice(name, label, metric, ofLabel string) variable {
	return variable{
		Name: name, Label: label, Type: "query", Query: "label_values(" + metric + ", " + ofLabel + ")",
		Datasource: &prometheus, Refresh: 2, Sort: 1, IncludeAll: true, Multi: true, AllValue: ".*",
		Current: &option{Selected: true, Text: []string{"All"}, Value: []string{"$__all"}},
	}
}

// marks are the times at which a query has something, as areas behind every chart.
func marks(name, color, expr, title, text, tags string) annotation {
	return annotation{
		Name: name, Datasource: prometheus, Enable: true, IconColor: color, Expr: expr,
		Target:      target{RefID: "Annotation", Datasource: prometheus, Expr: expr, Range: true, EditorMode: "code"},
		TitleFormat: title, TextFormat: text, TagKeys: tags,
	}
}

// tag is what both dashboards have, so that each leads to the other.
const tag = "vllm-medic"

func board(uid, title, description string) dashboard {
	return dashboard{
		UID: uid, Title: title, Description: description, Tags: []string{tag, "vllm"}, SchemaVersion: schemaVersion,
		Editable: true, GraphTooltip: 1, Refresh: "30s", Time: span{From: "now-3h", To: "now"}, Timezone: "browser",
		Links: []link{{
			Title: "vLLM and vllm-medic", Type: "dashboards", Icon: "external link", Tags: []string{tag}, KeepTime: true,
		}},
	}
}
