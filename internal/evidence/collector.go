package evidence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Collector reads the evidence for a pool. It is safe for concurrent use.
type Collector struct {
	cfg      Config
	ask      *asker
	kube     Kube
	logger   *slog.Logger
	dialects dialects
}

// CollectOptions says what to read beyond the values of now.
type CollectOptions struct {
	// History asks for each reading's recent past too, for the chart: a second query per signal.
	History bool
}

// New returns a Collector. A nil kube means that no Kubernetes is configured: readings work, the cluster part says so. Nothing is asked yet.
func New(cfg Config, kube Kube, logger *slog.Logger) (*Collector, error) {
	if logger == nil {
		return nil, errors.New("evidence: a logger is needed")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	a, err := newAsker(cfg, logger)
	if err != nil {
		return nil, err
	}
	return &Collector{cfg: cfg, ask: a, kube: kube, logger: logger, dialects: dialects{ttl: cfg.DialectTTL}}, nil
}

// now is the time at which queries are evaluated, in the precision of Prometheus.
func (c *Collector) now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Collect reads all signals and the cluster side by side, at one common time and under one deadline. It returns when the last has ended,
// at the latest soon after the deadline. It may be called any number of times; it changes nothing.
func (c *Collector) Collect(ctx context.Context, pool incident.Pool, signals []incident.Signal, opts CollectOptions) incident.Evidence {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	ev := incident.Evidence{At: c.now()}
	var wg sync.WaitGroup
	wg.Go(func() { ev.Cluster = c.cluster(ctx, pool.Workload, ev.At) })
	ev.Readings, ev.Dialect = c.readings(ctx, pool, signals, opts, ev.At)
	wg.Wait()
	return ev
}

func (c *Collector) cluster(ctx context.Context, ref incident.WorkloadRef, at time.Time) incident.Cluster {
	switch {
	case c.kube == nil:
		return incident.Cluster{Workload: ref, Error: "no Kubernetes is configured, so the workload was not looked at"}
	case ref.IsZero():
		return incident.Cluster{Error: "the pool names no workload"}
	}
	return c.kube.Cluster(ctx, ref, at)
}

// prepared is a signal with its query as it will be sent, or the reading that says why it cannot be.
type prepared struct {
	signal incident.Signal
	expr   parser.Expr
	query  string
	metrics []string
	// vllm says that the query reads vLLM's metrics, so that the pool's dialect and freshness matter to it.
	vllm bool
	err  error
}

// readings asks for every signal. Signals are known by name; of two with the same name neither is read.
func (c *Collector) readings(ctx context.Context, pool incident.Pool, signals []incident.Signal, opts CollectOptions, at time.Time) (map[string]incident.Reading, string) {
	found, dialectErr := c.detect(ctx, pool, at)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		fresh freshness
		out   = make(map[string]incident.Reading, len(signals))
		ready = prepare(signals, found.dialect, dialectErr, pool.Matchers)
	)
	if dialectErr == nil && found.dialect.Generation != "" {
		wg.Go(func() { fresh = c.freshness(ctx, found.dialect, pool.Matchers, at) })
	}
	for _, p := range ready {
		wg.Go(func() {
			r := c.read(ctx, p, found, opts, at)
			mu.Lock()
			defer mu.Unlock()
			out[p.signal.Name] = r
		})
	}
	wg.Wait()
	clock := c.ask.client.clockWarning()
	for _, p := range ready {
		r := out[p.signal.Name]
		if p.vllm && r.Error == "" {
			fresh.apply(&r)
		}
		if p.err == nil {
			r.Warning = joinNotes(r.Warning, clock)
		}
		out[p.signal.Name] = r
	}
	return out, found.dialect.String()
}

func prepare(signals []incident.Signal, d Dialect, dialectErr error, matchers map[string]string) []prepared {
	at := map[string]int{}
	out := make([]prepared, 0, len(signals))
	for _, s := range signals {
		if i, twice := at[s.Name]; twice {
			out[i] = prepared{signal: s, query: s.Query, err: fmt.Errorf("two signals are called %q: rename one", s.Name)}
			continue
		}
		at[s.Name] = len(out)
		out = append(out, prepareOne(s, d, dialectErr, matchers))
	}
	return out
}

