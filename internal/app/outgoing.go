package app

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outgoing counts the requests of the bot to each service that it talks to: "prometheus", "kubernetes", "slack", and
// the receivers in notify by their names.
type outgoing struct {
	count *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// How a request ended. A 4xx is an answer like any other of Kubernetes, and an error of Prometheus.
const (
	requestOK     = "ok"
	requestClient = "client_error"
	requestServer = "server_error"
	requestSilent = "no_answer"
)

func newOutgoing() *outgoing {
	return &outgoing{
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vllm_medic_client_requests_total", Help: "Requests of the bot to other services, by how they ended.",
		}, []string{"service", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "vllm_medic_client_request_duration_seconds",
			Help:    "Time until other services began to answer the bot.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"service"}),
	}
}

// around counts what goes through a transport, outside of whatever else wraps it.
func (o *outgoing) around(
	inner func(service string, rt http.RoundTripper) http.RoundTripper,
) func(string, http.RoundTripper) http.RoundTripper {
	return func(service string, rt http.RoundTripper) http.RoundTripper {
		if inner != nil {
			rt = inner(service, rt)
		}
		for _, result := range []string{requestOK, requestClient, requestServer, requestSilent} {
			o.count.WithLabelValues(service, result)
		}
		return counting{o, service, rt}
	}
}

// Describe sends every description.
func (o *outgoing) Describe(out chan<- *prometheus.Desc) {
	o.count.Describe(out)
	o.took.Describe(out)
}

// Collect sends every sample.
func (o *outgoing) Collect(out chan<- prometheus.Metric) {
	o.count.Collect(out)
	o.took.Collect(out)
}

// counting is a transport whose requests are counted.
type counting struct {
	*outgoing

	service string
	inner   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := c.inner.RoundTrip(req)
	c.took.WithLabelValues(c.service).Observe(time.Since(begun).Seconds())
	c.count.WithLabelValues(c.service, requestResult(resp, err)).Inc()
	return resp, err
}

func requestResult(resp *http.Response, err error) string {
	switch {
	case err != nil:
		return requestSilent
	case resp.StatusCode >= 500:
		return requestServer
	case resp.StatusCode >= 400:
		return requestClient
	}
	return requestOK
}
