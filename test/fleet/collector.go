package fleet

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serveMetrics answers like Python's client: OpenMetrics when the scraper knows it, else the text format.
func (f *Fleet) serveMetrics(w http.ResponseWriter, r *http.Request, rep *replica) {
	open := strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text")
	created := rep.dialect.created()
	serve(w, r, func(p page) { f.walk(rep, p) }, open, created)
}

// serve writes a page in one of the two formats.
func serve(w http.ResponseWriter, r *http.Request, walk func(page), open, created bool) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(collector{walk: walk, created: created && !open}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "text/plain;version=0.0.4")
	if open {
		r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: open, EnableOpenMetricsTextCreatedSamples: created, DisableCompression: true,
	}).ServeHTTP(w, r)
}

// collector exports a page through Prometheus' own library.
type collector struct {
	walk func(page)
	// created adds the _created gauges, as Python's client writes them in the text format. OpenMetrics has its own way.
	created bool
}

// Describe sends nothing: which children exist is known only when they are collected.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every metric of the page.
func (c collector) Collect(out chan<- prometheus.Metric) {
	c.walk(writer{out: out, created: c.created})
}

// writer turns values into metrics.
type writer struct {
	out chan<- prometheus.Metric
	// created says that _created series are written as gauges of their own.
	created bool
}

func (w writer) gauge(m metric, value float64) { w.value(m, prometheus.GaugeValue, value) }

func (w writer) counter(m metric, value float64) {
	if m.born.IsZero() { // Envoy knows no such thing
		w.value(m, prometheus.CounterValue, value)
		return
	}
	out, err := prometheus.NewConstMetricWithCreatedTimestamp(desc(m), prometheus.CounterValue, value, m.born)
	w.send(m, out, err)
	w.createdGauge(m)
}

func (w writer) histogram(m metric, h *histogram) {
	out, err := prometheus.NewConstHistogramWithCreatedTimestamp(desc(m), h.count, h.sum, h.cumulative(), m.born)
	w.send(m, out, err)
	w.createdGauge(m)
}

func (w writer) createdGauge(m metric) {
	if w.created {
		born := m.born
		m.name = m.createdName()
		w.gauge(m, seconds(born))
	}
}

func (w writer) value(m metric, kind prometheus.ValueType, value float64) {
	out, err := prometheus.NewConstMetric(desc(m), kind, value)
	w.send(m, out, err)
}

func (w writer) send(m metric, out prometheus.Metric, err error) {
	if err != nil {
		out = prometheus.NewInvalidMetric(desc(m), err) // makes the scrape fail with this error
	}
	w.out <- out
}

func desc(m metric) *prometheus.Desc { return prometheus.NewDesc(m.name, m.help, nil, m.labels) }

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
