package grafana

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// question is a query of a dashboard.
type question struct {
	// from is the panel or the annotation that it is of.
	from, expr, legend string
	// share says that the panel's axis ends at 1.
	share bool
}

type panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Collapsed   bool
	FieldConfig struct {
		Defaults struct {
			Unit string
			Max  *float64
		}
	}
	Targets []struct{ Expr, LegendFormat string }
	Panels  []panel
}

type board struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Annotations struct {
		List []struct {
			Name, Expr, TitleFormat, TextFormat string
			Target                              struct{ Expr string }
		}
	}
	Panels []panel
}

func read(t *testing.T, name string) board {
	t.Helper()
	var b board
	if err := json.Unmarshal([]byte(boards(t)[name]), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// every are the panels of a board, those inside of collapsed rows, too.
func (b board) every() []panel {
	var out []panel
	for _, p := range b.Panels {
		out = append(append(out, p), p.Panels...)
	}
	return out
}

// questions are the queries of all panels and annotations, with the values of the variables for these.
func (b board) questions(values map[string]string) []question {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "$"+name, value)
	}
	filled := strings.NewReplacer(pairs...)
	var out []question
	for _, p := range b.every() {
		most := p.FieldConfig.Defaults.Max
		for _, q := range p.Targets {
			out = append(out, question{p.Title, filled.Replace(q.Expr), q.LegendFormat, most != nil && *most == 1})
		}
	}
	for _, a := range b.Annotations.List {
		out = append(out, question{from: a.Name, expr: filled.Replace(a.Expr), legend: a.TitleFormat + a.TextFormat})
	}
	return out
}

// chosen are values for every variable that the queries may have.
func chosen() map[string]string {
	return map[string]string{
		"namespace": "llm", "model": "llama-70b", "window": "5m", "job": "vllm-medic", "pool": ".*",
		"__rate_interval": "1m",
	}
}

// selectors are the selectors of a query.
func selectors(t *testing.T, q question) []*parser.VectorSelector {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
	if err != nil {
		t.Fatalf("%s: %s: %v", q.from, q.expr, err)
	}
	var out []*parser.VectorSelector
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			out = append(out, s)
		}
		return nil
	})
	return out
}

// has says whether a selector has that matcher.
func has(s *parser.VectorSelector, kind labels.MatchType, name, value string) bool {
	return slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
		return m.Type == kind && m.Name == name && m.Value == value
	})
}

func TestEveryQueryIsPromQL(t *testing.T) {
	t.Parallel()
	for name := range boards(t) {
		b := read(t, name)
		if len(b.questions(chosen())) < 20 {
			t.Errorf("%s has %d queries only", name, len(b.questions(chosen())))
		}
		for _, q := range b.questions(chosen()) {
			selectors(t, q)
			if strings.Contains(q.expr, "$") {
				t.Errorf("%s: %s has a variable that the dashboard lacks", q.from, q.expr)
			}
		}
		for _, a := range b.Annotations.List {
			if a.Expr != a.Target.Expr {
				t.Errorf("%s has two queries", a.Name)
			}
		}
	}
}

// A name that vLLM doesn't have draws an empty panel, and nobody notices. A selector without the variables draws every
// pool, whichever is chosen.
func TestVLLMsMetricsHaveTodaysNamesAndTheVariables(t *testing.T) {
	t.Parallel()
	values := chosen()
	values["namespace"], values["model"] = "one|two", "three"
	for _, q := range read(t, "vllm").questions(values) {
		for _, s := range selectors(t, q) {
			if !strings.HasPrefix(s.Name, "vllm:") {
				continue
			}
			if why := wrongName(s.Name); why != "" {
				t.Errorf("%s: %s", q.from, why)
			}
			if !has(s, labels.MatchRegexp, "namespace", "one|two") || !has(s, labels.MatchRegexp, "model_name", "three") {
				t.Errorf("%s: %s is of every pool", q.from, s)
			}
			if vllm.RouterTwin(s.Name) && !has(s, labels.MatchEqual, "server", "") {
				t.Errorf("%s: %s counts what production-stack's router repeats", q.from, s)
			}
		}
	}
	for _, name := range []string{
		"vllm:gpu_cache_usage", "vllm:num_requests_swapped", "vllm:e2e_request_latency_seconds",
	} {
		if wrongName(name) == "" {
			t.Errorf("%s passes", name)
		}
	}
}

// wrongName says why no vLLM since 0.8 exports a series of this name.
func wrongName(name string) string {
	n, ok := vllm.ParseMetric(name)
	if !ok {
		return name + " is no metric of vLLM"
	}
	base := n.Base
	for _, r := range vllm.Renames() {
		if r.Old == base {
			base = r.New
		}
	}
	m, ok := vllm.CurrentMetric(base)
	switch {
	case !ok:
		return fmt.Sprintf("vLLM has no %s", n.Base)
	case (m.Type == vllm.Histogram) != (n.Suffix != ""):
		return fmt.Sprintf("%s is no series: histograms have suffixes, and nothing else has", name)
	}
	return ""
}

// Panels that lie over each other, or that a reader can't tell apart, or that don't say what they mean.
func TestEveryPanelHasItsPlaceAndSaysWhatItShows(t *testing.T) {
	t.Parallel()
	for name := range boards(t) {
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range read(t, name).every() {
			if ids[p.ID] {
				t.Errorf("%s: two panels have the id %d", name, p.ID)
			}
			ids[p.ID] = true
			if p.Type != "row" && (p.Description == "" || p.Title == "" || p.FieldConfig.Defaults.Unit == "") {
				t.Errorf("%s: panel %q lacks a title, a description or a unit", name, p.Title)
			}
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if other := taken[at]; other != "" {
						t.Fatalf("%s: %q lies over %q", name, p.Title, other)
					}
					taken[at] = p.Title
				}
			}
			if p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: %q is outside of the grid", name, p.Title)
			}
		}
	}
}
