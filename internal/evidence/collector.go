package evidence

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// Collector reads the evidence for a pool. It is safe for concurrent use.
type Collector struct {
	cfg      Config
	prom     *prometheus.Client
	kube     Kube
	logger   *slog.Logger
	dialects dialects
}

// CollectOptions says what to read beyond the values of now.
type CollectOptions struct {
	// History asks for each reading's recent past too, for the chart.
	History bool
	// Baseline asks how signals compare with the pool's own past, where they say so: a second query for each of these.
	Baseline bool
	// NoCluster leaves the Kubernetes API alone: pages that show how pools are doing have no use for it.
	NoCluster bool
	// Alerts are those of the incident: it is looked at whether their rules can see the pool.
	Alerts []incident.Alert
}

// deadlineError is the end of the time for a whole collection.
type deadlineError struct{ limit time.Duration }

// Error names the limit.
func (e *deadlineError) Error() string {
	return "the deadline of " + e.limit.String() + " for all readings ended first"
}

// Is makes it context.DeadlineExceeded, in whose place it stands.
func (e *deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// New returns a Collector. A nil kube means that no Kubernetes is configured: readings work, the cluster part says so.
// Nothing is asked yet.
func New(cfg Config, kube Kube, logger *slog.Logger) (*Collector, error) {
	if logger == nil {
		return nil, errors.New("evidence: a logger is needed")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	prom, err := prometheus.New(cfg.Prometheus, logger)
	if err != nil {
		return nil, err
	}
	return &Collector{cfg: cfg, prom: prom, kube: kube, logger: logger, dialects: dialects{ttl: cfg.DialectTTL}}, nil
}

// Now is the time at which queries are evaluated, in the precision of Prometheus.
func (c *Collector) Now() time.Time { return c.cfg.Now().UTC().Truncate(time.Millisecond) }

// Collect reads all signals and the cluster side by side, at one common time and under one deadline. It returns when
// the last has ended, at the latest soon after the deadline. It may be called any number of times; it changes nothing.
func (c *Collector) Collect(
	ctx context.Context,
	pool incident.Pool,
	signals []incident.Signal,
	opts CollectOptions,
) incident.Evidence {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	ev := incident.Evidence{At: c.Now()}
	var wg rescue.Group
	if !opts.NoCluster {
		wg.Go(func() { ev.Cluster = c.cluster(ctx, pool, ev.At) })
	}
	found, err := c.detect(ctx, pool, ev.At)
	ev.Dialect = found.dialect.String()
	if !own(found) {
		ev.Absent = found.warning
	}
	if err == nil && own(found) && slices.ContainsFunc(opts.Alerts, func(a incident.Alert) bool { return a.Firing }) {
		wg.Go(func() { ev.DeadAlerts, ev.Unexamined = c.deadAlerts(ctx, pool, opts.Alerts) })
	}
	ev.Readings, ev.SampledAt = c.readings(ctx, pool, signals, opts, found, err, ev.At)
	wg.Wait()
	if serving := podsServing(ev); len(serving) > 1 && own(found) {
		known := c.podsKnown(ctx, pool, serving, ev.Cluster)
		ev.PodRoles = rolesOf(known, serving)
		ev.Versions = c.versions(ctx, pool, found, ev, known)
	}
	return ev
}

// ClockWarning says that the bot's clock and Prometheus' differed by minutes at the last answer; empty when they did
// not.
func (c *Collector) ClockWarning() string { return c.prom.ClockWarning() }

// deadAlerts is nil when it could not be looked at, or not at all of them, and empty when every rule can see the pool.
func (c *Collector) deadAlerts(
	ctx context.Context,
	pool incident.Pool,
	alerts []incident.Alert,
) ([]incident.DeadAlert, []incident.UnexaminedAlert) {
	dead, unexamined, err := c.DeadAlerts(ctx, pool, alerts)
	if err != nil {
		c.logger.WarnContext(ctx, "whether the alerts' rules can see the pool is not known", "pool", pool.Name, "err", err)
	}
	if len(dead) == 0 && err == nil && len(unexamined) == 0 {
		dead = []incident.DeadAlert{}
	}
	return dead, unexamined
}

// Cluster reads the cluster alone, under the deadline of a collection.
func (c *Collector) Cluster(ctx context.Context, pool incident.Pool) incident.Cluster {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	return c.cluster(ctx, pool, c.Now())
}

func (c *Collector) cluster(ctx context.Context, pool incident.Pool, at time.Time) incident.Cluster {
	ref := pool.Workload
	switch {
	case c.kube == nil:
		return incident.Cluster{
			Workload:      ref,
			NotConfigured: true,
			Error:         "no Kubernetes is configured, so the workload was not checked",
		}
	case ref.IsZero():
		return incident.Cluster{NotConfigured: true, NoWorkload: true, Error: "the pool names no workload"}
	}
	return c.kube.Cluster(ctx, ref, at, pool.Knobs.Arguments)
}

// readings asks for every signal, and for the time of the pool's newest sample. Signals are known by name; of two with
// the same name neither is read.
func (c *Collector) readings(
	ctx context.Context,
	pool incident.Pool,
	signals []incident.Signal,
	opts CollectOptions,
	found finding,
	dialectErr error,
	at time.Time,
) (map[string]incident.Reading, time.Time) {
	var (
		wg    rescue.Group
		mu    sync.Mutex
		fresh sampleAge
		out   = make(map[string]incident.Reading, len(signals))
		ready = prepare(signals, found.dialect, dialectErr, scopeOf(pool))
	)
	if dialectErr == nil && found.dialect.Generation != "" {
		wg.Go(func() { fresh = c.sampleAge(ctx, found.dialect, pool.Matchers, at) })
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
	clock := c.ClockWarning()
	for _, p := range ready {
		r := out[p.signal.Name]
		if p.vllm && r.Error == "" {
			fresh.apply(&r, clock)
		}
		if p.err == nil {
			r.Warning = joinNotes(r.Warning, clock)
		}
		out[p.signal.Name] = r
	}
	return out, fresh.newest
}

// read asks for one signal: its value, its past and its pods in one request, how it compares with its own past in a
// second.
func (c *Collector) read(
	ctx context.Context,
	p prepared,
	found finding,
	opts CollectOptions,
	at time.Time,
) incident.Reading {
	s := p.signal
	r := incident.Reading{
		Signal:    s.Name,
		Title:     s.Title,
		Short:     s.Short,
		Unit:      s.Unit,
		Direction: s.Direction,
		Optional:  s.Optional,
		Query:     p.query,
		At:        at,
	}
	var unbounded *unboundedError
	switch {
	case s.Optional && errors.As(p.err, &unbounded):
		r.Warning = p.err.Error() // it cannot be had for this pool, and that is known for good
		return r
	case p.err != nil:
		r.Error = p.err.Error()
		return r
	}
	var (
		wg       rescue.Group
		baseline *incident.Baseline
		apart    string
	)
	if opts.Baseline && s.Baseline {
		wg.Go(func() { baseline, apart = c.baseline(ctx, p, at) })
	}
	got, err := c.fetch(ctx, p, opts, at)
	wg.Wait()
	r.Warning = joinNotes(got.note, apart, widened(p.alone, p.scope), p.note)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Series, r.Pods, r.Baseline = got.past, got.pods, baseline
	if got.routes > 1 {
		r.Routes = int(got.routes)
		r.Warning = joinNotes(r.Warning, SeveralRoutes)
		r.Optional = r.Optional && got.present // it is there and cannot be used: that is not "this pool has none"
	}
	if got.present {
		var note string
		r.Value, r.Bound, note = bounded(got.value, edgesOf(p, found.dialect))
		r.Warning = joinNotes(r.Warning, note)
	}
	if s.Floor > 0 || s.Ceiling > 0 {
		r.Warning = joinNotes(r.Warning, found.bounds)
	}
	if r.Value == nil {
		r.Warning = joinNotes(r.Warning, whyEmpty(p, found))
	}
	return r
}
