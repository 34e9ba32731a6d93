package main

// What a dashboard is to Grafana, as far as these two need it. The version is that of Grafana 10.4; later ones migrate
// it when they load it.
const schemaVersion = 39

type dashboard struct {
	UID           string    `json:"uid"`
	Title         string    `json:"title"`
	Description   string    `json:"description"`
	Tags          []string  `json:"tags"`
	SchemaVersion int       `json:"schemaVersion"`
	Editable      bool      `json:"editable"`
	GraphTooltip  int       `json:"graphTooltip"`
	Refresh       string    `json:"refresh"`
	Time          span      `json:"time"`
	Timezone      string    `json:"timezone"`
	Links         []link    `json:"links"`
	Templating    variables `json:"templating"`
	Annotations   annotated `json:"annotations"`
	Panels        []panel   `json:"panels"`
}

type span struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// link leads from a dashboard to another with the same tag, or from a panel to a runbook.
type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type"`
	Icon        string   `json:"icon"`
	Tooltip     string   `json:"tooltip"`
	URL         string   `json:"url"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	TargetBlank bool     `json:"targetBlank"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
}

// source is a data source; both dashboards have one, which a variable chooses.
type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

var prometheus = source{Type: "prometheus", UID: "${datasource}"}

type variables struct {
	List []variable `json:"list"`
}

type variable struct {
	Name       string  `json:"name"`
	Label      string  `json:"label"`
	Type       string  `json:"type"`
	Query      string  `json:"query"`
	Datasource *source `json:"datasource,omitempty"`
	// Refresh 1 asks when the dashboard loads, 2 also when its times change.
	Refresh    int     `json:"refresh"`
	Sort       int     `json:"sort,omitempty"`
	IncludeAll bool    `json:"includeAll"`
	Multi      bool    `json:"multi"`
	AllValue   string  `json:"allValue,omitempty"`
	Current    *option `json:"current,omitempty"`
}

type option struct {
	Selected bool     `json:"selected"`
	Text     []string `json:"text"`
	Value    []string `json:"value"`
}

type annotated struct {
	List []annotation `json:"list"`
}

// annotation marks the times at which its query has a series above 0. Grafana before 11 reads the query from Expr.
type annotation struct {
	Name        string `json:"name"`
	Datasource  source `json:"datasource"`
	Enable      bool   `json:"enable"`
	IconColor   string `json:"iconColor"`
	Expr        string `json:"expr"`
	Target      target `json:"target"`
	TitleFormat string `json:"titleFormat"`
	TextFormat  string `json:"textFormat"`
	TagKeys     string `json:"tagKeys"`
}

type target struct {
	RefID        string `json:"refId"`
	Datasource   source `json:"datasource"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat,omitempty"`
	Range        bool   `json:"range"`
	Instant      bool   `json:"instant"`
	EditorMode   string `json:"editorMode"`
}

type panel struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	GridPos     place    `json:"gridPos"`
	Datasource  *source  `json:"datasource,omitempty"`
	Targets     []target `json:"targets,omitempty"`
	FieldConfig *fields  `json:"fieldConfig,omitempty"`
	Options     any      `json:"options,omitempty"`
	Links       []link   `json:"links,omitempty"`
	// Collapsed and Panels are those of a row.
	Collapsed *bool    `json:"collapsed,omitempty"`
	Panels    *[]panel `json:"panels,omitempty"`
}

type place struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type fields struct {
	Defaults  field    `json:"defaults"`
	Overrides []string `json:"overrides"`
}

type field struct {
	Unit       string      `json:"unit"`
	Min        *float64    `json:"min,omitempty"`
	Max        *float64    `json:"max,omitempty"`
	Decimals   *int        `json:"decimals,omitempty"`
	NoValue    string      `json:"noValue,omitempty"`
	Color      color       `json:"color"`
	Thresholds *thresholds `json:"thresholds,omitempty"`
	Mappings   []mapping   `json:"mappings,omitempty"`
	Custom     *drawn      `json:"custom,omitempty"`
}

type color struct {
	Mode string `json:"mode"`
}

type thresholds struct {
	Mode  string      `json:"mode"`
	Steps []threshold `json:"steps"`
}

// threshold is the color from a value on; the first has none.
type threshold struct {
	Value *float64 `json:"value"`
	Color string   `json:"color"`
}

type mapping struct {
	Type    string            `json:"type"`
	Options map[string]result `json:"options"`
}

type result struct {
	Text  string `json:"text"`
	Index int    `json:"index"`
}

// drawn is how the lines of a time series look.
type drawn struct {
	DrawStyle       string     `json:"drawStyle"`
	LineWidth       int        `json:"lineWidth"`
	FillOpacity     int        `json:"fillOpacity"`
	ShowPoints      string     `json:"showPoints"`
	ThresholdsStyle *styleMode `json:"thresholdsStyle,omitempty"`
	Stacking        *stacking  `json:"stacking,omitempty"`
}

type styleMode struct {
	Mode string `json:"mode"`
}

type stacking struct {
	Mode  string `json:"mode"`
	Group string `json:"group"`
}

type graphOptions struct {
	Legend  legend  `json:"legend"`
	Tooltip tooltip `json:"tooltip"`
}

type legend struct {
	DisplayMode string   `json:"displayMode"`
	Placement   string   `json:"placement"`
	ShowLegend  bool     `json:"showLegend"`
	Calcs       []string `json:"calcs"`
}

type tooltip struct {
	Mode string `json:"mode"`
	Sort string `json:"sort"`
}

type statOptions struct {
	ColorMode              string        `json:"colorMode"`
	GraphMode              string        `json:"graphMode"`
	JustifyMode            string        `json:"justifyMode"`
	TextMode               string        `json:"textMode"`
	WideLayout             bool          `json:"wideLayout"`
	ShowPercentChange      bool          `json:"showPercentChange"`
	PercentChangeColorMode string        `json:"percentChangeColorMode"`
	Orientation            string        `json:"orientation"`
	ReduceOptions          reduceOptions `json:"reduceOptions"`
}

type reduceOptions struct {
	Calcs  []string `json:"calcs"`
	Fields string   `json:"fields"`
	Values bool     `json:"values"`
}
