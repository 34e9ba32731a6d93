package fleet_test

import (
	"cmp"
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

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// openMetrics is what Prometheus asks for first.
const openMetrics = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"

// scrapeEvery is the scrape and evaluation interval: long, because the race detector makes PromQL slow.
const scrapeEvery = time.Minute

// history is a Prometheus in simulated time: PromQL's own engine over what was scraped from a fleet, with rules.
type history struct {
	t      *testing.T
	fleet  *fleet.Fleet
	engine *promql.Engine
	now    time.Time
	series map[string][]*samples               // by metric name
	byKey  map[uint64]*samples                 // by hash of the labels
	live   map[string]map[uint64]labels.Labels // series of the last scrape, by target
	rules  []rulefmt.Rule
	since  map[string]time.Time // when an alert's expression became true, by rule and labels
	firing map[string]bool      // alerts that fired since the last call of fired
}

type samples struct {
	labels labels.Labels
	points []chunks.Sample
}

// point is one sample for PromQL; there are no native histograms here.
type point struct {
	at    int64
	value float64
}

func (p point) T() int64                      { return p.at }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }
func before(s chunks.Sample, at int64) int    { return cmp.Compare(s.T(), at) }

// watch starts a history of a fleet. ruleFile may be empty.
func watch(t *testing.T, o fleet.Options, ruleFile string) *history {
	t.Helper()
	f, err := fleet.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := &history{
		t: t, fleet: f, now: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
			Parser: parser.NewParser(parser.Options{}),
		}),
		series: map[string][]*samples{}, byKey: map[uint64]*samples{}, live: map[string]map[uint64]labels.Labels{},
		since: map[string]time.Time{}, firing: map[string]bool{},
	}
	if ruleFile != "" {
		h.rules = readRules(t, ruleFile)
	}
	return h
}

func readRules(t *testing.T, file string) []rulefmt.Rule {
	t.Helper()
	content, err := os.ReadFile("../../deploy/prometheus/rules/" + file)
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}),
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
	for end := h.now.Add(d); h.now.Before(end); {
		h.fleet.Advance(scrapeEvery)
		h.now = h.now.Add(scrapeEvery)
		h.scrapeAll()
		for _, r := range h.rules {
			h.evaluate(r)
		}
	}
}

func (h *history) scrapeAll() {
	h.t.Helper()
	seen := map[string]bool{}
	for _, target := range h.fleet.Targets("fleet:1") {
		path := target.Labels["__metrics_path__"]
		extra := maps.Clone(target.Labels)
		delete(extra, "__metrics_path__")
		h.scrape(path, extra)
		seen[path] = true
	}
	h.scrape("/gateway/metrics",
		map[string]string{
			"job": "envoy", "namespace": "envoy-gateway-system", "pod": "envoy-0",
			"instance": "10.244.0.9:19001",
		})
	seen["/gateway/metrics"] = true
	for path, live := range h.live { // a target that is gone takes its series with it
		if seen[path] {
			continue
		}
		for _, ls := range live {
			h.add(ls, math.Float64frombits(value.StaleNaN))
		}
		delete(h.live, path)
	}
}

func (h *history) scrape(path string, extra map[string]string) {
	h.t.Helper()
	page, contentType := get(h.t, h.fleet, path, openMetrics)
	now := map[uint64]labels.Labels{}
	for _, s := range parse(h.t, page, contentType).samples {
		b := labels.NewBuilder(s.labels)
		for name, v := range extra {
			b.Set(name, v)
		}
		ls := b.Labels()
		if _, twice := now[ls.Hash()]; twice {
			h.t.Fatalf("%s exports %s twice", path, ls)
		}
		now[ls.Hash()] = ls
		h.add(ls, s.value)
	}
	for key, ls := range h.live[path] {
		if _, ok := now[key]; !ok {
			h.add(ls, math.Float64frombits(value.StaleNaN))
		}
	}
	h.live[path] = now
}

func (h *history) add(ls labels.Labels, v float64) {
	key := ls.Hash()
	s, ok := h.byKey[key]
	if !ok {
		s = &samples{labels: ls}
		h.byKey[key] = s
		name := ls.Get(model.MetricNameLabel)
		h.series[name] = append(h.series[name], s)
	}
	s.points = append(s.points, point{at: h.now.UnixMilli(), value: v})
}

// evaluate does for one rule what Prometheus does: record it, or find out which alerts are pending and firing.
func (h *history) evaluate(r rulefmt.Rule) {
	h.t.Helper()
	vector := h.vector(r.Expr)
	if r.Record != "" {
		for _, s := range vector {
			h.add(labels.NewBuilder(s.Metric).Set(model.MetricNameLabel, r.Record).Labels(), s.F)
		}
		return
	}
	name := r.Alert
	if evidence := r.Labels["evidence"]; evidence != "" {
		name += " " + evidence
	}
	prefix := name + "/"
	holds := map[string]bool{}
	for _, s := range vector {
		key := prefix + s.Metric.String()
		holds[key] = true
		if _, pending := h.since[key]; !pending {
			h.since[key] = h.now
		}
		if h.now.Sub(h.since[key]) < time.Duration(r.For) {
			continue
		}
		h.firing[name] = true
	}
	for key := range h.since {
		if strings.HasPrefix(key, prefix) && !holds[key] {
			delete(h.since, key)
		}
	}
}

// fired are the names of the alerts that have fired since the last call, with their label evidence when they have it.
func (h *history) fired() []string {
	names := slices.Sorted(maps.Keys(h.firing))
	clear(h.firing)
	return names
}

func (h *history) vector(query string) promql.Vector {
	h.t.Helper()
	q, err := h.engine.NewInstantQuery(h.t.Context(), h, nil, query, h.now)
	if err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	result := q.Exec(h.t.Context())
	vector, err := result.Vector()
	if err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
	return slices.Clone(vector)
}

// value is the one number that a query gives; NaN when it gives nothing.
func (h *history) value(query string) float64 {
	h.t.Helper()
	vector := h.vector(query)
	switch len(vector) {
	case 0:
		return math.NaN()
	case 1:
		return vector[0].F
	}
	h.t.Fatalf("%s gives %d series", query, len(vector))
	return 0
}

// Querier makes the history storage for PromQL.
func (h *history) Querier(mint, maxt int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints,
		matchers ...*labels.Matcher,
	) storage.SeriesSet {
		return h.find(mint, maxt, matchers)
	}}, nil
}

func (h *history) find(mint, maxt int64, matchers []*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{next: -1}
	names := slices.Collect(maps.Keys(h.series))
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel {
			names = slices.DeleteFunc(names, func(n string) bool { return !m.Matches(n) })
		}
	}
	for _, name := range names {
		for _, s := range h.series[name] {
			if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
				continue
			}
			from, _ := slices.BinarySearchFunc(s.points, mint, before)
			to, _ := slices.BinarySearchFunc(s.points, maxt+1, before)
			if from < to {
				set.series = append(set.series, storage.NewListSeries(s.labels, s.points[from:to]))
			}
		}
	}
	return set
}

type seriesSet struct {
	series []storage.Series
	next   int
}

func (s *seriesSet) Next() bool                        { s.next++; return s.next < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.next] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

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
