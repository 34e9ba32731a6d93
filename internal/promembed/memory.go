package promembed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// point is a sample: chunks.Sample without what only histograms have.
type point struct {
	t int64
	v float64
}

func (p *point) T() int64                      { return p.t }
func (p *point) ST() int64                     { return 0 }
func (p *point) F() float64                    { return p.v }
func (p *point) H() *histogram.Histogram       { return nil }
func (p *point) FH() *histogram.FloatHistogram { return nil }
func (p *point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p *point) Copy() chunks.Sample           { c := *p; return &c }

// points is a storage.Samples.
type points []point

func (p points) Get(i int) chunks.Sample { return &p[i] }
func (p points) Len() int                { return len(p) }

// between are the points from mint to maxt, both included.
func (p points) between(mint, maxt int64) points {
	from, _ := slices.BinarySearchFunc(p, mint, func(p point, t int64) int { return cmp.Compare(p.t, t) })
	to, found := slices.BinarySearchFunc(p, maxt, func(p point, t int64) int { return cmp.Compare(p.t, t) })
	if found {
		to++
	}
	return p[from:max(from, to):max(from, to)]
}

// batch is what is added to one series.
type batch struct {
	labels labels.Labels
	points []point
}

// stream is one series. Points are only ever appended, so that a slice of them stays valid while more come.
type stream struct {
	labels labels.Labels
	sealed []sealed // what is older than points, the oldest first; only where there is a retention
	points points
}

// newest is the time of the last point; ok is false before the first.
func (s *stream) newest() (t int64, ok bool) {
	if n := len(s.points); n > 0 {
		return s.points[n-1].t, true
	}
	if n := len(s.sealed); n > 0 {
		return s.sealed[n-1].maxt, true
	}
	return 0, false
}

// memory is a storage.Queryable over samples in memory.
type memory struct {
	mu     sync.RWMutex
	byKey  map[string]*stream
	byName map[string][]*stream
	closed bool
	// retention is in milliseconds; 0 keeps everything. newest is the newest sample's time, and swept what it was at the
	// last sweep.
	retention, newest, swept int64
}

func newMemory(retention time.Duration) *memory {
	return &memory{byKey: map[string]*stream{}, byName: map[string][]*stream{}, retention: retention.Milliseconds()}
}

// add takes all batches or none. A series' samples must rise in time, as a storage of Prometheus without an
// out-of-order window demands.
func (m *memory) add(batches []batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	last := make(map[string]int64, len(batches))
	keys := make([]string, len(batches))
	var errs []error
	for i, b := range batches {
		if err := named(b.labels); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.labels, err))
			continue
		}
		key := string(b.labels.Bytes(nil))
		keys[i] = key
		newest, known := last[key]
		if s := m.byKey[key]; !known && s != nil {
			newest, known = s.newest()
		}
		for _, p := range b.points {
			if known && p.t <= newest {
				errs = append(errs,
					fmt.Errorf("%s: a sample at %d ms does not come after the one at %d ms: is the series given twice?", b.labels, p.t,
						newest))
				break
			}
			newest, known = p.t, true
		}
		if known {
			last[key] = newest
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, b := range batches {
		if err := m.append(keys[i], b); err != nil {
			return err
		}
	}
	m.sweep()
	return nil
}

func (m *memory) append(key string, b batch) error {
	if len(b.points) == 0 {
		return nil
	}
	s := m.byKey[key]
	if s == nil {
		s = &stream{labels: b.labels.Copy()}
		name := b.labels.Get(model.MetricNameLabel)
		m.byKey[key] = s
		m.byName[name] = append(m.byName[name], s)
	}
	s.points = append(s.points, b.points...)
	m.newest = max(m.newest, s.points[len(s.points)-1].t)
	if m.retention == 0 {
		return nil
	}
	return s.seal()
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.byKey, m.byName = true, nil, nil
}

// Querier implements storage.Queryable.
func (m *memory) Querier(mint, maxt int64) (storage.Querier, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, errClosed
	}
	return &querier{memory: m, mint: mint, maxt: maxt}, nil
}

// find returns the series that match and have a sample in the time, in the order of their labels.
func (m *memory) find(mint, maxt int64, matchers []*labels.Matcher) []stream {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []stream
	for name, streams := range m.named(matchers) {
		if !nameMatches(name, matchers) {
			continue
		}
		for _, s := range streams {
			if !matches(s.labels, matchers) {
				continue
			}
			if p := s.between(mint, maxt); len(p) > 0 {
				out = append(out, stream{labels: s.labels, points: p})
			}
		}
	}
	slices.SortFunc(out, func(a, b stream) int { return labels.Compare(a.labels, b.labels) })
	return out
}

// named narrows the search to one metric when a matcher names it.
func (m *memory) named(matchers []*labels.Matcher) map[string][]*stream {
	for _, l := range matchers {
		if l.Name == model.MetricNameLabel && l.Type == labels.MatchEqual {
			return map[string][]*stream{l.Value: m.byName[l.Value]}
		}
	}
	return m.byName
}

func nameMatches(name string, matchers []*labels.Matcher) bool {
	for _, l := range matchers {
		if l.Name == model.MetricNameLabel && !l.Matches(name) {
			return false
		}
	}
	return true
}

// matches compares all labels but the name. A label that is not there counts as empty, as everywhere in Prometheus.
func matches(ls labels.Labels, matchers []*labels.Matcher) bool {
	for _, l := range matchers {
		if l.Name != model.MetricNameLabel && !l.Matches(ls.Get(l.Name)) {
			return false
		}
	}
	return true
}

// querier is a storage.Querier for a time.
type querier struct {
	memory     *memory
	mint, maxt int64
}

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints,
	matchers ...*labels.Matcher,
) storage.SeriesSet {
	return &found{streams: q.memory.find(q.mint, q.maxt, matchers), at: -1}
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(_ context.Context, name string, hints *storage.LabelHints,
	matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	values := map[string]bool{}
	for _, s := range q.memory.find(q.mint, q.maxt, matchers) {
		if v := s.labels.Get(name); v != "" {
			values[v] = true
		}
	}
	return limited(values, hints), nil, nil
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(_ context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string,
	annotations.Annotations, error,
) {
	names := map[string]bool{}
	for _, s := range q.memory.find(q.mint, q.maxt, matchers) {
		s.labels.Range(func(l labels.Label) { names[l.Name] = true })
	}
	return limited(names, hints), nil, nil
}

// Close implements storage.Querier.
func (*querier) Close() error { return nil }

func limited(set map[string]bool, hints *storage.LabelHints) []string {
	limit := math.MaxInt
	if hints != nil && hints.Limit > 0 {
		limit = hints.Limit
	}
	all := slices.AppendSeq(make([]string, 0, len(set)), maps.Keys(set))
	slices.Sort(all)
	return all[:min(limit, len(all))]
}

// found is a storage.SeriesSet.
type found struct {
	streams []stream
	at      int
}

// Next implements storage.SeriesSet.
func (f *found) Next() bool { f.at++; return f.at < len(f.streams) }

// At implements storage.SeriesSet.
func (f *found) At() storage.Series {
	s := f.streams[f.at]
	return &storage.SeriesEntry{
		Lset:             s.labels,
		SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator { return storage.NewListSeriesIterator(s.points) },
	}
}

// Err implements storage.SeriesSet.
func (*found) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*found) Warnings() annotations.Annotations { return nil }
