package fleet

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Sink takes a sample; t is in Unix milliseconds. The labels may be kept. It must not call the fleet. An error
// ends the scrape.
type Sink func(ls labels.Labels, t int64, v float64) error

// Scraper does in simulated time what a Prometheus does that scrapes a fleet: the series of every replica with the
// labels of its target, up, and a staleness marker for each series that is no longer there. It is for one goroutine.
type Scraper struct {
	fleet   *Fleet
	gateway bool
	targets map[string]*scraped
}

// scraped is what the scrapes of a target found.
type scraped struct {
	target  map[string]string
	series  map[seriesKey]*series
	scrapes int
}

// series is one that was there; last is the number of the last scrape that saw it.
type series struct {
	labels labels.Labels
	last   int
}

// seriesKey tells the series of a target apart; le is the number of the bucket, from 1.
type seriesKey struct {
	name, child string
	le          int
}

// NewScraper makes a scraper of all replicas, and of the gateway if it is wanted.
func NewScraper(f *Fleet, gateway bool) *Scraper {
	return &Scraper{fleet: f, gateway: gateway, targets: map[string]*scraped{}}
}

// Now is the time of the fleet: Options.Epoch and what has passed since.
func (f *Fleet) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opts.Epoch.Add(f.now)
}

// Scrape sends a sample of every series there is now, at the fleet's time. Scrape only after time has passed: two
// samples of a series cannot have the same time.
func (s *Scraper) Scrape(sink Sink) error {
	at := s.fleet.Now().UnixMilli()
	there := map[string]bool{}
	for _, t := range s.fleet.scrapeTargets() {
		there[t.name] = true
		if err := s.one(t, at, sink); err != nil {
			return err
		}
	}
	if s.gateway {
		there[gatewayTarget] = true
		t := scrapeTarget{name: gatewayTarget, ready: true, walk: s.fleet.walkGateway, labels: map[string]string{
			"job": "envoy", "namespace": "envoy-gateway-system", "pod": "envoy-0", "instance": "10.244.0.9:19001",
		}}
		if err := s.one(t, at, sink); err != nil {
			return err
		}
	}
	for name, last := range s.targets { // a target that is gone takes its series with it, also up
		if there[name] {
			continue
		}
		delete(s.targets, name)
		last.scrapes++
		if err := (&sampler{scraped: last, at: at, sink: sink}).end(); err != nil {
			return err
		}
	}
	return nil
}

const gatewayTarget = "/gateway"

func (s *Scraper) one(t scrapeTarget, at int64, sink Sink) error {
	last := s.targets[t.name]
	if last == nil {
		last = &scraped{target: t.labels, series: map[seriesKey]*series{}}
		s.targets[t.name] = last
	}
	last.scrapes++
	p := &sampler{scraped: last, at: at, sink: sink, created: t.created}
	if t.ready {
		t.walk(p)
	}
	up := 0.
	if t.ready {
		up = 1
	}
	p.add(metric{name: "up"}, 0, nil, up)
	return p.end()
}

// scrapeTarget is a page with the labels that its series get.
type scrapeTarget struct {
	name  string
	ready bool
	// created says whether there are _created series.
	created bool
	labels  map[string]string
	walk    func(page)
}

func (f *Fleet) scrapeTargets() []scrapeTarget {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]scrapeTarget, 0, len(f.replicas))
	for _, r := range f.replicas {
		out = append(out, scrapeTarget{
			name: r.pod.Name + "/" + r.pod.IP, ready: r.ready <= f.now, created: r.dialect.created(),
			labels: f.targetLabels(r), walk: func(p page) { f.walk(r, p) },
		})
	}
	return out
}

// sampler is a page that becomes samples.
type sampler struct {
	*scraped
	at      int64
	sink    Sink
	created bool
	err     error
}

func (p *sampler) gauge(m metric, v float64) { p.add(m, 0, nil, v) }

func (p *sampler) counter(m metric, v float64) {
	p.add(m, 0, nil, v)
	p.birth(m)
}

func (p *sampler) histogram(m metric, h *histogram) {
	var total uint64
	for i := range h.bounds {
		total += h.counts[i]
		p.add(m, i+1, h.bounds, float64(total))
	}
	p.add(m, len(h.bounds)+1, h.bounds, float64(h.count))
	p.add(m, sumSeries, nil, h.sum)
	p.add(m, countSeries, nil, float64(h.count))
	p.birth(m)
}

// Instead of a bucket.
const (
	sumSeries     = -1
	countSeries   = -2
	createdSeries = -3
)

func (p *sampler) birth(m metric) {
	if p.created && !m.born.IsZero() {
		p.add(m, createdSeries, nil, seconds(m.born))
	}
}

// add sends the sample of one series. which is 0, the number of a bucket from 1, or one of the above.
func (p *sampler) add(m metric, which int, bounds []float64, v float64) {
	if p.err != nil {
		return
	}
	key := seriesKey{name: m.name, child: m.child, le: which}
	s := p.series[key]
	if s == nil {
		s = &series{labels: p.labels(m, which, bounds)}
		p.series[key] = s
	}
	s.last = p.scrapes
	p.err = p.sink(s.labels, p.at, v)
}

func (p *sampler) labels(m metric, which int, bounds []float64) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	for name, v := range m.labels {
		b.Set(name, v)
	}
	for name, v := range p.target {
		b.Set(name, v)
	}
	name := m.name
	switch which {
	case 0:
	case sumSeries:
		name += vllm.SuffixSum
	case countSeries:
		name += vllm.SuffixCount
	case createdSeries:
		name = m.createdName()
	default:
		name += vllm.SuffixBucket
		b.Set(labels.BucketLabel, upperBound(which-1, bounds))
	}
	return b.Set(model.MetricNameLabel, name).Labels()
}

// upperBound is written as Prometheus writes it since version 3.
func upperBound(i int, bounds []float64) string {
	if i == len(bounds) {
		return "+Inf"
	}
	s := strconv.FormatFloat(bounds[i], 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// end marks what the last scrape saw and this one did not.
func (p *sampler) end() error {
	stale := math.Float64frombits(value.StaleNaN)
	for key, s := range p.series {
		if s.last < p.scrapes && p.err == nil {
			p.err = p.sink(s.labels, p.at, stale)
			delete(p.series, key)
		}
	}
	return p.err
}
