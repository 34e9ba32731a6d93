package promembed

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// The defaults of Options are those of Prometheus' own flags --query.lookback-delta, --query.timeout and
// --query.max-samples.
const (
	DefaultLookback   = 5 * time.Minute
	DefaultTimeout    = 2 * time.Minute
	DefaultMaxSamples = 50_000_000
)

// The defaults of Options for rules are Prometheus' own. A subquery that names no resolution has that of the global
// evaluation interval.
const (
	defaultEvaluation  = time.Minute
	defaultResend      = time.Minute
	defaultExternalURL = "http://localhost:9090"
)

var errClosed = errors.New("this Prometheus is closed")

// Options say how queries are evaluated. A zero field takes the default above.
type Options struct {
	// Lookback is how far an instant selector looks back for a sample.
	Lookback time.Duration
	// Timeout bounds one query.
	Timeout time.Duration
	// MaxSamples bounds the samples that one query may hold in memory.
	MaxSamples int
	// Retention is how long samples are kept, counted back from the newest one; zero keeps them until Close. With it,
	// what is not quite new is kept as Prometheus' own chunks, in a tenth of the memory.
	Retention time.Duration
	// ExternalURL is where alerts say that they come from; rules that expand it see it. Empty: http://localhost:9090.
	ExternalURL string
	// EvaluationInterval is the time between two calls of EvaluateRules, and the resolution of a subquery that names
	// none. Zero: a minute, as Prometheus' evaluation_interval.
	EvaluationInterval time.Duration
	// ResendDelay is the time after which an alert that still fires is handed out again. Zero: a minute, as Prometheus'
	// --rules.alert.resend-delay.
	ResendDelay time.Duration
}

// Prometheus answers queries over the samples that were put in. It is safe for concurrent use.
type Prometheus struct {
	engine  *promql.Engine
	parser  parser.Parser
	samples *memory
	rules   *ruleSet
	mux     *http.ServeMux
}

// New returns an empty Prometheus. It starts nothing; Close frees its memory.
func New(o Options) (*Prometheus, error) {
	if o.Lookback < 0 || o.Timeout < 0 || o.MaxSamples < 0 || o.Retention < 0 || o.EvaluationInterval < 0 ||
		o.ResendDelay < 0 {
		return nil, errors.New("promembed: times and the number of samples must not be negative")
	}
	external, err := url.Parse(cmp.Or(o.ExternalURL, defaultExternalURL))
	if err != nil {
		return nil, fmt.Errorf("promembed: the external URL: %w", err)
	}
	every := cmp.Or(o.EvaluationInterval, defaultEvaluation)
	text := parser.NewParser(parser.Options{})
	p := &Prometheus{
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples:               cmp.Or(o.MaxSamples, DefaultMaxSamples),
			Timeout:                  cmp.Or(o.Timeout, DefaultTimeout),
			LookbackDelta:            cmp.Or(o.Lookback, DefaultLookback),
			NoStepSubqueryIntervalFn: func(int64) int64 { return every.Milliseconds() },
			EnableAtModifier:         true,
			EnableNegativeOffset:     true,
			Parser:                   text,
		}),
		parser:  text,
		samples: newMemory(o.Retention),
		rules:   &ruleSet{every: every, resend: cmp.Or(o.ResendDelay, defaultResend), external: external},
	}
	p.mux = p.routes()
	return p, nil
}

// Sample is a value at a time. Times count in milliseconds, as in Prometheus; what is finer is cut off.
type Sample struct {
	T time.Time
	V float64
}

// Append adds samples to one series, the oldest first, each later than the last one that the series has. Either all are
// added or, with an error, none. A value that is Prometheus' staleness marker (value.StaleNaN) ends the series until
// its next sample.
func (p *Prometheus) Append(ls labels.Labels, samples []Sample) error {
	points := make([]point, len(samples))
	for i, s := range samples {
		points[i] = point{t: s.T.UnixMilli(), v: s.V}
	}
	return p.samples.add([]batch{{labels: ls, points: points}})
}

// Close forgets all samples; later queries are answered 503. It may be called more than once.
func (p *Prometheus) Close() error {
	p.samples.close()
	return p.engine.Close()
}
