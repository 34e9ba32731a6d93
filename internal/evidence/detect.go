package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// vllmNames matches vLLM's metrics in every dialect. The series of histograms other than _count and the _created
// timestamps would only make the answer long.
const (
	vllmNames  = vllm.PrefixPattern + ".+"
	notTelling = ".+_(bucket|sum|created)"
)

// finding is what a detection found out.
type finding struct {
	dialect Dialect
	// warning says why readings of this pool may be without data.
	warning string
	// bounds says why "at least" and "at most" may be drawn at the wrong value.
	bounds string
	// elsewhere says that the dialect is that of other pools, or of this one before its series vanished: it spells
	// queries, but says nothing about what this pool has.
	elsewhere bool
}

// dialects remembers what was found, per pool, until it expires. Failures and pools without series are not remembered.
type dialects struct {
	ttl   time.Duration
	mu    sync.Mutex
	known map[string]remembered
}

type remembered struct {
	dialect Dialect
	until   time.Time
}

func (d *dialects) get(key string, now time.Time) (dialect Dialect, fresh, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.known[key]
	return r.dialect, ok && now.Before(r.until), ok
}

func (d *dialects) put(key string, dialect Dialect, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]remembered{}
	}
	d.known[key] = remembered{dialect: dialect, until: now.Add(d.ttl)}
}

// dialectKey tells pools apart by what is asked for them, so that a reload with other matchers asks again.
func dialectKey(pool incident.Pool) string {
	var b strings.Builder
	b.WriteString(strconv.Quote(pool.Name))
	for _, name := range slices.Sorted(maps.Keys(pool.Matchers)) {
		b.WriteString("," + name + "=" + strconv.Quote(pool.Matchers[name]))
	}
	if r := pool.HTTPRoute; !r.IsZero() {
		b.WriteString("," + strconv.Quote(r.Namespace) + "/" + strconv.Quote(r.Name))
	}
	return b.String()
}

// Dialect asks Prometheus how it spells vLLM's metrics for a pool, at most once per DialectTTL. The zero Dialect with
// no error means that this Prometheus has no vLLM metrics at all.
func (c *Collector) Dialect(ctx context.Context, pool incident.Pool) (Dialect, error) {
	f, err := c.detect(ctx, pool, c.Now())
	return f.dialect, err
}

func (c *Collector) detect(ctx context.Context, pool incident.Pool, at time.Time) (finding, error) {
	key := dialectKey(pool)
	before, fresh, known := c.dialects.get(key, at)
	if fresh {
		return finding{dialect: before}, nil
	}
	d, ok, err := c.namesFor(ctx, pool.Matchers, at)
	if err != nil {
		return finding{}, spelling(err)
	}
	if ok {
		return c.withBuckets(ctx, key, d, pool.Matchers, at), nil
	}
	warning := "no vLLM metric carries this pool's labels " + printMatchers(pool.Matchers) +
		" now: are its pods down or not scraped, or are the matchers wrong?"
	if known {
		return finding{dialect: before, warning: warning, elsewhere: true}, nil
	}
	return c.detectAnywhere(ctx, pool, at, warning)
}

// withBuckets completes a dialect and remembers it. Without the bucket bounds the signals' own are used, and the next
// collection asks again.
func (c *Collector) withBuckets(ctx context.Context, key string, d Dialect, matchers map[string]string,
	at time.Time,
) finding {
	var (
		wg       rescue.Group
		podLabel string
		podErr   error
	)
	wg.Go(func() { podLabel, podErr = c.podLabelFor(ctx, d, matchers, at) })
	buckets, err := c.bucketsFor(ctx, d, matchers, at)
	wg.Wait()
	d.podLabel, d.buckets = podLabel, buckets
	if err == nil && podErr != nil {
		return finding{dialect: d, warning: "whether series name their pod is not known: " + podErr.Error()}
	}
	if err != nil {
		return finding{
			dialect: d,
			bounds:  "the server's own bucket bounds could not be read, so those of today's vLLM are used: " + err.Error(),
		}
	}
	c.dialects.put(key, d, at)
	return finding{dialect: d}
}

// spelling is the error of a question for the spelling of names. Where Prometheus was not reached, the question does
// not matter.
func spelling(err error) error {
	if _, away := prometheus.Unreached(err); away {
		return err
	}
	return fmt.Errorf("find out how this Prometheus spells vLLM's metrics: %w", err)
}

// detectAnywhere looks at the whole Prometheus when a pool has no series, only to spell the queries and to say what is
// there.
func (c *Collector) detectAnywhere(ctx context.Context, pool incident.Pool, at time.Time, warning string) (finding,
	error,
) {
	if len(pool.Matchers) == 0 {
		return finding{warning: "this Prometheus has no vLLM metrics: does it scrape the pods?"}, nil
	}
	d, ok, err := c.namesFor(ctx, nil, at)
	switch {
	case err != nil:
		return finding{}, spelling(err)
	case !ok:
		return finding{warning: "this Prometheus has no vLLM metrics: does it scrape the pods?"}, nil
	}
	return finding{dialect: d, warning: warning, elsewhere: true}, nil
}