func prepareOne(s incident.Signal, d Dialect, dialectErr error, matchers map[string]string) prepared {
	p := prepared{signal: s, query: s.Query}
	p.expr, p.err = rewrite(s.Query, d, matchers)
	if p.err != nil {
		return p
	}
	p.query, p.metrics = p.expr.String(), metricsIn(p.expr)
	for _, name := range p.metrics {
		if _, ok := bareName(name); ok {
			p.vllm = true
		}
	}
	if p.vllm && dialectErr != nil {
		p.err = dialectErr
	}
	return p
}

// read asks for one signal.
func (c *Collector) read(ctx context.Context, p prepared, found finding, opts CollectOptions, at time.Time) incident.Reading {
	s := p.signal
	r := incident.Reading{Signal: s.Name, Title: s.Title, Unit: s.Unit, Direction: s.Direction, Query: p.query, At: at}
	if p.err != nil {
		r.Error = p.err.Error()
		return r
	}
	var (
		wg   sync.WaitGroup
		note string
	)
	if opts.History {
		wg.Go(func() { r.Series, note = c.history(ctx, p.query, at) })
	}
	value, bound, warning, err := c.value(ctx, p, found.dialect, at)
	wg.Wait()
	r.Warning = joinNotes(warning, note, widened(p.metrics, found.matchers))
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Value, r.Bound = value, bound
	if value == nil {
		r.Warning = joinNotes(r.Warning, whyEmpty(p, found))
	}
	return r
}

func (c *Collector) value(ctx context.Context, p prepared, d Dialect, at time.Time) (*float64, incident.Bound, string, error) {
	got, err := c.ask.instant(ctx, p.query, at)
	if err != nil {
		return nil, incident.Exact, "", err
	}
	v, ok, err := single(got.value)
	if err != nil || !ok {
		return nil, incident.Exact, got.note, err
	}
	value, bound, note := bounded(v, edgesOf(p, d))
	return value, bound, joinNotes(got.note, note), nil
}

// history is the past of a reading. Its failure costs the chart, not the reading.
func (c *Collector) history(ctx context.Context, query string, at time.Time) ([]incident.Point, string) {
	got, err := c.ask.span(ctx, query, at)
	if err == nil {
		var points []incident.Point
		if points, err = past(got.value); err == nil {
			return points, ""
		}
	}
	return nil, "its past could not be read: " + err.Error()
}

// edgesOf are the signal's bounds, corrected by the buckets that the pool's histogram really has. A signal without bounds is no percentile.
func edgesOf(p prepared, d Dialect) edges {
	e := edges{lowest: p.signal.Floor, highest: p.signal.Ceiling}
	var histograms []string
	for _, name := range p.metrics {
		if base, ok := strings.CutSuffix(name, "_bucket"); ok {
			histograms = append(histograms, base)
		}
	}
	if len(histograms) != 1 {
		return e
	}
	seen, ok := d.buckets[histograms[0]]
	if !ok {
		return e
	}
	if e.lowest > 0 {
		e.lowest = seen.lowest
	}
	if e.highest > 0 {
		e.highest = seen.highest
	}
	return e
}

// whyEmpty explains a reading without data as far as it is known.
func whyEmpty(p prepared, found finding) string {
	if !p.vllm {
		return unmatched(p.metrics, found.matchers)
	}
	if found.elsewhere {
		return found.warning
	}
	if missing := found.dialect.absent(p.metrics); len(missing) > 0 {
		return fmt.Sprintf("this Prometheus has no metric %s for this pool (%s)", strings.Join(missing, ", "), found.dialect)
	}
	return found.warning
}

// joinNotes joins what is not empty.
func joinNotes(notes ...string) string {
	var have []string
	for _, n := range notes {
		if n != "" {
			have = append(have, n)
		}
	}
	return strings.Join(have, "; ")
}
