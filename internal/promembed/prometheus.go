package promembed

import (
	"cmp"
	"errors"
	"net/http"
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

// defaultStep is the resolution of a subquery that names none: Prometheus uses its global evaluation interval, whose
// default is this.
const defaultStep = time.Minute

var errClosed = errors.New("this Prometheus is closed")

// Options say how queries are evaluated. A zero field takes the default above.
type Options struct {
	// Lookback is how far an instant selector looks back for a sample.
	Lookback time.Duration
	// Timeout bounds one query.
	Timeout time.Duration
	// MaxSamples bounds the samples that one query may hold in memory.
	MaxSamples int
}

// Prometheus answers queries over the samples that were put in. It is safe for concurrent use.
type Prometheus struct {
	engine  *promql.Engine
	parser  parser.Parser
	samples *memory
	mux     *http.ServeMux
}

// New returns an empty Prometheus. It starts nothing; Close frees its memory.
func New(o Options) (*Prometheus, error) {
	if o.Lookback < 0 || o.Timeout < 0 || o.MaxSamples < 0 {
		return nil, errors.New("promembed: lookback, timeout and the number of samples must not be negative")
	}
	text := parser.NewParser(parser.Options{})
	p := &Prometheus{
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples:               cmp.Or(o.MaxSamples, DefaultMaxSamples),
			Timeout:                  cmp.Or(o.Timeout, DefaultTimeout),
			LookbackDelta:            cmp.Or(o.Lookback, DefaultLookback),
			NoStepSubqueryIntervalFn: func(int64) int64 { return defaultStep.Milliseconds() },
			EnableAtModifier:         true,
			EnableNegativeOffset:     true,
			Parser:                   text,
		}),
		parser:  text,
		samples: newMemory(),
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
