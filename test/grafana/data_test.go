package grafana

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// every is the scrape interval of the examples in deploy/prometheus.
const every = 15 * time.Second

func embedded(t *testing.T) *promembed.Prometheus {
	t.Helper()
	prom, err := promembed.New(promembed.Options{EvaluationInterval: every})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := prom.Close(); err != nil {
			t.Error(err)
		}
	})
	return prom
}

// asked is what a Prometheus answers to a query at a time.
func asked(t *testing.T, prom *promembed.Prometheus, query string, at time.Time) model.Vector {
	t.Helper()
	client, err := api.NewClient(api.Config{Address: "http://prometheus", RoundTripper: prom})
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := promv1.NewAPI(client).Query(t.Context(), query, at)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	vector, ok := got.(model.Vector)
	if !ok {
		t.Fatalf("%s gives %s", query, got.Type())
	}
	return vector
}

// placeholder is a label in a legend.
var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// shown holds what a panel would show against what it says: numbers, below 1 where the axis ends there, and series with
// every label that the legend asks for. A quantile of the bot's has a series and no number until something happens.
func shown(t *testing.T, q question, got model.Vector) {
	t.Helper()
	if len(got) == 0 {
		t.Errorf("%s has no data: %s", q.from, q.expr)
	}
	for _, s := range got {
		v := float64(s.Value)
		if ofTheBot(q) && strings.HasPrefix(q.expr, "histogram_quantile") && math.IsNaN(v) {
			continue
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || q.share && (v < 0 || v > 1) {
			t.Errorf("%s shows %v: %s", q.from, v, q.expr)
		}
		for _, m := range placeholder.FindAllStringSubmatch(q.legend, -1) {
			if s.Metric[model.LabelName(m[1])] == "" {
				t.Errorf("%s: the series %s have no %s for the legend", q.from, s.Metric, m[1])
			}
		}
	}
}

// busy is a fleet that preempts requests, and a Prometheus that has scraped it and evaluated the alert rules.
func busy(t *testing.T, dialect fleet.Dialect) (prom *promembed.Prometheus, now time.Time) {
	t.Helper()
	f, err := fleet.New(fleet.Options{Dialect: dialect, Scenario: "swapping"})
	if err != nil {
		t.Fatal(err)
	}
	file := "vllm-alerts.yaml"
	switch dialect {
	case fleet.Underscore:
		file = "vllm-alerts-underscore.yaml"
	case fleet.V0:
		file = "vllm-alerts-v0.yaml"
	case fleet.V1, fleet.V1Middle, fleet.V1Early:
	}
	rules, err := os.ReadFile(filepath.Join("../../deploy/prometheus/rules", file))
	if err != nil {
		t.Fatal(err)
	}
	prom = embedded(t)
	if err := prom.LoadRules(file, rules); err != nil {
		t.Fatal(err)
	}
	scraper := fleet.NewScraper(f, false)
	for range int(12 * time.Minute / every) {
		f.Advance(every)
		err := scraper.Scrape(func(ls labels.Labels, at int64, v float64) error {
			return prom.Append(ls, []promembed.Sample{{T: time.UnixMilli(at), V: v}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prom.EvaluateRules(t.Context(), f.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return prom, f.Now()
}

// underscored is what docs/grafana.md says to do when the metrics have no colon.
func underscored(text string) string { return strings.ReplaceAll(text, "vllm:", "vllm_") }

// ofTheBot are queries that the bot's metrics answer, which a fleet doesn't have; bot_test.go asks them.
func ofTheBot(q question) bool { return strings.Contains(q.expr, "vllm_medic_") || onTheBot(q) }

// onTheBot are queries for alerts on the bot itself.
func onTheBot(q question) bool { return strings.Contains(q.expr, "VllmMedic") }

// notInV0 is the panel whose metrics the V0 engine lacks.
const notInV0 = "Prefix cache hit rate"

// One dashboard is for every generation of vLLM, and after a replacement for names without a colon.
func TestEveryPanelOfThePoolsShowsASimulatedFleet(t *testing.T) {
	t.Parallel()
	for _, d := range fleet.Dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			prom, now := busy(t, d)
			all := chosen()
			all["namespace"], all["model"] = ".*", ".*"
			for _, values := range []map[string]string{chosen(), all} {
				for _, q := range read(t, "vllm").questions(values) {
					if ofTheBot(q) || d == fleet.V0 && q.from == notInV0 {
						continue
					}
					if d == fleet.Underscore {
						q.expr = underscored(q.expr)
					}
					shown(t, q, asked(t, prom, q.expr, now))
				}
			}
		})
	}
}

// A pool that isn't chosen isn't shown.
func TestAnotherPoolsPanelsAreEmpty(t *testing.T) {
	t.Parallel()
	prom, now := busy(t, fleet.V1)
	values := chosen()
	values["model"] = "mistral"
	for _, q := range read(t, "vllm").questions(values) {
		if ofTheBot(q) || strings.Contains(q.expr, "vector(0)") {
			continue
		}
		if got := asked(t, prom, q.expr, now); len(got) != 0 {
			t.Errorf("%s shows %s of a pool that isn't chosen: %s", q.from, got, q.expr)
		}
	}
}
