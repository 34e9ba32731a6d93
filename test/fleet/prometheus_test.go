package fleet_test

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// openMetrics is what Prometheus asks for first.
const openMetrics = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"

// scrapeEvery is the scrape and evaluation interval: long, because the race detector makes PromQL slow.
const scrapeEvery = time.Minute

// history is a Prometheus in simulated time that scrapes a fleet and evaluates rules.
type history struct {
	t       *testing.T
	fleet   *fleet.Fleet
	scraper *fleet.Scraper
	prom    *promembed.Prometheus
	firing  map[string]bool // alerts that fired since the last call of fired
}

// watch starts a history of a fleet. ruleFile may be empty.
func watch(t *testing.T, o fleet.Options, ruleFile string) *history {
	t.Helper()
	f, err := fleet.New(o)
	if err != nil {
		t.Fatal(err)
	}
	// Alerts that go on firing are handed out again by every evaluation.
	prom, err := promembed.New(promembed.Options{EvaluationInterval: scrapeEvery, ResendDelay: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := prom.Close(); err != nil {
			t.Error(err)
		}
	})
	if ruleFile != "" {
		if err := prom.LoadRules(ruleFile, ruleText(t, ruleFile)); err != nil {
			t.Fatal(err)
		}
	}
	return &history{t: t, fleet: f, scraper: fleet.NewScraper(f, true), prom: prom, firing: map[string]bool{}}
}

func ruleText(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile("../../deploy/prometheus/rules/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func readRules(t *testing.T, file string) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(ruleText(t, file), false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	var rules []rulefmt.Rule
	for _, g := range groups.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// pass lets time pass, scrapes and evaluates at every interval.
func (h *history) pass(d time.Duration) {
	h.t.Helper()
	for end := h.fleet.Now().Add(d); h.fleet.Now().Before(end); {
		h.fleet.Advance(scrapeEvery)
		err := h.scraper.Scrape(func(ls labels.Labels, at int64, v float64) error {
			return h.prom.Append(ls, []promembed.Sample{{T: time.UnixMilli(at), V: v}})
		})
		if err != nil {
			h.t.Fatal(err)
		}
		now := h.fleet.Now()
		alerts, err := h.prom.EvaluateRules(h.t.Context(), now)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, a := range alerts {
			if a.EndsAt.After(now) {
				h.firing[strings.TrimSpace(a.Labels[model.AlertNameLabel]+" "+a.Labels["evidence"])] = true
			}
		}
	}
}

// fired are the names of the alerts that have fired since the last call, with their label evidence when they have it.
func (h *history) fired() []string {
	names := slices.Sorted(maps.Keys(h.firing))
	clear(h.firing)
	return names
}

// value is the one number that a query gives; NaN when it gives nothing.
func (h *history) value(query string) float64 {
	h.t.Helper()
	client, err := api.NewClient(api.Config{Address: "http://prometheus", RoundTripper: h.prom})
	if err != nil {
		h.t.Fatal(err)
	}
	got, _, _, err := promv1.NewAPI(client).Query(h.t.Context(), query, h.fleet.Now())
	if err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
	vector, ok := got.(model.Vector)
	switch {
	case !ok || len(vector) > 1:
		h.t.Fatalf("%s gives %s", query, got)
	case len(vector) == 0:
		return math.NaN()
	}
	return float64(vector[0].Value)
}

// get asks the fleet for a page and insists on 200.
func get(t *testing.T, h http.Handler, path, accept string) (page []byte, contentType string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes(), w.Header().Get("Content-Type")
}

// exposition is a parsed /metrics page.
type exposition struct {
	types   map[string]string // by family, as the page names it
	help    map[string]string
	samples []sample
}

type sample struct {
	labels labels.Labels
	value  float64
}

// parse reads a page as Prometheus does.
func parse(t *testing.T, page []byte, contentType string) exposition {
	t.Helper()
	p, err := textparse.New(page, contentType, nil, textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := exposition{types: map[string]string{}, help: map[string]string{}}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return e
		}
		if err != nil {
			t.Fatalf("parse metrics (%s): %v", contentType, err)
		}
		switch entry {
		case textparse.EntryType:
			name, kind := p.Type()
			e.types[string(name)] = string(kind)
		case textparse.EntryHelp:
			name, help := p.Help()
			e.help[string(name)] = string(help)
		case textparse.EntrySeries:
			_, _, v := p.Series()
			var ls labels.Labels
			p.Labels(&ls)
			e.samples = append(e.samples, sample{labels: ls, value: v})
		case textparse.EntryInvalid, textparse.EntryComment, textparse.EntryUnit, textparse.EntryHistogram:
		}
	}
}

// spelled turns a query in canonical names into a dialect's.
func spelled(d fleet.Dialect, query string) string {
	switch d {
	case fleet.Underscore:
		return strings.ReplaceAll(query, "vllm:", "vllm_")
	case fleet.V1Middle:
		return strings.ReplaceAll(query, "inter_token_latency_seconds", "time_per_output_token_seconds")
	case fleet.V1Early, fleet.V0:
		return strings.NewReplacer("kv_cache_usage_perc", "gpu_cache_usage_perc", "inter_token_latency_seconds",
			"time_per_output_token_seconds").Replace(query)
	case fleet.V1:
	}
	return query
}

// rulesOf is the rule file that is made for a dialect.
func rulesOf(d fleet.Dialect) string {
	switch d {
	case fleet.Underscore:
		return "vllm-alerts-underscore.yaml"
	case fleet.V0:
		return "vllm-alerts-v0.yaml"
	case fleet.V1, fleet.V1Middle, fleet.V1Early:
	}
	return "vllm-alerts.yaml"
}
