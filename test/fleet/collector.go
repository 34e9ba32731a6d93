package fleet

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// collector exports one replica as its /metrics page would.
type collector struct {
	fleet   *Fleet
	replica *replica
	// created adds the _created gauges, as Python's client writes them in the text format. OpenMetrics has its own way.
	created bool
}

// serveMetrics answers like Python's client: OpenMetrics when the scraper knows it, else the text format.
func (f *Fleet) serveMetrics(w http.ResponseWriter, r *http.Request, rep *replica) {
	open := strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text")
	registry := prometheus.NewRegistry()
	// V0 switched them off, OpenTelemetry collectors drop them
	created := f.opts.Dialect == V1 || f.opts.Dialect == V1Early
	if err := registry.Register(collector{fleet: f, replica: rep, created: created && !open}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serveRegistry(w, r, registry, open, created)
}

func serveRegistry(w http.ResponseWriter, r *http.Request, registry *prometheus.Registry, open, created bool) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "text/plain;version=0.0.4")
	if open {
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: open, EnableOpenMetricsTextCreatedSamples: created, DisableCompression: true,
	}).ServeHTTP(w, r)
}

// Describe sends nothing: which children exist is known only when they are collected.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every metric of the replica.
func (c collector) Collect(out chan<- prometheus.Metric) {
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	w := writer{out: out, dialect: c.fleet.opts.Dialect, born: c.fleet.opts.Epoch.Add(c.replica.born), created: c.created}
	prefix := "vllm:"
	if w.dialect == Underscore {
		prefix = "vllm_"
	}
	for _, fam := range families(w.dialect) {
		for rank, e := range c.replica.ranks {
			labels := map[string]string{"model_name": c.fleet.opts.Model}
			if w.dialect != V0 {
				labels["engine"] = strconv.Itoa(rank)
			}
			w.family(prefix, fam, e, labels)
		}
	}
	for rank, e := range c.replica.ranks {
		labels := cacheConfig(w.dialect, e)
		if w.dialect != V0 {
			labels["engine"] = strconv.Itoa(rank)
		}
		w.sample(prefix+"cache_config_info", "Information of the LLMEngine CacheConfig", prometheus.GaugeValue, 1, labels)
	}
	if w.dialect != V0 { // since 0.8.3
		on := map[string]string{"handler": "/v1/chat/completions", "method": "POST", "status": "2xx"}
		w.counter("http_requests", "Total number of requests by method, status and handler.", float64(c.replica.answered), on)
	}
}

// writer turns values into metrics.
type writer struct {
	out     chan<- prometheus.Metric
	dialect Dialect
	born    time.Time
	// created says that _created series are written as gauges of their own.
	created bool
}

func (w writer) family(prefix string, fam family, e *engine, labels map[string]string) {
	name := prefix + fam.name
	switch {
	case fam.kind == histo:
		w.histogram(name, fam.help, fam.shape(e), labels)
	case fam.kind == counter && fam.values != nil:
		for _, value := range sorted(fam.values(e)) {
			w.counter(name, fam.help, fam.values(e)[value], with(labels, fam.label, value))
		}
	case fam.kind == counter:
		w.counter(name, fam.help, fam.value(e), labels)
	case fam.values != nil:
		for _, value := range sorted(fam.values(e)) {
			w.sample(name, fam.help, prometheus.GaugeValue, fam.values(e)[value], with(labels, fam.label, value))
		}
	default:
		w.sample(name, fam.help, prometheus.GaugeValue, fam.value(e), labels)
	}
}

func (w writer) counter(name, help string, value float64, labels map[string]string) {
	m, err := prometheus.NewConstMetricWithCreatedTimestamp(desc(name+"_total", help, labels), prometheus.CounterValue,
		value, w.born)
	w.send(m, err, name, labels)
	w.createdGauge(name, help, labels)
}

func (w writer) histogram(name, help string, h *histogram, labels map[string]string) {
	m, err := prometheus.NewConstHistogramWithCreatedTimestamp(desc(name, help, labels), h.count, h.sum, h.cumulative(),
		w.born)
	w.send(m, err, name, labels)
	w.createdGauge(name, help, labels)
}

func (w writer) createdGauge(name, help string, labels map[string]string) {
	if w.created {
		w.sample(name+"_created", help, prometheus.GaugeValue, seconds(w.born), labels)
	}
}

func (w writer) sample(name, help string, kind prometheus.ValueType, value float64, labels map[string]string) {
	m, err := prometheus.NewConstMetric(desc(name, help, labels), kind, value)
	w.send(m, err, name, labels)
}

func (w writer) send(m prometheus.Metric, err error, name string, labels map[string]string) {
	if err != nil {
		m = prometheus.NewInvalidMetric(desc(name, "", labels), err) // makes the scrape fail with this error
	}
	w.out <- m
}

func desc(name, help string, labels map[string]string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, nil, labels)
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

func sorted(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }

func with(labels map[string]string, name, value string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[name] = value
	return out
}
