package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/prometheus"
)

// The defaults of Config. MaxSampleAge is three times Prometheus' default scrape interval.
const (
	DefaultDeadline       = 25 * time.Second
	DefaultDialectTTL     = 10 * time.Minute
	DefaultHistoryWindow  = 30 * time.Minute
	DefaultHistoryPoints  = 20
	DefaultMaxSampleAge   = 3 * time.Minute
	DefaultBaselineWindow = time.Hour
)

// maxHistoryPoints is far below the 11,000 points per series that Prometheus allows; a chart needs no more.
const maxHistoryPoints = 1000

// Config says what is collected and how. A zero field takes the default above.
type Config struct {
	// Prometheus says how Prometheus is asked.
	Prometheus prometheus.Config
	// Deadline bounds one Collect.
	Deadline time.Duration
	// DialectTTL is how long a detected dialect is believed.
	DialectTTL time.Duration
	// RuleWindow is the window over which signals are read; 0: not known.
	RuleWindow time.Duration
	// HistoryWindow and HistoryPoints shape a reading's past. By default the points are at most RuleWindow apart, so that
	// no moment is left out between two of them.
	HistoryWindow time.Duration
	HistoryPoints int
	// MaxSampleAge is how old a pool's newest sample may be; older readings are errors.
	MaxSampleAge time.Duration
	// BaselineWindow is how much of a pool's own past a value is compared with, one point a minute. The published
	// detector takes the last hundred samples and at least twenty ("vLLM v1 Performance Profiling", automated anomaly
	// detection).
	BaselineWindow time.Duration
	// Now is the clock by which queries are evaluated; nil is the machine's own. Rehearsals put another time here.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.Deadline = cmp.Or(c.Deadline, DefaultDeadline)
	c.DialectTTL = cmp.Or(c.DialectTTL, DefaultDialectTTL)
	c.HistoryPoints = cmp.Or(c.HistoryPoints, DefaultHistoryPoints)
	if c.HistoryWindow == 0 {
		c.HistoryWindow = DefaultHistoryWindow
		if seen := c.RuleWindow * time.Duration(c.HistoryPoints); seen > 0 {
			c.HistoryWindow = min(c.HistoryWindow, seen)
		}
	}
	c.MaxSampleAge = cmp.Or(c.MaxSampleAge, DefaultMaxSampleAge)
	c.BaselineWindow = cmp.Or(c.BaselineWindow, DefaultBaselineWindow)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Validate returns every error at once, without secrets in them.
func (c Config) Validate() error {
	c = c.withDefaults()
	errs := []error{c.Prometheus.Validate()}
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{
			"deadline", c.Deadline >= cmp.Or(c.Prometheus.QueryTimeout, prometheus.DefaultQueryTimeout),
			"at least the query timeout",
		},
		{"dialect time to live", c.DialectTTL > 0, "above zero"},
		{"history window", c.HistoryWindow > 0, "above zero"},
		{
			"history points", c.HistoryPoints > 0 && c.HistoryPoints <= maxHistoryPoints,
			fmt.Sprintf("between 1 and %d", maxHistoryPoints),
		},
		{"sample age", c.MaxSampleAge > 0, "above zero"},
		{
			"baseline window", c.BaselineWindow >= baselinePoints*baselineStep,
			"at least " + (baselinePoints * baselineStep).String(),
		},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("prometheus %s must be %s", f.name, f.want))
		}
	}
	return errors.Join(errs...)
}