// namesFor asks which vLLM metrics exist under the matchers. Metrics that cannot carry all of them are asked for with
// those they can.
func (c *Collector) namesFor(ctx context.Context, matchers map[string]string, at time.Time) (Dialect, bool, error) {
	query, err := namesQuery(matchers)
	if err != nil {
		return Dialect{}, false, err
	}
	got, err := c.prom.Instant(ctx, query, at)
	if err != nil {
		return Dialect{}, false, err
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return Dialect{}, false, errors.New("the answer is not a list of series")
	}
	names := make([]string, 0, len(vector))
	series := make(map[string]float64, len(vector))
	for _, s := range vector {
		name := string(s.Metric[model.MetricNameLabel])
		names = append(names, name)
		series[name] = float64(s.Value)
	}
	d, ok := DialectOf(names)
	d.series = series
	return d, ok, nil
}

func namesQuery(matchers map[string]string) (string, error) {
	if err := promql.CheckMatchers(matchers); err != nil {
		return "", err
	}
	not, err := labels.NewMatcher(labels.MatchNotRegexp, model.MetricNameLabel, notTelling)
	if err != nil {
		return "", fmt.Errorf("select vLLM metrics: %w", err)
	}
	// What only production-stack's router exports says nothing about the engines.
	bound := equals(matchers)
	if _, own := matchers[vllm.RouterLabel]; !own {
		bound = append(bound, equal(vllm.RouterLabel, ""))
	}
	all, err := selector(vllmNames, append([]*labels.Matcher{not}, bound...)...)
	if err != nil {
		return "", err
	}
	bare, err := selector(vllm.BarePattern, equals(matchers)...)
	if err != nil {
		return "", err
	}
	query := namesIn(all) + " or " + namesIn(bare)
	fewer := maps.Clone(matchers)
	delete(fewer, vllm.LabelModel)
	if len(fewer) == 0 || len(fewer) == len(matchers) {
		return query, nil
	}
	odd, err := selector(vllm.PrefixPattern+"(cache_config_info|lora_requests_info)", equals(fewer)...)
	if err != nil {
		return "", err
	}
	return query + " or " + namesIn(odd), nil
}

// namesIn gives one series for each metric. The name is copied into a label of its own, because "or" compares labels
// but not names and would drop the second list.
func namesIn(sel string) string {
	return `label_replace(count by (__name__) (` + sel + `), "metric", "$1", "__name__", "(.+)")`
}

// podLabelFor asks by which label the pool's pods can be told apart.
func (c *Collector) podLabelFor(ctx context.Context, d Dialect, matchers map[string]string, at time.Time) (string,
	error,
) {
	query, err := Rewrite(podLabelQuery, d, matchers)
	if err != nil {
		return "", err
	}
	got, err := c.prom.Instant(ctx, query, at)
	if err != nil {
		return "", err
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return "", errors.New("the answer is not a list of series")
	}
	for _, s := range vector {
		if s.Metric[labelPod] != "" {
			return labelPod, nil
		}
	}
	return model.InstanceLabel, nil
}

const podLabelQuery = "group by (pod) (vllm:num_requests_running)"

// bucketsFor asks for the bucket bounds of the latency histograms: they differ between versions (the time to first
// token ended at 10 s before 0.8.4), and with them what a percentile can prove.
func (c *Collector) bucketsFor(ctx context.Context, d Dialect, matchers map[string]string,
	at time.Time,
) (map[string]edges, error) {
	sel, err := selector(d.prefix()+vllm.LatencyPattern, equals(matchers)...)
	if err != nil {
		return nil, err
	}
	got, err := c.prom.Instant(ctx, "group by (__name__, le) ("+sel+")", at)
	if err != nil {
		return nil, err
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return nil, errors.New("the answer is not a list of series")
	}
	out := map[string]edges{}
	for _, s := range vector {
		le, err := strconv.ParseFloat(string(s.Metric[model.BucketLabel]), 64)
		if err != nil || math.IsInf(le, 0) || math.IsNaN(le) {
			continue
		}
		name := strings.TrimSuffix(string(s.Metric[model.MetricNameLabel]), vllm.SuffixBucket)
		e, seen := out[name]
		if !seen {
			e = edges{lowest: le, highest: le}
		}
		out[name] = edges{lowest: min(e.lowest, le), highest: max(e.highest, le)}
	}
	return out, nil
}

func equals(matchers map[string]string) []*labels.Matcher {
	out := make([]*labels.Matcher, 0, len(matchers))
	for _, name := range slices.Sorted(maps.Keys(matchers)) {
		out = append(out, equal(name, matchers[name]))
	}
	return out
}

// printMatchers is for messages.
func printMatchers(matchers map[string]string) string {
	parts := make([]string, 0, len(matchers))
	for _, m := range equals(matchers) {
		parts = append(parts, m.String())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
