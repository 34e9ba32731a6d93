package app

import (
	"context"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/connlimit"
)

// connections bounds those of every listener, counts them and logs what is closed for others.
type connections struct {
	open   *prometheus.Desc
	closed *prometheus.CounterVec
	log    *sparing
	of     map[string]*connlimit.Listener
}

func newConnections(log *sparing) *connections {
	return &connections{
		open: desc("connections_open", "Open connections of a listener.", "listener"),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vllm_medic_connections_closed_total",
			Help: "Connections that a listener closed to bound their number, by the reason.",
		}, []string{"listener", "reason"}),
		log: log, of: map[string]*connlimit.Listener{},
	}
}

// limit bounds the connections of a listener. It is called before anything is served or scraped.
func (c *connections) limit(name string, l net.Listener) *connlimit.Listener {
	for _, reason := range connlimit.Reasons() {
		c.closed.WithLabelValues(name, reason) // a rule sees the first one only when there was a 0 before
	}
	limited := connlimit.New(l, connlimit.Options{Closed: func(reason, sender string) {
		c.closed.WithLabelValues(name, reason).Inc()
		c.log.warn(context.Background(), "connections "+name,
			"a listener has too many connections; one was closed for a new one, or turned away", "listener", name, "reason",
			reason, "address", sender)
	}})
	c.of[name] = limited
	return limited
}

// Describe sends every description.
func (c *connections) Describe(out chan<- *prometheus.Desc) {
	out <- c.open
	c.closed.Describe(out)
}

// Collect sends every sample.
func (c *connections) Collect(out chan<- prometheus.Metric) {
	for name, l := range c.of {
		out <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(l.Open()), name)
	}
	c.closed.Collect(out)
}

// sparingOf is a sparing log of a part by the machine's own clock.
func (a *App) sparingOf(part string) *sparing {
	return newSparing(a.opts.Logger.With("part", part), time.Now)
}
